// ByteSource: a fuzzer's bytes as a sequence of small choices. When they run out every choice is
// the first one, so that any bytes are a whole sequence.
#pragma once

#include <cstddef>
#include <cstdint>

namespace phantomd::fuzz {

class ByteSource {
 public:
  ByteSource(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool done() const { return at_ == size_; }
  uint8_t Byte() { return done() ? 0 : data_[at_++]; }
  // 0 .. below - 1; `below` is at most 256.
  uint32_t Choose(uint32_t below) { return Byte() % below; }
  // True for one byte in `in`.
  bool OneIn(uint32_t in) { return Choose(in) == in - 1; }

 private:
  const uint8_t* data_;
  const size_t size_;
  size_t at_ = 0;
};

}  // namespace phantomd::fuzz
