// NamePool keeps one copy of every cluster, service, workload and mesh cluster name that any proxy
// told, and hands out small numbers for them: twenty proxies that list the same twenty thousand
// endpoints share their names.
//
// Number 0 is the empty name. Names are never given up: there are as many as the mesh has clusters
// and workloads, not as many as there are polls. Views stay valid for the pool's life.
// Thread-compatible.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "agent/base/strings.h"

namespace phantomd {

class NamePool {
 public:
  NamePool() { Intern(""); }
  NamePool(const NamePool&) = delete;
  NamePool& operator=(const NamePool&) = delete;

  uint32_t Intern(std::string_view name) {
    const auto found = numbers_.find(ToAbsl(name));
    if (found != numbers_.end()) return found->second;
    names_.emplace_back(name);  // a deque never moves what it holds, so the key may point into it
    const uint32_t number = static_cast<uint32_t>(names_.size() - 1);
    numbers_.emplace(absl::string_view(names_.back()), number);
    return number;
  }

  std::string_view View(uint32_t number) const { return names_[number]; }

 private:
  std::deque<std::string> names_;
  absl::flat_hash_map<absl::string_view, uint32_t> numbers_;
};

}  // namespace phantomd
