// Reading what a BPF iterator hands out: how the kernel's sockets and open files are walked.
//
// Example: attach the program, create the iterator of the link, ReadIterator<socket_record>(fd, f).
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <bpf/libbpf.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace phantomd {

struct BpfLinkCloser {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using BpfLink = std::unique_ptr<bpf_link, BpfLinkCloser>;

// Hands every record of the iterator `fd` to `each`, and closes `fd`. 0, or the errno that ended
// it.
template <typename Record, typename Each>
int ReadIterator(int fd, const Each& each) {
  Record records[128];
  int error = 0;
  for (;;) {
    // The kernel hands out whole values, as many as fit.
    const ssize_t size = read(fd, records, sizeof(records));
    if (size == 0) break;
    if (size < 0 && errno != EAGAIN && errno != EINTR) {
      error = errno;
      break;
    }
    for (ssize_t i = 0; i < size / ssize_t{sizeof(Record)}; ++i) each(records[i]);
  }
  close(fd);
  return error;
}

}  // namespace phantomd
