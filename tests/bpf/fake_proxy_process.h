// A process that runs the stand-in for a proxy under a name of the test's choice, inside a network
// namespace. Ends with the object.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/bpf/network_lab.h"

namespace phantomd {

struct FakeProxyOptions {
  static constexpr uint32_t kProxyUid = 1337;
  std::string first;         // what it connects to before anything else: "FAMILY IP PORT"
  uint32_t uid = kProxyUid;  // what it becomes
  pid_t pid = 0;             // the process ID that it gets; 0: the kernel's choice
};

class FakeProxy {
 public:
  // The stand-in under another name; it lies beside the test's own executable.
  static std::string Installed(const std::string& name);

  FakeProxy(const std::string& executable, const NetworkNamespace& netns,
            const std::vector<std::string>& arguments, const FakeProxyOptions& options = {});
  ~FakeProxy();
  FakeProxy(const FakeProxy&) = delete;
  FakeProxy& operator=(const FakeProxy&) = delete;

  // What the stand-in answers to one command; fake_proxy.cc has them.
  std::string Do(const std::string& command);
  void Tell(const std::string& command);  // one that is not answered
  // The source port of a connect from "main" or from a "worker".
  uint16_t Connect(const char* thread, Family family, const IpAddr& ip, uint16_t port);
  // The same with a socket made inside `netns`, by a thread that returns before another connects.
  uint16_t ConnectIn(const NetworkNamespace& netns, Family family, const IpAddr& ip, uint16_t port);
  void ListenIn(const NetworkNamespace& netns, Family family, uint16_t port);
  void End();
  uint32_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  Fd to_;
  FILE* from_ = nullptr;
};

}  // namespace phantomd
