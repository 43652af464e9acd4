// SlotPool holds records by small numbers that stay valid until they are freed; records never move.
//
// Blocks of 1024 rather than a growing vector: doubling would waste up to half of the memory, and
// 100,000 pods have to fit into little. Number 0 is never given out: "none". A freed number is used
// again, its record reset.
//
// Thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace phantomd {

template <typename T>
class SlotPool {
 public:
  uint32_t Add() {
    ++size_;
    if (!free_.empty()) {
      const uint32_t slot = free_.back();
      free_.pop_back();
      return slot;
    }
    if (next_ % kBlock == 0 || blocks_.empty()) blocks_.push_back(std::make_unique<T[]>(kBlock));
    return next_++;
  }

  void Free(uint32_t slot) {
    (*this)[slot] = T();
    free_.push_back(slot);
    --size_;
  }

  T& operator[](uint32_t slot) { return blocks_[slot / kBlock][slot % kBlock]; }
  const T& operator[](uint32_t slot) const { return blocks_[slot / kBlock][slot % kBlock]; }

  size_t size() const { return size_; }
  // One past the largest number ever given out: for loops, which skip the freed ones themselves.
  uint32_t end() const { return next_; }

 private:
  static constexpr uint32_t kBlock = 1024;
  std::vector<std::unique_ptr<T[]>> blocks_;
  std::vector<uint32_t> free_;
  uint32_t next_ = 1;
  size_t size_ = 0;
};

}  // namespace phantomd
