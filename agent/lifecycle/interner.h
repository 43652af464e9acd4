// StringInterner keeps one copy of each string that many pods share (namespaces, revisions, nodes)
// and hands out small numbers for it.
//
// Counted: every Acquire is matched by one Release; the text is forgotten with its last holder.
// Number 0 is the empty string and needs no release. Texts never move while they are held.
// Example: Acquire("node-a") = 1, Acquire("node-a") = 1, Release(1), Text(1) is still "node-a".
//
// Thread-compatible.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace phantomd {

class StringInterner {
 public:
  using Id = uint32_t;

  StringInterner() = default;
  StringInterner(const StringInterner&) = delete;
  StringInterner& operator=(const StringInterner&) = delete;

  Id Acquire(std::string_view text);
  void Release(Id id);
  const std::string& Text(Id id) const { return entries_[id].text; }
  // 0 when nobody holds it.
  Id Find(std::string_view text) const;

 private:
  struct Entry {
    std::string text;
    uint32_t holders = 0;
  };
  std::deque<Entry> entries_ = std::deque<Entry>(1);  // a deque: its entries never move
  std::vector<Id> free_;
  absl::flat_hash_map<absl::string_view, Id> ids_;  // keys point into entries_
};

}  // namespace phantomd
