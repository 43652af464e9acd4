// An agent that does nothing but read: loads the programs with the pins of the directory that is
// its first argument, watches the namespace whose cookie is its second, and writes what it reads to
// standard output until standard input ends or it is killed.
//
// Each line is one record: "attempt|failure STARTED_NS THREAD_ID"; or "released": what was written
// before it will not be read again; or "ready".
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <string>

#include "agent/base/check.h"
#include "agent/probe/kernel_probe.h"

namespace phantomd {
namespace {

void Write(const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t size = write(1, text.data() + done, text.size() - done);
    if (size <= 0) _exit(1);
    done += static_cast<size_t>(size);
  }
}

constexpr size_t kBatch = 1000;

// False: that was all for now.
bool ReadOnce(KernelProbe& probe) {
  std::string text;
  const std::vector<ConnectRecord> records = probe.TakeConnects(kBatch);
  for (const ConnectRecord& record : records) {
    const auto* connect = std::get_if<connect_record>(&record);
    if (connect == nullptr) continue;
    text +=
        fmt::format("{} {} {}\n", connect->kind == CONNECT_RECORD_ATTEMPT ? "attempt" : "failure",
                    connect->started_ns, connect->thread_id);
  }
  Write(text);
  probe.ReleaseTaken();
  Write("released\n");
  return records.size() == kBatch;
}

int Run(char** argv) {
  // Roomy: the load does not wait while one agent has ended and the next has not begun.
  auto probe = KernelProbe::Load(
      {.ring_bytes = 64 * 1024 * 1024, .watch_new_proxies = false, .pin_dir = argv[1]});
  if (!probe.ok()) {
    fmt::print(stderr, "{}\n", std::string(probe.status().message()));
    return 1;
  }
  uint64_t cookie = 0;
  std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), cookie);
  PHANTOMD_CHECK((*probe)->Watch(cookie).ok());
  Write("ready\n");
  pollfd stop{0, POLLIN, 0};
  while (poll(&stop, 1, 10) == 0) ReadOnce(**probe);
  while (ReadOnce(**probe)) {
  }
  return 0;
}

}  // namespace
}  // namespace phantomd

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return phantomd::Run(argv);
}
