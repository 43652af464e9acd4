// Pods as a kubelet makes them, without a kubelet: cgroups with a pod's UID in their path, a
// network namespace with a link and an address, and processes in both.
//
// The cgroups lie in a cgroup v2 hierarchy that is mounted nowhere, below a folder of this
// process's name; they are removed with the object, and when the test is killed, by the next one.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/base/ids.h"
#include "agent/base/ip_addr.h"
#include "tests/bpf/fake_proxy_process.h"
#include "tests/bpf/network_lab.h"

namespace phantomd {

class PodCgroups {
 public:
  PodCgroups();
  ~PodCgroups();
  PodCgroups(const PodCgroups&) = delete;
  PodCgroups& operator=(const PodCgroups&) = delete;

  // Moves a process to that cgroup, "pod<uid>/<member>", which is made when it is not there.
  void Move(pid_t pid, const std::string& cgroup);

 private:
  Fd root_;
  const std::string name_;
};

// One pod. Its processes end with it.
struct TestPod {
  PodUid uid;
  IpAddr ip;
  std::unique_ptr<NetworkNamespace> netns;
  std::unique_ptr<FakeProxy> sandbox;
  std::unique_ptr<FakeProxy> application;
};

// A node with pods, whose UIDs no other process uses.
class PodNode {
 public:
  enum class Form {
    kSandbox,  // pause in one cgroup, the application in another
    kPlain,    // the application alone, in a cgroup of its own
    kBare,     // the application in the pod's own cgroup
  };

  TestPod Begin(Form form = Form::kSandbox);
  // Another container of the pod.
  std::unique_ptr<FakeProxy> Start(const TestPod& pod, const std::string& member,
                                   const std::string& executable = "application");
  bool IsOurs(const PodUid& uid) const;
  PodCgroups& cgroups() { return cgroups_; }

 private:
  PodCgroups cgroups_;
  NetworkNamespace host_;  // where the other ends of the links are
  int pods_ = 0;
};

}  // namespace phantomd
