// Prints what an agent's index holds once its recording has been told again, with all bounds: the
// answers of `phantomctl explain` have only some of them.
//
// Usage: recorded_index FILE. One JSON object a line: {"tenancy": ...}, oldest first, then each
// {"feed": ...} and {"loss": ...} in the order of the recording, then {"offset": WALL_MINUS_BOOT}.
// Instants are nanoseconds on CLOCK_BOOTTIME; null: no such bound.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "agent/engine/input.h"
#include "agent/lifecycle/feed_name.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/recording/reader.h"

namespace phantomd {
namespace {

std::string Json(BootTime t) {
  const bool none = !t.is_set() || t == BootTime::Min() || t == BootTime::Max();
  return none ? "null" : fmt::format("{}", t.nanos());
}

std::string Json(const TimeBounds& bounds) {
  return fmt::format("[{}, {}]", Json(bounds.not_before), Json(bounds.not_after));
}

Lifecycle::Options OptionsOf(const Header& header) {
  return {.feed_delay = header.settings.feed_delay,
          .typical_delay = header.settings.typical_delay,
          .clock_error = header.settings.clock_error,
          .all_pods = header.settings.pod_scope != "endpointslices",
          .node_name = header.node_name};
}

class Index {
 public:
  explicit Index(const Header& header)
      : lifecycle_(OptionsOf(header), header.offset), offset_(header.offset) {}

  void Take(const Input& input) {
    std::visit([&](const auto& value) { On(value, input.observed); }, input.value);
  }

  void Print() const {
    for (const IpAddr& ip : addresses_) {
      const std::vector<TenancyFacts> newest_first = lifecycle_.Tenancies(ip);
      for (auto it = newest_first.rbegin(); it != newest_first.rend(); ++it) Print(ip, *it);
    }
    for (const std::string& line : feeds_and_losses_) fmt::print("{}\n", line);
    fmt::print("{{\"offset\": {}}}\n", offset_.wall_minus_boot().count());
  }

 private:
  void Print(const IpAddr& ip, const TenancyFacts& tenancy) const {
    fmt::print(
        "{{\"tenancy\": {{\"ip\": \"{}\", \"uid\": \"{}\", \"pod\": \"{}\", \"acquired\": {}, "
        "\"withdrawn\": {}, \"released\": {}, \"evidence\": \"{}\"}}}}\n",
        ip.ToString(), tenancy.ref->uid.value(), tenancy.ref->name, Json(tenancy.acquired),
        Json(lifecycle_.WithdrawnBounds(tenancy.pod)), Json(tenancy.released), tenancy.evidence);
  }

  void On(const PodChange& change, BootTime at) {
    addresses_.insert(change.ips.begin(), change.ips.end());
    lifecycle_.Apply(change, at);
  }
  void On(const SliceChange& change, BootTime at) {
    for (const SliceChange::Endpoint& endpoint : change.endpoints) {
      addresses_.insert(endpoint.addresses.begin(), endpoint.addresses.end());
    }
    lifecycle_.Apply(change, at);
  }
  void On(const NodeChange& change, BootTime at) { lifecycle_.Apply(change, at); }
  void On(const PodEnd& end, BootTime at) { lifecycle_.Apply(end, at); }
  void On(const ClockChange& change, BootTime) {
    offset_ = change.offset;
    lifecycle_.SetWallOffset(change.offset);
  }
  void On(const FeedChange& change, BootTime at) {
    lifecycle_.Apply(change, at);
    feeds_and_losses_.push_back(fmt::format(
        "{{\"feed\": {{\"name\": \"{}\", \"synced\": {}, \"observed\": {}, \"good_until\": {}}}}}",
        NameOf(change.feed), change.state == FeedState::kSynced, Json(at),
        Json(change.good_until)));
  }
  void On(const Loss& loss, BootTime) {
    feeds_and_losses_.push_back(
        fmt::format("{{\"loss\": {{\"what\": \"{}\", \"count\": {}, \"from\": {}, \"to\": {}}}}}",
                    loss.what, loss.count, Json(loss.from), Json(loss.to)));
  }
  template <typename Other>
  void On(const Other&, BootTime) {}

  Lifecycle lifecycle_;
  WallOffset offset_;
  std::set<IpAddr> addresses_;
  std::vector<std::string> feeds_and_losses_;
};

int Run(const char* path) {
  const auto reader = RecordingReader::Open(path);
  if (!reader.ok()) {
    fmt::print(stderr, "{}\n", std::string(reader.status().message()));
    return 1;
  }
  std::unique_ptr<Index> index;
  while (true) {
    const auto input = (*reader)->Next();
    if (!input.ok()) {
      fmt::print(stderr, "{}\n", std::string(input.status().message()));
      return 1;
    }
    if (!input->has_value()) break;
    if (const auto* header = std::get_if<Header>(&(*input)->value)) {
      index = std::make_unique<Index>(*header);
    } else {
      index->Take(**input);
    }
  }
  index->Print();
  return 0;
}

}  // namespace
}  // namespace phantomd

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: recorded_index FILE\n");
    return 2;
  }
  return phantomd::Run(argv[1]);
}
