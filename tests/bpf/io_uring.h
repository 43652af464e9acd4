// An io_uring, just enough of one to connect sockets through it.
#pragma once

#include <linux/io_uring.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tests/bpf/network_lab.h"

namespace phantomd {

// Thread-compatible.
class IoUring {
 public:
  // Null where this kernel refuses io_uring, with the reason in errno.
  static std::unique_ptr<IoUring> Create();
  ~IoUring();
  IoUring(const IoUring&) = delete;
  IoUring& operator=(const IoUring&) = delete;

  // What connect(2) would return through errno: 0 or a positive number. `flags` are IOSQE_*.
  int Connect(const Fd& fd, const SocketAddress& address, uint8_t flags);

 private:
  IoUring() = default;

  Fd ring_;
  io_uring_params parameters_{};
  std::byte* queues_ = nullptr;  // both, in one mapping
  size_t queues_size_ = 0;
  io_uring_sqe* entries_ = nullptr;
};

}  // namespace phantomd
