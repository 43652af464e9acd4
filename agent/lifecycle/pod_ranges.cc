#include "agent/lifecycle/pod_ranges.h"

#include <algorithm>
#include <array>
#include <utility>

namespace phantomd {
namespace {

// The bit of the block that the address lies in: a private one, or one of the two public ones.
uint32_t BlockOf(const IpAddr& ip) {
  static const std::array<IpPrefix, 5> kPrivate = {
      *IpPrefix::Parse("10.0.0.0/8"), *IpPrefix::Parse("172.16.0.0/12"),
      *IpPrefix::Parse("192.168.0.0/16"), *IpPrefix::Parse("100.64.0.0/10"),
      *IpPrefix::Parse("fc00::/7")};
  const auto block = std::find_if(kPrivate.begin(), kPrivate.end(),
                                  [&](const IpPrefix& prefix) { return prefix.Contains(ip); });
  const auto number = static_cast<uint32_t>(block - kPrivate.begin());
  return 1u << (block == kPrivate.end() && ip.is_v4() ? number + 1 : number);
}

}  // namespace

PodRanges::PodRanges(std::vector<IpPrefix> given) : given_(std::move(given)) {}

void PodRanges::Take(const IpPrefix& range, std::string_view node) {
  of_nodes_.Set(range, node);
  given_up_.erase(range);
  Saw(range.base());
}

void PodRanges::GiveUp(const IpPrefix& range, std::string_view node, BootTime when) {
  const std::string* owner = of_nodes_.Find(range.base());
  if (owner == nullptr || *owner != node) return;  // another took it over
  of_nodes_.Set(range, "");
  given_up_[range] = when;
}

void PodRanges::Saw(const IpAddr& ip) {
  if (!Given(ip)) blocks_ |= BlockOf(ip);
}

bool PodRanges::Given(const IpAddr& ip) const {
  return std::any_of(given_.begin(), given_.end(),
                     [&](const IpPrefix& range) { return range.Contains(ip); });
}

bool PodRanges::MayContain(const IpAddr& ip) const {
  return Contains(ip) || (blocks_ & BlockOf(ip)) != 0;
}

const std::string* PodRanges::NodeOf(const IpAddr& ip) const {
  const std::string* node = of_nodes_.Find(ip);
  return node != nullptr && node->empty() ? nullptr : node;
}

void PodRanges::Compact(
    BootTime horizon,
    absl::FunctionRef<void(absl::FunctionRef<void(const IpAddr&)>)> each_address) {
  std::erase_if(given_up_, [&](const auto& entry) {
    if (entry.second >= horizon) return false;
    of_nodes_.Erase(entry.first);
    return true;
  });
  blocks_ = 0;
  const auto saw = [this](const IpAddr& ip) { Saw(ip); };
  of_nodes_.ForEachBase(saw);
  each_address(saw);
}

}  // namespace phantomd
