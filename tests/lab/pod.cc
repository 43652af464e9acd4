// What runs in a pod of the lab: listens on a TCP port until it is asked to end.
//
// Usage: lab_pod PORT. It writes "ready NS" once it listens and "ended NS" as its last word, both
// instants on CLOCK_BOOTTIME, to standard output.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>

namespace {

int64_t BootNanos() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

bool Say(const char* what) {
  const std::string line = fmt::format("{} {}\n", what, BootNanos());
  return write(STDOUT_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  sigset_t asked;
  sigemptyset(&asked);
  sigaddset(&asked, SIGTERM);
  sigprocmask(SIG_BLOCK, &asked, nullptr);

  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(std::atoi(argv[1]))};
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener, 16) != 0 || !Say("ready")) {
    return 1;
  }
  int signal = 0;
  sigwait(&asked, &signal);
  return Say("ended") ? 0 : 1;
}
