#include "agent/probe/end_resolver.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/probe/connection_end.h"
#include "agent/probe/kernel_time.h"

namespace phantomd {
namespace {

void Name(ConnectionEnd& end, const Opener& opener) {
  end.initiator = opener.initiator;
  end.proxy_id = opener.proxy_id;
}

}  // namespace

void EndResolver::Decided(const Attempt& attempt) {
  if (attempt.outcome != Outcome::kEstablished) {
    if (attempt.adopted) proxies_.Ended(attempt.socket_cookie, BootTime::Max());
    return;
  }
  if (attempt.initiator != Initiator::kApplication) return;
  Remember(attempt.socket_cookie, {attempt.initiator, attempt.proxy_id}, attempt.ended,
           attempt.adopted);
}

void EndResolver::Adopted(uint64_t socket_cookie, const Opener& opener, BootTime now) {
  Remember(socket_cookie, opener, now, /*adopted=*/true);
}

// In one of the two memories, wherever it was before.
void EndResolver::Remember(uint64_t socket_cookie, const Opener& opener, BootTime by,
                           bool adopted) {
  const bool application = opener.initiator == Initiator::kApplication;
  (application ? proxies_ : applications_).Ended(socket_cookie, BootTime::Max());
  (application ? applications_ : proxies_).Remember(socket_cookie, opener, by, adopted);
}

const Opener* EndResolver::Remembered(uint64_t socket_cookie) const {
  const Opener* proxy = proxies_.Find(socket_cookie);
  return proxy != nullptr ? proxy : applications_.Find(socket_cookie);
}

bool EndResolver::Resolve(ConnectionEnd& end) {
  const Opener* known = Remembered(end.socket_cookie);
  if (known == nullptr) return false;
  Name(end, *known);
  Told(end);
  return true;
}

void EndResolver::Told(const ConnectionEnd& end) {
  if (end.how == ConnectionEnd::How::kStalled) return;
  applications_.Ended(end.socket_cookie, end.established);
  proxies_.Ended(end.socket_cookie, end.established);
}

void EndResolver::Drop(const ConnectionEnd& end) {
  dropped_.from = dropped_.count == 0 ? end.ended : std::min(dropped_.from, end.ended);
  dropped_.to = std::max(dropped_.to, end.ended);
  ++dropped_.count;
}

void EndResolver::OnEnd(const end_record& record, std::vector<ConnectionEnd>& out) {
  ConnectionEnd end = ToConnectionEnd(record);
  const std::optional<Opener> proxy = openers_.OpenerOf(
      end.process_id, FromKernel(record.process_start_ns), end.thread_id, end.netns_cookie);
  if (proxy) {
    Name(end, *proxy);
    if (end.how == ConnectionEnd::How::kStalled) {
      Remember(end.socket_cookie, *proxy, end.established, end.adopted);
    }
    Told(end);
  } else if (!Resolve(end)) {
    // However old it is: its attempt may be in hand, and not decided yet.
    waiting_.push_back(std::move(end));
    if (waiting_.size() > kWaiting) {
      Drop(waiting_.front());
      waiting_.pop_front();
    }
    return;
  }
  out.push_back(std::move(end));
}

void EndResolver::Expire(BootTime now, std::vector<ConnectionEnd>& out) {
  for (size_t left = waiting_.size(); left > 0; --left) {
    ConnectionEnd end = std::move(waiting_.front());
    waiting_.pop_front();
    if (Resolve(end)) {
      out.push_back(std::move(end));
    } else if (now != BootTime::Max() && now - end.established < accept_wait_) {
      waiting_.push_back(std::move(end));
    } else if (applications_.MayHaveForgotten(end.established, end.adopted) ||
               proxies_.MayHaveForgotten(end.established, end.adopted)) {
      Drop(end);
    }
  }
}

std::vector<Loss> EndResolver::TakeLosses() {
  if (dropped_.count == 0) return {};
  Loss out = std::exchange(dropped_, Loss());
  out.what = "unnamed_connection_end";
  return {std::move(out)};
}

}  // namespace phantomd
