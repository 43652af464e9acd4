// What this process holds in memory and in the kernel, to be compared before and after.
#pragma once

#include <bpf/bpf.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace phantomd {

struct Holdings {
  int descriptors = 0;  // all of them, the next three included
  int maps = 0;
  int programs = 0;
  int links = 0;
  uint64_t heap_bytes = 0;  // in use
  uint64_t resident_kib = 0;

  static Holdings Now();
  std::string ToString() const;
};

// The kernel's objects behind this process's descriptors.
class BpfObjects {
 public:
  static BpfObjects Mine();
  // The first keys' bytes of every entry of the map of this name, as numbers of the given width.
  template <typename Key>
  std::set<Key> KeysOf(const std::string& map) const {
    std::set<Key> out;
    const int fd = FdOf(map, sizeof(Key));
    Key key{};
    for (int error = bpf_map_get_next_key(fd, nullptr, &key); error == 0;) {
      out.insert(key);
      error = bpf_map_get_next_key(fd, &key, &key);
    }
    return out;
  }
  bool AnyAlive() const;

 private:
  int FdOf(const std::string& map, size_t key_size) const;

  std::vector<uint32_t> maps_;
  std::vector<uint32_t> programs_;
  std::vector<uint32_t> links_;
};

}  // namespace phantomd
