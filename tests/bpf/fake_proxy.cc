// Stands in for a proxy under whatever name it is started: does what it is told on standard input,
// one command a line, and answers each with a line on standard output.
//
//   connect main|worker FAMILY IP PORT   connects from that thread; answers "SOURCE_PORT ERRNO"
//   listen FAMILY PORT                   listens and accepts; answers the port
//
// With FAKE_PROXY_FIRST="FAMILY IP PORT" it connects from a worker before it does anything else.
// With FAKE_PROXY_UID it becomes that user first.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
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

std::string ConnectOnce(std::istringstream& arguments) {
  std::string family_name, ip;
  uint16_t port = 0;
  arguments >> family_name >> ip >> port;
  const Family family = FamilyOf(family_name);
  Fd fd = TcpSocket(family, true);
  const int error = Connect(fd, family, *IpAddr::Parse(ip), port);
  const uint16_t source = LocalPort(fd);
  kept.push_back(std::move(fd));
  return std::to_string(source) + " " + std::to_string(error);
}

std::string OnWorker(std::istringstream& arguments) {
  std::string out;
  std::thread([&] { out = ConnectOnce(arguments); }).join();
  return out;
}

void AcceptForever(int listener) {
  std::vector<Fd> accepted;
  for (;;) {
    const int fd = accept(listener, nullptr, nullptr);
    if (fd >= 0) accepted.emplace_back(fd);
  }
}

int Run() {
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
    if (command == "connect") {
      std::cout << (where == "main" ? ConnectOnce(words) : OnWorker(words)) << std::endl;
    } else {
      uint16_t port = 0;
      words >> port;
      Fd listener = Listen(FamilyOf(where), port);
      std::thread(AcceptForever, listener.get()).detach();
      std::cout << LocalPort(listener) << std::endl;
      kept.push_back(std::move(listener));
    }
  }
  _exit(0);  // the accepting threads have no end
}

}  // namespace
}  // namespace phantomd

int main() { return phantomd::Run(); }
