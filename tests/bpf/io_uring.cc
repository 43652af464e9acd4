#include "tests/bpf/io_uring.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "agent/base/check.h"

namespace phantomd {
namespace {

constexpr unsigned kEntries = 2;

}  // namespace

std::unique_ptr<IoUring> IoUring::Create() {
  std::unique_ptr<IoUring> out(new IoUring);
  out->ring_ = Fd(static_cast<int>(syscall(SYS_io_uring_setup, kEntries, &out->parameters_)));
  if (out->ring_.get() < 0) return nullptr;
  PHANTOMD_CHECK(out->parameters_.features & IORING_FEAT_SINGLE_MMAP);
  const size_t submissions =
      out->parameters_.sq_off.array + out->parameters_.sq_entries * sizeof(uint32_t);
  const size_t completions =
      out->parameters_.cq_off.cqes + out->parameters_.cq_entries * sizeof(io_uring_cqe);
  out->queues_size_ = std::max(submissions, completions);
  void* queues = mmap(nullptr, out->queues_size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                      out->ring_.get(), IORING_OFF_SQ_RING);
  PHANTOMD_CHECK(queues != MAP_FAILED);
  out->queues_ = static_cast<std::byte*>(queues);
  void* entries =
      mmap(nullptr, out->parameters_.sq_entries * sizeof(io_uring_sqe), PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_POPULATE, out->ring_.get(), IORING_OFF_SQES);
  PHANTOMD_CHECK(entries != MAP_FAILED);
  out->entries_ = static_cast<io_uring_sqe*>(entries);
  return out;
}

IoUring::~IoUring() {
  if (entries_ != nullptr) munmap(entries_, parameters_.sq_entries * sizeof(io_uring_sqe));
  if (queues_ != nullptr) munmap(queues_, queues_size_);
}

int IoUring::Connect(const Fd& fd, const SocketAddress& address, uint8_t flags) {
  const auto word = [&](uint32_t offset) {
    return std::atomic_ref(*reinterpret_cast<uint32_t*>(queues_ + offset));
  };
  const uint32_t tail = word(parameters_.sq_off.tail).load();
  const uint32_t slot = tail & word(parameters_.sq_off.ring_mask).load();
  io_uring_sqe& entry = entries_[slot];
  entry = {};
  entry.opcode = IORING_OP_CONNECT;
  entry.flags = flags;
  entry.fd = fd.get();
  entry.addr = reinterpret_cast<uintptr_t>(address.get());
  entry.off = address.size;
  word(parameters_.sq_off.array + slot * sizeof(uint32_t)).store(slot);
  word(parameters_.sq_off.tail).store(tail + 1);
  while (syscall(SYS_io_uring_enter, ring_.get(), 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0) < 0) {
    PHANTOMD_CHECK(errno == EINTR);
  }
  const uint32_t head = word(parameters_.cq_off.head).load();
  const auto* completions =
      reinterpret_cast<const io_uring_cqe*>(queues_ + parameters_.cq_off.cqes);
  const int result = completions[head & word(parameters_.cq_off.ring_mask).load()].res;
  word(parameters_.cq_off.head).store(head + 1);
  return -result;
}

}  // namespace phantomd
