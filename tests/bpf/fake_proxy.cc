// Stands in for a proxy under whatever name it is started: does what it is told on standard input,
// one command a line, and answers each with a line on standard output.
//
//   connect main|worker FAMILY IP PORT   connects from that thread; answers "SOURCE_PORT ERRNO"
//   listen FAMILY PORT                   listens and accepts; answers the port
//   connect-in NETNS FAMILY IP PORT      connects as ztunnel does: one thread enters the namespace,
//                                        makes a socket there and leaves; another one connects it
//   listen-in NETNS FAMILY PORT          listens in that namespace, from outside
//   poll FAMILY IP PORT                  the main thread connects without waiting, answers,
//                                        and then waits for that socket alone, as Envoy's does
//   abandon FAMILY IP PORT               connects from a worker without waiting, and is then killed
//   forget                               closes every socket
//   workers                              begins threads that are named as Envoy names its own
//   spawn PATH FAMILY IP PORT            has a child run another program, which connects and ends
//   exec PATH                            becomes another program, with the same arguments
//
// With FAKE_PROXY_FIRST="FAMILY IP PORT" it connects from a worker before it does anything else.
// With FAKE_PROXY_UID it becomes that user first.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <latch>
#include <sstream>
#include <thread>
#include <vector>

#include "agent/base/check.h"
#include "tests/bpf/network_lab.h"

namespace phantomd {
namespace {

Family FamilyOf(const std::string& name) {
  for (Family family : kFamilies) {
    if (name == NameOf(family)) return family;
  }
  PHANTOMD_CHECK(false);
}

std::vector<Fd> kept;

// A socket of the namespace at `path`, made on a thread of its own.
Fd SocketIn(const std::string& path, Family family) {
  Fd out;
  std::thread([&] {
    const Fd netns(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    PHANTOMD_CHECK(setns(netns.get(), CLONE_NEWNET) == 0);
    out = TcpSocket(family, true);
  }).join();
  return out;
}

std::string ConnectOnce(std::istringstream& arguments, const std::string& netns = "") {
  std::string family_name, ip;
  uint16_t port = 0;
  arguments >> family_name >> ip >> port;
  const Family family = FamilyOf(family_name);
  Fd fd = netns.empty() ? TcpSocket(family, true) : SocketIn(netns, family);
  const int error = Connect(fd, family, *IpAddr::Parse(ip), port);
  const uint16_t source = LocalPort(fd);
  kept.push_back(std::move(fd));
  return std::to_string(source) + " " + std::to_string(error);
}

std::string OnWorker(std::istringstream& arguments, const std::string& netns = "") {
  std::string out;
  std::thread([&] { out = ConnectOnce(arguments, netns); }).join();
  return out;
}

[[noreturn]] void Poll(std::istringstream& arguments) {
  std::string family_name, ip;
  uint16_t port = 0;
  arguments >> family_name >> ip >> port;
  const Family family = FamilyOf(family_name);
  const Fd fd = TcpSocket(family, false);
  const int error = Connect(fd, family, *IpAddr::Parse(ip), port);
  PHANTOMD_CHECK(error == 0 || error == EINPROGRESS);
  const Fd epoll(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  PHANTOMD_CHECK(epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd.get(), &event) == 0);
  std::cout << LocalPort(fd) << std::endl;
  for (;;) epoll_wait(epoll.get(), &event, 1, -1);
}

[[noreturn]] void Abandon(std::istringstream& arguments) {
  std::thread([&] {
    std::string family_name, ip;
    uint16_t port = 0;
    arguments >> family_name >> ip >> port;
    const Fd fd = TcpSocket(FamilyOf(family_name), false);
    PHANTOMD_CHECK(Connect(fd, FamilyOf(family_name), *IpAddr::Parse(ip), port) == EINPROGRESS);
    kill(getpid(), SIGKILL);
  }).join();
  PHANTOMD_CHECK(false);
}

void AcceptForever(int listener) {
  std::vector<Fd> accepted;
  for (int fd = 0; (fd = accept(listener, nullptr, nullptr)) >= 0;) accepted.emplace_back(fd);
  for (;;) pause();  // what it accepted stays open
}

void BeginWorkers() {
  for (const char* name : {"dog:main_thread", "wrk:worker_0", "wrk:worker_1"}) {
    std::latch named(1);
    std::thread([&named, name] {
      prctl(PR_SET_NAME, name);
      named.count_down();
      for (;;) pause();
    }).detach();
    named.wait();
  }
}

// Answers the child's process ID when it has ended.
std::string Spawn(const std::string& path, const std::string& first) {
  const pid_t child = fork();
  PHANTOMD_CHECK(child >= 0);
  if (child == 0) {
    setenv("FAKE_PROXY_FIRST", first.c_str(), 1);
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0 && dup2(nothing, 0) == 0) execl(path.c_str(), path.c_str(), nullptr);
    _exit(127);
  }
  PHANTOMD_CHECK(waitpid(child, nullptr, 0) == child);
  return std::to_string(child);
}

std::string ListenOn(Fd listener) {
  std::thread(AcceptForever, listener.get()).detach();
  const std::string port = std::to_string(LocalPort(listener));
  kept.push_back(std::move(listener));
  return port;
}

int Run(char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (const char* uid = std::getenv("FAKE_PROXY_UID")) PHANTOMD_CHECK(setuid(std::atoi(uid)) == 0);
  if (const char* first = std::getenv("FAKE_PROXY_FIRST")) {
    std::istringstream arguments(first);
    OnWorker(arguments);
  }
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, where;
    words >> command >> where;
    uint16_t port = 0;
    if (command == "connect") {
      std::cout << (where == "main" ? ConnectOnce(words) : OnWorker(words)) << std::endl;
    } else if (command == "connect-in") {
      std::cout << OnWorker(words, where) << std::endl;
    } else if (command == "listen") {
      words >> port;
      std::cout << ListenOn(Listen(FamilyOf(where), port)) << std::endl;
    } else if (command == "listen-in") {
      std::string family;
      words >> family >> port;
      std::cout << ListenOn(Listen(SocketIn(where, FamilyOf(family)), FamilyOf(family), port))
                << std::endl;
    } else if (command == "poll") {
      std::istringstream rest(line.substr(command.size()));
      Poll(rest);
    } else if (command == "abandon") {
      std::istringstream rest(line.substr(command.size()));
      Abandon(rest);
    } else if (command == "workers") {
      BeginWorkers();
      std::cout << "working" << std::endl;
    } else if (command == "spawn") {
      std::string first;
      std::getline(words >> std::ws, first);
      std::cout << Spawn(where, first) << std::endl;
    } else if (command == "forget") {
      for (const Fd& fd : kept) shutdown(fd.get(), SHUT_RDWR);  // ends a pending accept
      kept.clear();
      std::cout << "forgot" << std::endl;
    } else {
      PHANTOMD_CHECK(command == "exec");
      execv(where.c_str(), argv);
      PHANTOMD_CHECK(false);
    }
  }
  _exit(0);  // the accepting threads have no end
}

}  // namespace
}  // namespace phantomd

int main(int, char** argv) { return phantomd::Run(argv); }
