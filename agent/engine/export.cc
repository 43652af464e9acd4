#include "agent/engine/export.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace phantomd {

void ExportKnowledge(const Knowledge& known, const std::function<void(const Input&)>& sink) {
  Header header = known.header;
  header.offset = known.offset;
  sink({known.now, std::move(header)});

  std::vector<Input> inputs;
  const auto& offsets = known.clock.changes();
  for (const auto& [when, offset] : offsets) inputs.push_back({when, ClockChange{offset}});
  for (const auto& [id, entry] : known.proxies.all()) {
    inputs.push_back({entry.first_observed, ProxyChange{entry.told, false}});
    if (entry.returned.is_set()) inputs.push_back({entry.returned, ProxyChange{entry.told, false}});
    if (entry.gone.is_set()) inputs.push_back({entry.gone, ProxyChange{entry.told, true}});
  }
  known.lifecycle.Export([&](BootTime observed, auto change) {
    std::visit(
        [&](auto&& value) {
          inputs.push_back({observed, std::forward<decltype(value)>(value)});
        },
        std::move(change));
  });
  known.belief.Export(
      {.snapshot =
           [&](BeliefSnapshot snapshot) {
             const BootTime observed = snapshot.received;
             // Told with the offset of today; it will be read with that of then.
             for (BeliefSnapshot::Cluster& cluster : snapshot.clusters) {
               if (!cluster.updated.is_set()) continue;
               const BootTime updated = known.offset.ToBoot(cluster.updated);
               cluster.updated = known.clock.At(observed).ToWall(updated);
             }
             inputs.push_back({observed, std::move(snapshot)});
           },
       .lost =
           [&](const ProxyId& proxy, BootTime told, BootTime from, BootTime to) {
             inputs.push_back(
                 {told, Loss{.what = "belief", .from = from, .to = to, .proxy_id = proxy}});
           },
       .gone =
           [&](const ProxyId& proxy, BootTime when) {
             // The table tells the last end itself, but forgets a proxy long before its beliefs
             // are.
             const ProxyTable::Entry* entry = known.proxies.Find(proxy);
             if (entry != nullptr && entry->gone.is_set() && entry->gone <= when) return;
             ProxyChange ended;
             ended.proxy.id = proxy;
             ended.gone = true;
             inputs.push_back({when, std::move(ended)});
           }});
  known.losses.Export([&](const LossPeriods::Period& period) {
    inputs.push_back({period.told, period.loss});
  });
  // Stable: what one room told in its own order stays in that order.
  std::stable_sort(inputs.begin(), inputs.end(),
                   [](const Input& a, const Input& b) { return a.observed < b.observed; });
  // The clock's first offset holds from the first of the others on; if it never changed, the header
  // says all.
  if (offsets.size() == 1) {
    inputs.erase(inputs.begin());
  } else {
    inputs.front().observed = std::min(inputs[1].observed, known.now);
  }
  for (const Input& input : inputs) sink(input);
}

}  // namespace phantomd
