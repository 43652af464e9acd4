#include "agent/probe/proxy_watch.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "agent/base/strings.h"
#include "agent/probe/kernel_time.h"

namespace phantomd {

std::vector<process_record> ProxyWatch::TakeProcesses(BootTime now) {
  FollowedProcesses kernel = kernel_.processes();
  std::vector<process_record> records = kernel_.TakeProcesses();
  for (const process_record& record : records) {
    const auto start = FromKernel(record.process_start_ns);
    switch (record.kind) {
      case CONNECT_RECORD_EXEC:
        if (!discovery_.OnExec(record)) {
          kernel.Forget(record.process_id, start);  // the name deceived
        } else if (discovery_.processes().Find(record.process_id, start) != nullptr) {
          // The same process may have been forgotten just now, as the script that it was before.
          Follow(record.process_id, start, record.netns_cookie);
        }
        break;
      case CONNECT_RECORD_EXIT:
        unfollowed_.erase({record.process_id, start});
        discovery_.OnExit(record);
        break;
      case CONNECT_RECORD_ELSEWHERE:
        discovery_.OnElsewhere(record.process_id, start, record.netns_cookie, now);
        break;
      default:
        break;
    }
  }
  return records;
}

void ProxyWatch::Watch(BootTime now) {
  const auto keep = [now](Watched& watched, const auto& watch) {
    watched.needed = now;
    if (watched.by_us) return;
    const absl::Status status = watch();
    watched.by_us = status.ok();
    watched.failure = std::string(status.message());
  };
  const auto keep_namespace = [&](uint64_t netns, uint64_t cgroup) {
    if (netns != host_netns_cookie_) {
      keep(namespaces_[netns], [&] { return kernel_.Watch(netns); });
    } else if (cgroup != 0) {
      keep(cgroups_[cgroup], [&] { return kernel_.WatchCgroup(netns, cgroup); });
    }
  };
  for (const ProxyProcess* process : discovery_.processes().Living()) {
    keep_namespace(process->netns_cookie, process->cgroup_id);
    for (const auto& [netns, seen] : process->elsewhere) keep_namespace(netns, process->cgroup_id);
  }
}

void ProxyWatch::AfterScan(BootTime now) {
  Expect();
  FollowAll(now);
  Watch(now);
  DropProcesses(now);
  DropNamespaces(now);
}

void ProxyWatch::Expect() {
  for (const std::string& command : discovery_.TakeNewCommands()) unexpected_[command].clear();
  for (auto name = unexpected_.begin(); name != unexpected_.end();) {
    const absl::Status status = kernel_.ExpectProxy(name->first);
    name->second = FromAbsl(status.message());
    name = status.ok() ? unexpected_.erase(name) : std::next(name);
  }
}

void ProxyWatch::Follow(uint32_t process_id, BootTime start, uint64_t netns_cookie) {
  const absl::Status status = kernel_.processes().Follow(process_id, start, netns_cookie);
  if (status.ok()) {
    unfollowed_.erase({process_id, start});
  } else {
    unfollowed_.insert_or_assign(Identity{process_id, start}, FromAbsl(status.message()));
  }
}

// The kernel follows those that began under its eyes; the others are named to it, and the sockets
// that they have already are listed after that: one made in between is told twice, never missed.
void ProxyWatch::FollowAll(BootTime now) {
  unfollowed_.clear();
  unlisted_.clear();
  std::map<Identity, BootTime> listed;
  for (const ProxyProcess* process : discovery_.processes().Living()) {
    const Identity identity{process->process_id, process->start};
    Follow(process->process_id, process->start, process->netns_cookie);
    const auto last = listed_.find(identity);
    const bool roams = process->kind == ProxyProcess::Kind::kZtunnel || !process->elsewhere.empty();
    const bool due = last == listed_.end() || (roams && now - last->second >= kListInterval);
    if (due && ListSockets(*process, now)) {
      listed.emplace(identity, now);
    } else if (last != listed_.end()) {
      listed.insert(*last);
    }
  }
  listed_ = std::move(listed);
}

bool ProxyWatch::ListSockets(const ProxyProcess& process, BootTime now) {
  const auto sockets = sockets_.SocketsOf(process.process_id);
  if (!sockets.ok()) {
    unlisted_ = FromAbsl(sockets.status().message());
    // Better a namespace watched for nothing than one forgotten in use.
    const std::map<uint64_t, BootTime> elsewhere = process.elsewhere;
    for (const auto& [netns, found] : elsewhere) {
      discovery_.OnElsewhere(process.process_id, process.start, netns, now);
    }
    return false;
  }
  for (const socket_place& socket : *sockets) {
    discovery_.OnElsewhere(process.process_id, process.start, socket.netns_cookie, now);
  }
  return true;
}

// An entry of the kernel's is wanted while its process lives as a proxy, and for a while after its
// end. One that discovery does not know may be news on its way; at the next scan it is no more.
void ProxyWatch::DropProcesses(BootTime now) {
  std::set<Identity> strangers;
  for (const FollowedProcess& followed : kernel_.processes().All()) {
    const Identity identity{followed.process_id, followed.start()};
    bool over = false;
    if (followed.ended()) {
      over = now - FromKernel(followed.entry.ended_ns) > kKeep;
    } else if (discovery_.processes().Find(followed.process_id, followed.start()) == nullptr) {
      over = strangers_.contains(identity);
      if (!over) strangers.insert(identity);
    }
    if (over) kernel_.processes().Forget(followed.process_id, followed.start());
  }
  strangers_ = std::move(strangers);
}

void ProxyWatch::DropNamespaces(BootTime now) {
  for (const uint64_t netns : kernel_.Watched()) {
    if (netns != host_netns_cookie_) namespaces_.try_emplace(netns, Watched{.needed = now});
  }
  const auto over = [&](const Watched& watched) { return now - watched.needed > kKeep; };
  std::erase_if(namespaces_, [&](const auto& netns) {
    return over(netns.second) && kernel_.Unwatch(netns.first).ok();
  });
  std::erase_if(cgroups_, [&](const auto& cgroup) {
    return over(cgroup.second) && kernel_.UnwatchCgroup(host_netns_cookie_, cgroup.first).ok();
  });
}

std::vector<std::string> ProxyWatch::Limitations() const {
  std::vector<std::string> out;
  size_t unwatched = 0;
  std::string first_failure;
  for (const auto* watches : {&namespaces_, &cgroups_}) {
    for (const auto& [id, watched] : *watches) {
      if (!watched.failure.empty() && ++unwatched == 1) first_failure = watched.failure;
    }
  }
  if (unwatched > 0) {
    out.push_back(
        fmt::format("{} network namespaces or cgroups of proxies are not watched, the first: {}",
                    unwatched, first_failure));
  }
  if (!unfollowed_.empty()) {
    const auto& [first, reason] = *unfollowed_.begin();
    out.push_back(fmt::format(
        "{} processes of proxies are not followed by the kernel, the first is {}: {}; their ends "
        "are noticed by scanning /proc only, their sockets in other namespaces are not seen, and "
        "what is lost of their attempts is not told by proxy",
        unfollowed_.size(), first.first, reason));
  }
  if (!unexpected_.empty()) {
    const auto& [first, reason] = *unexpected_.begin();
    out.push_back(fmt::format(
        "{} names of proxies' processes are unknown to the kernel, the first is {}: {}; new "
        "proxies of these names are found by scanning /proc only, and their first connects are "
        "missed",
        unexpected_.size(), first, reason));
  }
  if (!unlisted_.empty()) {
    out.push_back(fmt::format(
        "namespaces in which a proxy had sockets before the agent began are not watched before it "
        "makes another there: {}",
        unlisted_));
  }
  return out;
}

}  // namespace phantomd
