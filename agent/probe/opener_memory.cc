#include "agent/probe/opener_memory.h"

#include <algorithm>

namespace phantomd {

bool OpenerMemory::IsCurrent(const std::pair<uint64_t, uint64_t>& aged) const {
  const auto known = known_.find(aged.first);
  return known != known_.end() && known->second.number == aged.second;
}

void OpenerMemory::Remember(uint64_t socket_cookie, const Opener& opener, BootTime by,
                            bool adopted) {
  known_.insert_or_assign(socket_cookie, Entry{opener, by, adopted, ++numbers_});
  by_age_.emplace_back(socket_cookie, numbers_);
  while (known_.size() > room_) {
    if (IsCurrent(by_age_.front())) {
      const auto oldest = known_.find(by_age_.front().first);
      forgotten_by_ = std::max(forgotten_by_, oldest->second.by);
      forgot_adopted_ |= oldest->second.adopted;
      known_.erase(oldest);
    }
    by_age_.pop_front();
  }
  if (by_age_.size() > 2 * room_) {
    std::erase_if(by_age_, [&](const auto& aged) { return !IsCurrent(aged); });
  }
}

const Opener* OpenerMemory::Find(uint64_t socket_cookie) const {
  const auto known = known_.find(socket_cookie);
  return known == known_.end() ? nullptr : &known->second.opener;
}

void OpenerMemory::Ended(uint64_t socket_cookie, BootTime established) {
  const auto known = known_.find(socket_cookie);
  if (known == known_.end()) return;
  if (known->second.by <= established || known->second.adopted) known_.erase(known);
}

bool OpenerMemory::MayHaveForgotten(BootTime established, bool adopted) const {
  if (adopted && forgot_adopted_) return true;
  return forgotten_by_.is_set() && established <= forgotten_by_;
}

}  // namespace phantomd
