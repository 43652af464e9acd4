// ExecPlugin runs the program of a kubeconfig that gets a credential, without waiting for it.
//
// Its standard output is the answer. What it prints on standard error is thrown away, as it may
// hold a secret; its exit code is told. It runs in a process group of its own, which is killed when
// it takes longer than kTimeout and when the object goes. For one thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "agent/base/boot_time.h"
#include "agent/kube/kubeconfig.h"

namespace phantomd {

class ExecPlugin {
 public:
  static constexpr Nanos kTimeout = std::chrono::seconds(60);
  static constexpr size_t kMaxOutput = 1 << 20;

  explicit ExecPlugin(KubeconfigExec exec) : exec_(std::move(exec)) {}
  ~ExecPlugin() { Kill(); }
  ExecPlugin(const ExecPlugin&) = delete;
  ExecPlugin& operator=(const ExecPlugin&) = delete;

  bool running() const { return pid_ > 0; }
  // Not while it runs. `info`: for KUBERNETES_EXEC_INFO.
  absl::Status Start(const std::string& info, BootTime now);
  // Only while it runs: what it printed once it has ended well, or a sentence; nothing before.
  std::optional<absl::StatusOr<std::string>> Poll(BootTime now);

 private:
  absl::Status Failed(std::string_view why) const;
  // Takes what there is to read. True: no more will come.
  bool ReadOutput();
  void Kill();
  void CloseOutput();

  const KubeconfigExec exec_;
  pid_t pid_ = 0;  // 0: does not run
  int output_ = -1;
  std::string printed_;
  BootTime started_;
};

}  // namespace phantomd
