#include "agent/probe/end_resolver.h"

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
  if (attempt.outcome != Outcome::kEstablished || attempt.initiator != Initiator::kApplication) {
    return;
  }
  Remember(attempt.socket_cookie, {attempt.initiator, attempt.proxy_id});
}

void EndResolver::Remember(uint64_t socket_cookie, const Opener& opener) {
  if (!known_.insert_or_assign(socket_cookie, opener).second) return;
  by_age_.push_back(socket_cookie);
  if (by_age_.size() > kRemembered) {
    known_.erase(by_age_.front());
    by_age_.pop_front();
  }
}

const Opener* EndResolver::Remembered(uint64_t socket_cookie) const {
  const auto known = known_.find(socket_cookie);
  return known == known_.end() ? nullptr : &known->second;
}

bool EndResolver::Resolve(ConnectionEnd& end) const {
  const Opener* known = Remembered(end.socket_cookie);
  if (known == nullptr) return false;
  Name(end, *known);
  return true;
}

void EndResolver::OnEnd(const end_record& record, std::vector<ConnectionEnd>& out) {
  ConnectionEnd end = ToConnectionEnd(record);
  const std::optional<Opener> proxy = openers_.OpenerOf(
      end.process_id, FromKernel(record.process_start_ns), end.thread_id, end.netns_cookie);
  if (proxy) {
    Name(end, *proxy);
    if (end.how == ConnectionEnd::How::kStalled) Remember(end.socket_cookie, *proxy);
  } else if (!Resolve(end)) {
    // However old it is: its attempt may be in hand, and not decided yet.
    waiting_.push_back(std::move(end));
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
    }
  }
}

}  // namespace phantomd
