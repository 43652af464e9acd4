// Pages of a list (google.aip.dev/158): at most so many items after the last one that was shown.
//
// Every item has a key that no other item has and that never changes; a list is in the order of
// its keys. A page token is the key of the last item shown, so items that come and go between two
// pages make no other item appear twice or not at all. Example: a, b | c, d; b is gone and bb is
// new when the second page is asked for: it holds bb, c.
//
// A token is bound to its list (method, filter and times): used with another it is refused.
//
// Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace phantomd {

inline constexpr size_t kDefaultPageSize = 100;
inline constexpr size_t kMaxPageSize = 1000;

struct PageRequest {
  size_t size = kDefaultPageSize;
  std::string after;  // key of the last item shown; empty: from the beginning
};

// A negative size or a token that is not of `list` is INVALID_ARGUMENT.
absl::StatusOr<PageRequest> ParsePageRequest(int32_t page_size, std::string_view token,
                                             std::string_view list);
std::string PageToken(std::string_view last_key, std::string_view list);

// A key whose order is from the largest number to the smallest, for lists with the newest first.
std::string DescendingKey(uint64_t number);

// Calls show(item) for each item of the page; returns the next page's token, empty at the end of
// the list.
template <typename Item, typename KeyOf, typename Show>
std::string ShowPage(const std::vector<const Item*>& items, const PageRequest& page,
                     std::string_view list, KeyOf key_of, Show show) {
  std::vector<std::pair<std::string, const Item*>> rest;
  for (const Item* item : items) {
    std::string key = key_of(*item);
    if (key > page.after) rest.emplace_back(std::move(key), item);
  }
  std::sort(rest.begin(), rest.end());
  const size_t shown = std::min(page.size, rest.size());
  for (size_t i = 0; i < shown; ++i) show(*rest[i].second);
  return shown < rest.size() ? PageToken(rest[shown - 1].first, list) : std::string();
}

}  // namespace phantomd
