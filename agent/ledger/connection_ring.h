// ConnectionRing keeps the latest connections, the oldest dropped first and counted, in chunks that
// never change once they are full: readers share them.
//
// Example, capacity 5 and chunks of 2: after 7 connections the ring holds 3..7 as [3 4][5 6][7] and
// has dropped 2. Thread-compatible; what Chunks() returned is immutable and may go to any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "agent/ledger/connection.h"

namespace phantomd {

class ConnectionRing {
 public:
  static constexpr size_t kChunk = 1000;

  explicit ConnectionRing(size_t capacity, size_t chunk = kChunk)
      : capacity_(capacity), chunk_(chunk) {}

  void Add(std::shared_ptr<const Connection> connection);
  // Those that another ring, of which this one holds the rest, had dropped.
  void CountDropped(uint64_t dropped) { dropped_ += dropped; }
  size_t size() const { return size_; }
  uint64_t dropped() const { return dropped_; }

  // Oldest first. Only the growing last chunk and a first one that is partly dropped are copied,
  // and these hold pointers.
  ConnectionChunks Chunks() const;

 private:
  const size_t capacity_;
  const size_t chunk_;
  std::deque<std::shared_ptr<const ConnectionChunk>> full_;
  ConnectionChunk growing_;
  size_t skip_ = 0;  // dropped from the oldest chunk
  size_t size_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace phantomd
