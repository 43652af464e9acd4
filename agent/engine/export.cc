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
  for (const auto& [id, entry] : known.proxies.all()) {
    inputs.push_back({entry.first_observed, ProxyChange{entry.told, false}});
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
             inputs.push_back({observed, std::move(snapshot)});
           },
       .lost =
           [&](const ProxyId& proxy, BootTime told, BootTime from, BootTime to) {
             inputs.push_back(
                 {told, Loss{.what = "belief", .from = from, .to = to, .proxy_id = proxy}});
           },
       .gone =
           [&](const ProxyId& proxy, BootTime when) {
             // The table forgets a proxy long before its beliefs are forgotten.
             if (known.proxies.Find(proxy) != nullptr) return;
             ProxyChange ended;
             ended.proxy.id = proxy;
             ended.gone = true;
             inputs.push_back({when, std::move(ended)});
           }});
  // Stable: what one room told in its own order stays in that order.
  std::stable_sort(inputs.begin(), inputs.end(),
                   [](const Input& a, const Input& b) { return a.observed < b.observed; });
  for (const Input& input : inputs) sink(input);
}

}  // namespace phantomd
