#include "agent/lifecycle/interner.h"

#include "agent/base/check.h"
#include "agent/base/strings.h"

namespace phantomd {

StringInterner::Id StringInterner::Acquire(std::string_view text) {
  if (text.empty()) return 0;
  if (const Id known = Find(text); known != 0) {
    ++entries_[known].holders;
    return known;
  }
  Id id = 0;
  if (free_.empty()) {
    id = static_cast<Id>(entries_.size());
    entries_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  entries_[id] = Entry{std::string(text), 1};
  ids_.emplace(ToAbsl(entries_[id].text), id);
  return id;
}

void StringInterner::Release(Id id) {
  if (id == 0) return;
  Entry& entry = entries_[id];
  PHANTOMD_CHECK(entry.holders > 0);
  if (--entry.holders > 0) return;
  ids_.erase(ToAbsl(entry.text));
  entry.text = std::string();
  free_.push_back(id);
}

StringInterner::Id StringInterner::Find(std::string_view text) const {
  const auto it = ids_.find(ToAbsl(text));
  return it == ids_.end() ? 0 : it->second;
}

}  // namespace phantomd
