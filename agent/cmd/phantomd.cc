// phantomd watches the connections of one node until a signal ends it.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <variant>

#include "agent/base/strings.h"
#include "agent/cmd/daemon/agent.h"
#include "agent/cmd/daemon/flags.h"
#include "agent/probe/pin_directory.h"

namespace {

using phantomd::Agent;
using phantomd::Flags;

void LogToStandardError(const std::string& level) {
  auto log = spdlog::stderr_logger_mt("phantomd");
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  log->set_level(spdlog::level::from_str(level));
  log->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(log));
}

// Blocked in every thread, so that one thread can wait for them.
sigset_t BlockEndingSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);  // a recording may go down a pipe that nobody reads any more
  return set;
}

void WarnOfClearText(const Flags& flags) {
  if (!flags.tls_cert.empty()) return;
  for (const std::string& address : flags.listen) {
    if (!address.starts_with("unix:")) {
      spdlog::warn("{} is served in clear text to whoever can reach it (--tls_cert)", address);
    }
  }
}

int Uninstall(const Flags& flags) {
  const absl::Status status = phantomd::PinDirectory::Remove(flags.pin_dir);
  if (!status.ok()) {
    spdlog::error("--uninstall: {}", phantomd::FromAbsl(status.message()));
    return 1;
  }
  spdlog::info("nothing of phantomd is left in {}", flags.pin_dir);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  auto parsed = phantomd::ParseFlags(argc, argv);
  if (const auto* leave = std::get_if<phantomd::Leave>(&parsed)) {
    std::fputs(leave->text.c_str(), leave->code == 0 ? stdout : stderr);
    return leave->code;
  }
  const Flags flags = std::get<Flags>(std::move(parsed));
  LogToStandardError(flags.log_level);
  if (flags.uninstall) return Uninstall(flags);
  const sigset_t ending = BlockEndingSignals();

  auto agent = Agent::Start(flags);
  if (!agent.ok()) {
    spdlog::error("{}", phantomd::FromAbsl(agent.status().message()));
    return 1;
  }
  const std::string metrics = (*agent)->MetricsAddress();
  spdlog::info("phantomd {} watches node {}, answers at {}{}{}", PHANTOMD_VERSION, flags.node_name,
               fmt::join((*agent)->Addresses(), ", "),
               metrics.empty() ? "" : ", metrics at " + metrics,
               flags.record.empty() ? "" : ", records to " + flags.record);

  WarnOfClearText(flags);

  int number = 0;
  while (sigwait(&ending, &number) != 0) {
  }
  spdlog::info("stopping: {}", strsignal(number));
  // A second signal ends the process at once.
  pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);
  (*agent)->Stop();
  spdlog::info("stopped");
  return 0;
}
