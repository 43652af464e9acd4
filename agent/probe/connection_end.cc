#include "agent/probe/connection_end.h"

#include <netinet/tcp.h>

#include <cerrno>

#include "agent/probe/kernel_time.h"

namespace phantomd {

ConnectionEnd::How ClassifyEnd(const end_record& record) {
  using How = ConnectionEnd::How;
  if (record.flags & END_FLAG_STALLED) return How::kStalled;
  if (record.state == TCP_LAST_ACK || record.state == TCP_CLOSING) return How::kClosed;
  const bool reset = record.error == ECONNRESET || record.error == EPIPE;
  if (reset && (record.flags & END_FLAG_RST)) return How::kReset;
  if (record.error == ECONNABORTED) return How::kAborted;
  if (record.error != 0) return How::kExpired;
  const bool abrupt = record.state == TCP_ESTABLISHED || record.state == TCP_FIN_WAIT1;
  return abrupt ? How::kAborted : How::kClosed;
}

ConnectionEnd ToConnectionEnd(const end_record& record) {
  ConnectionEnd out;
  out.socket_cookie = record.socket_cookie;
  out.ended = FromKernel(record.ended_ns);
  out.how = ClassifyEnd(record);
  out.bytes_sent = record.bytes_sent;
  // The kernel counts a FIN as one byte.
  const bool counted_fin = (record.flags & END_FLAG_PEER_FIN) && record.bytes_received > 0;
  out.bytes_received = record.bytes_received - (counted_fin ? 1 : 0);
  out.netns_cookie = record.netns_cookie;
  out.process_id = record.process_id;
  out.thread_id = record.thread_id;
  out.cgroup_id = record.cgroup_id;
  out.destination = {IpAddr::FromBytes(record.destination), record.destination_port};
  out.established = FromKernel(record.established_ns);
  out.adopted = record.flags & END_FLAG_ADOPTED;
  return out;
}

}  // namespace phantomd
