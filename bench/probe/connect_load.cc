// What the cost of recording is measured with: connects whose two ends belong to one pinned thread.
//
// Two namespaces, one veth. The thread lives in the client's; it connects, accepts and closes, and
// the kernel handles the packets of both sides in the same calls, so that the thread's CPU time is
// all that a connection costs on this host. What other processes spend is theirs.
//
//   connect_load CPU
//
// answers each line of standard input with one of standard output:
//
//   namespace        the path of the client's network namespace
//   accepted COUNT   connect, accept, both ends closed by reset: nanoseconds of CPU for each
//   refused COUNT    connect to a closed port
//   getppid COUNT    a system call that does nothing
#include <netinet/in.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "agent/base/check.h"
#include "tests/bpf/network_lab.h"

namespace phantomd {
namespace {

int64_t ThreadCpuNanos() {
  timespec spent{};
  PHANTOMD_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent) == 0);
  return spent.tv_sec * int64_t{1'000'000'000} + spent.tv_nsec;
}

// Without TIME_WAIT, which would use up the ports of the client.
class Load {
 public:
  Load() {
    lab_.server.Run([&] { listener_ = Listen(Family::kV4); });
    port_ = LocalPort(listener_);
  }

  std::string NamespacePath() const { return lab_.client.path(); }

  // On the calling thread, for good.
  void Enter(int cpu) const {
    PHANTOMD_CHECK(setns(lab_.client.fd(), CLONE_NEWNET) == 0);
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    PHANTOMD_CHECK(sched_setaffinity(0, sizeof(only), &only) == 0);
  }

  double NanosEach(const std::string& what, int64_t count) {
    Repeat(what, count / 10);  // caches and neighbour entries
    const int64_t before = ThreadCpuNanos();
    Repeat(what, count);
    return double(ThreadCpuNanos() - before) / count;
  }

 private:
  void Repeat(const std::string& what, int64_t count) {
    PHANTOMD_CHECK(what == "accepted" || what == "refused" || what == "getppid");
    for (int64_t i = 0; i < count; ++i) {
      if (what == "accepted") {
        Fd fd = TcpSocket(Family::kV4, true);
        PHANTOMD_CHECK(Connect(fd, Family::kV4, server_, port_) == 0);
        Fd accepted(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        PHANTOMD_CHECK(accepted.get() >= 0);
        CloseByReset(fd);
        CloseByReset(accepted);
      } else if (what == "refused") {
        const Fd fd = TcpSocket(Family::kV4, true);
        PHANTOMD_CHECK(Connect(fd, Family::kV4, server_, 9) == ECONNREFUSED);
      } else {
        syscall(SYS_getppid);
      }
    }
  }

  NetworkLab lab_;
  const IpAddr server_ = lab_.Server(Family::kV4);
  Fd listener_;
  uint16_t port_ = 0;
};

void Answer(int cpu) {
  Load load;
  load.Enter(cpu);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what;
    int64_t count = 0;
    words >> what >> count;
    if (what == "namespace") {
      std::cout << load.NamespacePath() << std::endl;
    } else {
      std::cout << load.NanosEach(what, count) << std::endl;
    }
  }
}

}  // namespace
}  // namespace phantomd

int main(int argc, char** argv) {
  PHANTOMD_CHECK(argc == 2);
  // A thread of its own: the network namespace of the first one is what /proc shows of a process.
  std::thread(phantomd::Answer, std::atoi(argv[1])).join();
}
