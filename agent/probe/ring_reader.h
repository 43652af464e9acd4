// RingReader reads a BPF ring buffer in two steps: what was taken stays in the ring until it is
// released. A reader that dies in between has lost nothing: the next one takes the same records.
//
// (libbpf's own reader releases each record as it hands it out.)
//
// Thread-compatible; one reader a ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"

namespace phantomd {

class RingReader {
 public:
  // `map_fd` must stay open as long as the reader.
  static absl::StatusOr<std::unique_ptr<RingReader>> Open(int map_fd, size_t ring_bytes);
  ~RingReader();
  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;

  // Hands out at most `limit` records after those that were taken before, in the order in which the
  // kernel reserved them, and says how many. Fewer than `limit`: there were no more.
  size_t Take(size_t limit, const std::function<void(const void*, size_t)>& each);
  // The kernel may overwrite what was taken.
  void Release();

 private:
  RingReader() = default;

  size_t ring_bytes_ = 0;
  size_t page_ = 0;
  uint64_t taken_ = 0;             // up to this position
  std::byte* consumer_ = nullptr;  // one page, written by us
  std::byte* producer_ = nullptr;  // one page and, twice in a row, the ring
};

}  // namespace phantomd
