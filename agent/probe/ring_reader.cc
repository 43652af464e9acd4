#include "agent/probe/ring_reader.h"

#include <fmt/format.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace phantomd {
namespace {

template <typename T>
std::atomic_ref<T> At(std::byte* address) {
  return std::atomic_ref<T>(*reinterpret_cast<T*>(address));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RingReader>> RingReader::Open(int map_fd, size_t ring_bytes) {
  std::unique_ptr<RingReader> out(new RingReader);
  out->ring_bytes_ = ring_bytes;
  out->page_ = static_cast<size_t>(getpagesize());
  void* consumer = mmap(nullptr, out->page_, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
  if (consumer == MAP_FAILED) {
    return absl::ResourceExhaustedError(fmt::format("cannot map a ring: {}", std::strerror(errno)));
  }
  out->consumer_ = static_cast<std::byte*>(consumer);
  void* producer = mmap(nullptr, out->page_ + 2 * ring_bytes, PROT_READ, MAP_SHARED, map_fd,
                        static_cast<off_t>(out->page_));
  if (producer == MAP_FAILED) {
    return absl::ResourceExhaustedError(fmt::format("cannot map a ring: {}", std::strerror(errno)));
  }
  out->producer_ = static_cast<std::byte*>(producer);
  out->taken_ = At<uint64_t>(out->consumer_).load(std::memory_order_acquire);
  return out;
}

RingReader::~RingReader() {
  if (consumer_ != nullptr) munmap(consumer_, page_);
  if (producer_ != nullptr) munmap(producer_, page_ + 2 * ring_bytes_);
}

size_t RingReader::Take(size_t limit, const std::function<void(const void*, size_t)>& each) {
  size_t count = 0;
  const uint64_t end = At<uint64_t>(producer_).load(std::memory_order_acquire);
  while (taken_ < end && count < limit) {
    std::byte* record = producer_ + page_ + (taken_ & (ring_bytes_ - 1));
    // The length comes first, with two flags; it is written last.
    const uint32_t word = At<uint32_t>(record).load(std::memory_order_acquire);
    if (word & BPF_RINGBUF_BUSY_BIT) break;
    const size_t size = word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
    if (!(word & BPF_RINGBUF_DISCARD_BIT)) {
      each(record + BPF_RINGBUF_HDR_SZ, size);
      ++count;
    }
    taken_ += (size + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
  }
  return count;
}

void RingReader::Release() { At<uint64_t>(consumer_).store(taken_, std::memory_order_release); }

}  // namespace phantomd
