#include "agent/probe/probe.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/base/strings.h"
#include "agent/probe/outcome.h"
#include "agent/probe/probe_hooks.h"

namespace phantomd {
namespace {

constexpr size_t kBatch = 8192;

// The kernel takes a system call for each program to say how often it was skipped.
constexpr Nanos kSkipsInterval = std::chrono::seconds(1);

// The kernel gives the initial pid namespace this inode number everywhere.
constexpr ino_t kInitialPidNamespace = 0xEFFFFFFC;

}  // namespace

absl::StatusOr<std::unique_ptr<Probe>> Probe::Start(ProbeOptions options, BootTime now) {
  // Before anything is read that an ordinary user may not read: the reason is then the plain one.
  if (absl::Status status = KernelProbe::CheckSystem(options.kernel); !status.ok()) return status;
  std::vector<std::string> limitations;
  if (options.kernel.host_netns_cookie == 0) {
    SystemNamespaceReader namespaces;
    absl::StatusOr<uint64_t> cookie = namespaces.CookieOf("/proc/1/ns/net");
    if (!cookie.ok()) {
      limitations.push_back(fmt::format(
          "the host's network namespace cannot be read ({}): the agent's own is taken for it",
          FromAbsl(cookie.status().message())));
      cookie = namespaces.CookieOf("/proc/self/ns/net");
    }
    if (!cookie.ok()) return cookie.status();
    options.kernel.host_netns_cookie = *cookie;
  }
  options.initiator.host_netns_cookie = options.kernel.host_netns_cookie;
  struct stat pid_namespace {};
  if (stat("/proc/self/ns/pid", &pid_namespace) != 0 ||
      pid_namespace.st_ino != kInitialPidNamespace) {
    limitations.push_back(
        "the agent runs in a pid namespace of its own (hostPID is needed): processes of other "
        "namespaces are not recognised");
  }
  absl::StatusOr<std::unique_ptr<KernelProbe>> kernel = KernelProbe::Load(options.kernel);
  if (!kernel.ok()) return kernel.status();
  std::unique_ptr<Probe> probe(new Probe(options, *std::move(kernel), now));
  probe->limitations_ = std::move(limitations);
  probe->WatchPods(now);
  return probe;
}

Probe::Probe(const ProbeOptions& options, std::unique_ptr<KernelProbe> kernel, BootTime now)
    : options_(options),
      kernel_(std::move(kernel)),
      proc_(options.discovery.proc_root),
      discovery_(options.discovery, namespaces_),
      watch_(*kernel_, *kernel_, discovery_, options.kernel.host_netns_cookie),
      resolver_(discovery_.processes(), options.initiator),
      ends_(resolver_, options.initiator.accept_wait),
      adoption_(*kernel_, proc_, discovery_.processes(), resolver_, ends_,
                options.kernel.host_netns_cookie),
      account_(discovery_.processes(), kernel_->SettledBefore(), kernel_->processes().All(),
               kernel_->SettledBeforeAt().is_set() ? kernel_->SettledBeforeAt() : now),
      check_(kernel_->continues()),
      started_(now) {}

void Probe::Consume(BootTime now, const std::function<void(ProbeOutput)>& sink) {
  std::vector<DiscoveredProxy> gone;
  const bool first = !last_scan_.is_set();
  const bool scan = !last_scan_.is_set() || now - last_scan_ >= options_.scan_interval;
  if (scan) {
    last_scan_ = now;
    discovery_.Scan(now);
    watch_.AfterScan(now);
    adoption_.AfterScan();
    check_.AfterScan(kernel_->processes().All());
  }
  for (bool more = true; more;) {
    // Connects are taken before processes: a proxy's exec is recorded before its first connect, so
    // that every connect in hand finds its proxy known.
    const std::vector<ConnectRecord> records = kernel_->TakeConnects(kBatch);
    more = records.size() == kBatch;
    for (const process_record& record : watch_.TakeProcesses(now)) account_.Read(record.kind);
    for (DiscoveredProxy& change : discovery_.TakeChanges()) {
      // A proxy that ended and began again within one round is only a changed one.
      std::erase_if(gone, [&](const DiscoveredProxy& g) { return g.proxy.id == change.proxy.id; });
      if (change.gone) {
        gone.push_back(std::move(change));
      } else {
        sink(std::move(change));
      }
    }
    watch_.Watch(now);
    adoption_.Adopt(now);
    Resolve(records, now, /*expire=*/!more, sink);
  }
  if (first) TellOutage(now, sink);
  TakeLosses(now, /*last=*/false, sink);
  TakePods(now, sink);
  for (DiscoveredProxy& proxy : gone) sink(std::move(proxy));
  kernel_->ReleaseTaken();
}

void Probe::Finish(BootTime now, const std::function<void(ProbeOutput)>& sink) {
  Consume(now, sink);
  Resolve({}, BootTime::Max(), /*expire=*/true, sink);
  TakeLosses(now, /*last=*/true, sink);  // what the last round has left for the next
}

void Probe::Resolve(const std::vector<ConnectRecord>& records, BootTime now, bool expire,
                    const std::function<void(ProbeOutput)>& sink) {
  std::vector<Attempt> attempts;
  for (const ConnectRecord& record : records) {
    account_.Read(std::visit([](const auto& r) { return r.kind; }, record));
    if (const auto* connect = std::get_if<connect_record>(&record)) {
      check_.Read(*connect);
      const Opener* adopted = connect->flags & CONNECT_FLAG_ADOPTED
                                  ? ends_.Remembered(connect->socket_cookie)
                                  : nullptr;
      if (adopted == nullptr) {
        resolver_.OnConnect(*connect, attempts);
        continue;
      }
      attempts.push_back(ToAttempt(*connect));
      attempts.back().initiator = adopted->initiator;
      attempts.back().proxy_id = adopted->proxy_id;
    } else if (const auto* accept = std::get_if<accept_record>(&record)) {
      resolver_.OnAccept(*accept, attempts);
    }
  }
  if (expire) resolver_.Expire(now, attempts);
  for (Attempt& attempt : attempts) {
    ends_.Decided(attempt);
    sink(std::move(attempt));
  }
  std::vector<ConnectionEnd> ends;
  for (const ConnectRecord& record : records) {
    if (const auto* end = std::get_if<end_record>(&record)) ends_.OnEnd(*end, ends);
  }
  if (expire) ends_.Expire(now, ends);
  for (ConnectionEnd& end : ends) sink(std::move(end));
}

void Probe::TellOutage(BootTime now, const std::function<void(ProbeOutput)>& sink) {
  const std::optional<ProbeOptions::Predecessor>& before = options_.predecessor;
  // Pinned records are all there, but for those that were read and forgotten.
  if (kernel_->continues() && (!before.has_value() || before->ended)) return;
  BootTime oldest = started_;
  for (const ProxyProcess* process : discovery_.processes().Living()) {
    oldest = std::min(oldest, process->start);
  }
  if (before.has_value()) {
    const BootTime told = before->until - kToldLate;
    oldest = before->had_proxies ? told : std::max(oldest, told);
  }
  if (oldest >= started_) return;  // no proxy lived then
  sink(Loss{.what = "attempt", .from = oldest, .to = now, .count_unknown = true});
  // Without a predecessor nobody counts on the ends of what was opened before.
  if (!before.has_value()) return;
  sink(Loss{.what = "connection_end", .from = oldest, .to = now, .count_unknown = true});
}

void Probe::TakeLosses(BootTime now, bool last, const std::function<void(ProbeOutput)>& sink) {
  KernelTotals counted = kernel_->ReadTotals();
  std::vector<FollowedProcess> followed;
  if (account_.LostAttemptsSince(counted)) {
    followed = kernel_->processes().All();
    counted = kernel_->ReadTotals();
  }
  // Pinned rings are read on by the next agent.
  const bool nobody_reads_on = last && options_.kernel.pin_dir.empty();
  for (Loss& loss : account_.Settle(counted, followed, now, nobody_reads_on)) sink(std::move(loss));
  if (last || !skips_asked_.is_set() || now - skips_asked_ >= kSkipsInterval) {
    skips_asked_ = now;
    for (Loss& loss : account_.SettleSkipped(kernel_->ReadSkippedRuns(), now, last)) {
      sink(std::move(loss));
    }
  }
  for (Loss& loss : ends_.TakeLosses()) sink(std::move(loss));
  kernel_->Settled(counted, account_.told_skips(), now);
}

void Probe::WatchPods(BootTime now) {
  if (kernel_->pods() == nullptr) return;  // which was said
  auto watch = NamespaceWatch::Start();
  if (!watch.ok()) {
    limitations_.push_back(fmt::format("the network namespaces of pods cannot be watched ({}): {}",
                                       FromAbsl(watch.status().message()), kWithoutPodEnds));
    return;
  }
  struct stat host {};
  if (stat("/proc/1/ns/net", &host) != 0) stat("/proc/self/ns/net", &host);
  pods_ = std::make_unique<LocalPods>(*kernel_->pods(), *std::move(watch), proc_, namespaces_,
                                      host.st_ino, now);
}

void Probe::TakePods(BootTime now, const std::function<void(ProbeOutput)>& sink) {
  if (pods_ == nullptr) return;
  pods_->Consume(now);
  for (Loss& loss : pods_->TakeLosses(now)) sink(std::move(loss));
  for (PodEnd& end : pods_->TakeEnds(now)) sink(std::move(end));
}

std::vector<std::string> Probe::Limitations() const {
  std::vector<std::string> out = limitations_;
  out.insert(out.end(), kernel_->limitations().begin(), kernel_->limitations().end());
  const std::vector<std::string> of_watch = watch_.Limitations();
  out.insert(out.end(), of_watch.begin(), of_watch.end());
  const std::vector<std::string> of_adoption = adoption_.Limitations();
  out.insert(out.end(), of_adoption.begin(), of_adoption.end());
  const std::vector<std::string> of_account = account_.Limitations();
  out.insert(out.end(), of_account.begin(), of_account.end());
  const std::vector<std::string> of_check = check_.Limitations();
  out.insert(out.end(), of_check.begin(), of_check.end());
  out.insert(out.end(), discovery_.limitations().begin(), discovery_.limitations().end());
  if (pods_ != nullptr) {
    const std::vector<std::string> of_pods = pods_->Limitations();
    out.insert(out.end(), of_pods.begin(), of_pods.end());
  }
  return out;
}

}  // namespace phantomd
