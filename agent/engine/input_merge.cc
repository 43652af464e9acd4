#include "agent/engine/input_merge.h"

#include <algorithm>
#include <utility>

namespace phantomd {

InputMerge::InputMerge() { marks_.fill(BootTime::Min()); }

bool InputMerge::Post(EdgePost post) {
  const auto edge = static_cast<size_t>(post.edge);
  if (const auto* mark = std::get_if<BootTime>(&post.value)) {
    marks_[edge] = std::max(marks_[edge], *mark);
    return true;
  }
  Input& input = std::get<Input>(post.value);
  const bool in_order = input.observed >= released_;
  if (!in_order) input.observed = released_;
  std::deque<Input>& queue = queues_[edge];
  if (queue.empty() || queue.back().observed <= input.observed) {
    queue.push_back(std::move(input));
  } else {
    const auto at =
        std::upper_bound(queue.begin(), queue.end(), input.observed,
                         [](BootTime stamp, const Input& other) { return stamp < other.observed; });
    queue.insert(at, std::move(input));
  }
  return in_order;
}

std::optional<Input> InputMerge::Next() { return Take(safe_until()); }

std::optional<Input> InputMerge::NextRegardless() { return Take(BootTime::Max()); }

BootTime InputMerge::safe_until() const { return *std::min_element(marks_.begin(), marks_.end()); }

bool InputMerge::Awaits(Edge edge) const {
  const std::deque<Input>* earliest = Earliest();
  return earliest != nullptr && marks_[static_cast<size_t>(edge)] <= earliest->front().observed;
}

bool InputMerge::HasInputUntil(BootTime at) const {
  const std::deque<Input>* earliest = Earliest();
  return earliest != nullptr && earliest->front().observed <= at;
}

const std::deque<Input>* InputMerge::Earliest() const {
  const std::deque<Input>* earliest = nullptr;
  for (const std::deque<Input>& queue : queues_) {
    if (queue.empty()) continue;
    if (earliest == nullptr || queue.front().observed < earliest->front().observed) {
      earliest = &queue;
    }
  }
  return earliest;
}

std::optional<Input> InputMerge::Take(BootTime before) {
  auto* earliest = const_cast<std::deque<Input>*>(Earliest());
  if (earliest == nullptr || earliest->front().observed >= before) return std::nullopt;
  std::optional<Input> out(std::move(earliest->front()));
  earliest->pop_front();
  released_ = out->observed;
  return out;
}

}  // namespace phantomd
