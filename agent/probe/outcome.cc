#include "agent/probe/outcome.h"

#include <cerrno>

#include "agent/probe/kernel_time.h"

namespace phantomd {
namespace {

// SHUTDOWN_MASK of the kernel: both directions, which only close(2) sets in SYN_SENT.
constexpr uint8_t kClosed = 3;

Outcome OfSyncError(int error) {
  switch (error) {
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EACCES:
    case EPERM:
    case EINVAL:
      return Outcome::kNoRoute;
    case EADDRNOTAVAIL:
    case ENOBUFS:
    case ENOMEM:
      return Outcome::kLocalError;
    default:
      return Outcome::kOtherError;
  }
}

// An error on a socket whose SYN was sent, when no ICMP was seen with it: the kernel keeps the type
// and code of ICMPv6 errors from us, and a link that vanishes sends none.
Outcome OfAsyncError(int error) {
  switch (error) {
    case ETIMEDOUT:
      return Outcome::kTimedOut;
    case ECONNREFUSED:  // without a RST: ICMPv6 port unreachable
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
    case EACCES:  // ICMPv6 administratively prohibited
    case EPROTO:  // ICMPv6 parameter problem
      return Outcome::kUnreachable;
    case EADDRNOTAVAIL:
    case ENOBUFS:
    case ENOMEM:
      return Outcome::kLocalError;
    default:
      return Outcome::kOtherError;
  }
}

}  // namespace

ConnectResult ClassifyConnect(const connect_record& record) {
  if (record.flags & CONNECT_FLAG_ESTABLISHED) return {Outcome::kEstablished, 0};
  if (record.kind == CONNECT_RECORD_SYNC_FAILURE) {
    return {OfSyncError(record.error), record.error};
  }
  if (!(record.flags & CONNECT_FLAG_SYN_SENT) && record.shutdown != kClosed) {
    // The kernel puts this error into the return of connect(2) alone: one that the socket holds is
    // of an earlier connect.
    return {Outcome::kLocalError, EADDRNOTAVAIL};
  }
  if (record.error == ECONNREFUSED && (record.flags & CONNECT_FLAG_RST)) {
    return {Outcome::kRefused, ECONNREFUSED};
  }
  if (record.flags & CONNECT_FLAG_ICMP) {
    const int error = record.error ? record.error : record.icmp_error;
    return {Outcome::kUnreachable, error};
  }
  if (record.error) return {OfAsyncError(record.error), record.error};
  if (record.soft_error) return {Outcome::kUnreachable, record.soft_error};
  return {Outcome::kAbandoned, 0};
}

Attempt ToAttempt(const connect_record& record) {
  const ConnectResult result = ClassifyConnect(record);
  Attempt out;
  out.netns_cookie = record.netns_cookie;
  out.process_id = record.process_id;
  out.source = {IpAddr::FromBytes(record.source), record.source_port};
  out.destination = {IpAddr::FromBytes(record.destination), record.destination_port};
  out.started = FromKernel(record.started_ns);
  out.ended = FromKernel(record.ended_ns);
  out.outcome = result.outcome;
  out.error_number = result.error_number;
  if (result.outcome == Outcome::kUnreachable && (record.flags & CONNECT_FLAG_ICMP)) {
    out.icmp_type = record.icmp_type;
    out.icmp_code = record.icmp_code;
  }
  out.syn_retransmits = record.retransmits;
  out.socket_cookie = record.socket_cookie;
  out.thread_id = record.thread_id;
  out.cgroup_id = record.cgroup_id;
  out.adopted = record.flags & CONNECT_FLAG_ADOPTED;
  out.process_start = FromKernel(record.process_start_ns);
  return out;
}

}  // namespace phantomd
