#include "agent/engine/loss_periods.h"

#include <algorithm>

namespace phantomd {
namespace {

constexpr char kAttempt[] = "attempt";

void Join(LossPeriods::Period& into, const Loss& loss, BootTime told) {
  into.loss.count += loss.count;
  into.loss.count_unknown |= loss.count_unknown;
  into.loss.from = std::min(into.loss.from, loss.from);
  into.loss.to = std::max(into.loss.to, loss.to);
  into.told = told;
}

}  // namespace

void LossPeriods::Add(const Loss& loss, BootTime told) {
  std::vector<Period>& periods = periods_[{loss.what, loss.proxy_id}];
  if (!periods.empty()) {
    Period& last = periods.back();
    if (loss.from - last.loss.to <= kJoin && loss.to - last.loss.from <= kLongest) {
      return Join(last, loss, told);
    }
  }
  periods.push_back({loss, told});
}

LossPeriods::Sum LossPeriods::Attempts(BootTime from, BootTime to) const {
  Sum out;
  for (auto it = periods_.lower_bound({kAttempt, ProxyId()});
       it != periods_.end() && it->first.first == kAttempt; ++it) {
    for (const Period& period : it->second) {
      if (period.loss.to < from || period.loss.from > to) continue;
      out.count += period.loss.count;
      out.unknown |= period.loss.count_unknown;
    }
  }
  return out;
}

LossPeriods::Sum LossPeriods::AttemptsOf(const ProxyId& proxy, BootTime from, BootTime to) const {
  Sum out;
  out.unknown = Attempts(from, to).unknown;
  const auto it = periods_.find({kAttempt, proxy});
  if (it == periods_.end()) return out;
  for (const Period& period : it->second) out.count += period.loss.count;
  return out;
}

std::vector<Loss> LossPeriods::Latest(size_t count) const {
  std::vector<Loss> out;
  for (const auto& [key, periods] : periods_) {
    for (const Period& period : periods) out.push_back(period.loss);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Loss& a, const Loss& b) { return a.to < b.to; });
  if (out.size() > count) out.erase(out.begin(), out.end() - static_cast<ptrdiff_t>(count));
  return out;
}

void LossPeriods::Export(const std::function<void(const Period&)>& sink) const {
  for (const auto& [key, periods] : periods_) {
    for (const Period& period : periods) sink(period);
  }
}

void LossPeriods::Compact(BootTime horizon, const std::function<bool(const ProxyId&)>& known) {
  for (auto it = periods_.begin(); it != periods_.end();) {
    std::vector<Period>& periods = it->second;
    const auto old = std::find_if(periods.begin(), periods.end(),
                                  [&](const Period& period) { return period.loss.to >= horizon; });
    for (auto next = periods.begin(); next != old; ++next) {
      if (next != periods.begin()) Join(periods.front(), next->loss, next->told);
    }
    if (old - periods.begin() > 1) periods.erase(periods.begin() + 1, old);
    const ProxyId& proxy = it->first.second;
    const bool over = periods.back().loss.to < horizon && !proxy.empty() && !known(proxy);
    it = over ? periods_.erase(it) : std::next(it);
  }
}

}  // namespace phantomd
