#include "tests/bpf/storm_load.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <thread>
#include <utility>

#include "agent/base/check.h"

namespace phantomd {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kWorkers = 2;
constexpr std::chrono::milliseconds kStep{10};  // how finely the pace is kept
constexpr int kUserTimeoutMs = 400;
constexpr int kLinesOfDifference = 10;  // of all namespaces' outcomes

int PendingError(const Fd& fd) {
  int error = 0;
  socklen_t size = sizeof(error);
  PHANTOMD_CHECK(getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0);
  return error;
}

// One thread's share: every kWorkers-th client, beginning with `first`.
class Worker {
 public:
  Worker(const StormNet& net, int first, const StormPace& pace)
      : net_(net), first_(first), pace_(pace), counts_(net.clients.size()) {
    net_.server.Run([&] {
      listener_v4_ = Listen(Family::kV4);
      listener_v6_ = Listen(Family::kV6);
    });
  }

  void Run() {
    const auto begun = SteadyClock::now();
    uint64_t done = 0;
    for (auto next = begun; done < pace_.connects; next += kStep) {
      std::this_thread::sleep_until(next);
      const std::chrono::duration<double> elapsed = next + kStep - begun;
      const uint64_t due = std::min<uint64_t>(pace_.connects, elapsed.count() * pace_.per_second);
      for (; done < due; ++done) One(done);
      while (!waiting_.empty() && ReapOldest(0)) continue;
    }
    seconds_ = std::chrono::duration<double>(SteadyClock::now() - begun).count();
    while (!waiting_.empty()) PHANTOMD_CHECK(ReapOldest(60'000));
  }

  const StormCounts& counts() const { return counts_; }
  double seconds() const { return seconds_; }

 private:
  struct Waiting {
    size_t client;
    Fd fd;
  };

  // Eight connects in turn from each client.
  void One(uint64_t number) {
    const size_t clients = (net_.clients.size() - first_ + kWorkers - 1) / kWorkers;
    const size_t client = first_ + number / 8 % clients * kWorkers;
    if (number % 8 == 0) {
      PHANTOMD_CHECK(setns(net_.clients[client].fd(), CLONE_NEWNET) == 0);
    }
    // Now IPv4, now IPv6, now mapped.
    const Family family = kFamilies[number / 8 % std::size(kFamilies)];
    switch (number % 8) {
      case 0:
      case 1:
      case 2:
        return Established(client, family);
      case 3:
      case 4:
        return Refused(client, family);
      case 5:
        return Abandoned(client, family);
      case 6:
        return NoRoute(client);
      default:
        return number / 8 % 20 == 0 ? TimesOut(client, family) : Unreachable(client);
    }
  }

  void Established(size_t client, Family family) {
    const Fd& listener = family == Family::kV6 ? listener_v6_ : listener_v4_;
    Fd fd = TcpSocket(family, true);
    PHANTOMD_CHECK(Connect(fd, family, StormNet::Server(client, family), LocalPort(listener)) == 0);
    counts_.Add(client, Outcome::kEstablished);
    Fd accepted(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    PHANTOMD_CHECK(accepted.get() >= 0);
    CloseByReset(fd);
    CloseByReset(accepted);
  }

  void Refused(size_t client, Family family) {
    const Fd fd = TcpSocket(family, true);
    PHANTOMD_CHECK(Connect(fd, family, StormNet::Server(client, family), 9) == ECONNREFUSED);
    counts_.Add(client, Outcome::kRefused);
  }

  void Abandoned(size_t client, Family family) {
    const Fd fd = TcpSocket(family, false);
    PHANTOMD_CHECK(Connect(fd, family, StormNet::Silent(family), 80) == EINPROGRESS);
    counts_.Add(client, Outcome::kAbandoned);
  }

  void NoRoute(size_t client) {
    const Fd fd = TcpSocket(Family::kV4, true);
    PHANTOMD_CHECK(Connect(fd, Family::kV4, StormNet::NoRoute(), 80) == EINVAL);
    counts_.Add(client, Outcome::kNoRoute);
  }

  // The ICMP mostly comes inside connect(2), which then says nothing of it.
  void Unreachable(size_t client) {
    const Fd fd = TcpSocket(Family::kV4, false);
    PHANTOMD_CHECK(Connect(fd, Family::kV4, StormNet::Unreachable(), 80) == EINPROGRESS);
    int error = 0;
    PHANTOMD_CHECK(WaitFor([&] { return (error = PendingError(fd)) != 0; }));
    PHANTOMD_CHECK(error == EHOSTUNREACH);
    counts_.Add(client, Outcome::kUnreachable);
  }

  void TimesOut(size_t client, Family family) {
    Fd fd = TcpSocket(family, false);
    SetOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs);
    PHANTOMD_CHECK(Connect(fd, family, StormNet::Silent(family), 80) == EINPROGRESS);
    waiting_.push_back({client, std::move(fd)});
  }

  bool ReapOldest(int wait_ms) {
    pollfd event{waiting_.front().fd.get(), POLLOUT, 0};
    if (poll(&event, 1, wait_ms) != 1) return false;
    PHANTOMD_CHECK(PendingError(waiting_.front().fd) == ETIMEDOUT);
    counts_.Add(waiting_.front().client, Outcome::kTimedOut);
    waiting_.pop_front();
    return true;
  }

  const StormNet& net_;
  const size_t first_;
  const StormPace pace_;
  Fd listener_v4_;
  Fd listener_v6_;
  std::deque<Waiting> waiting_;
  StormCounts counts_;
  double seconds_ = 0;
};

}  // namespace

void StormCounts::Add(const StormCounts& other) {
  for (size_t client = 0; client < counts_.size(); ++client) {
    for (int i = 0; i < kOutcomes; ++i) counts_[client][i] += other.counts_.at(client)[i];
  }
}

void StormCounts::Take(const StormCounts& other, Outcome outcome) {
  const int i = static_cast<int>(outcome);
  for (size_t client = 0; client < counts_.size(); ++client) {
    counts_[client][i] = other.counts_.at(client)[i];
  }
}

uint64_t StormCounts::Of(Outcome outcome) const {
  uint64_t out = 0;
  for (const auto& client : counts_) out += client.at(static_cast<int>(outcome));
  return out;
}

uint64_t StormCounts::Total() const {
  uint64_t out = 0;
  for (int i = 0; i < kOutcomes; ++i) out += Of(static_cast<Outcome>(i));
  return out;
}

std::string StormCounts::DifferencesFrom(const StormCounts& truth) const {
  std::string out;
  int lines = 0;
  for (size_t client = 0; client < counts_.size(); ++client) {
    for (int i = 0; i < kOutcomes; ++i) {
      if (counts_[client][i] == truth.counts_.at(client)[i]) continue;
      if (++lines > kLinesOfDifference) return out + "...";
      out += fmt::format("namespace {} {}: {} recorded, {} done\n", client,
                         OutcomeName(static_cast<Outcome>(i)), counts_[client][i],
                         truth.counts_[client][i]);
    }
  }
  return out;
}

Storm RunStorm(const StormNet& net, const StormPace& pace) {
  std::vector<Worker> workers;
  workers.reserve(kWorkers);
  for (int i = 0; i < kWorkers; ++i) {
    StormPace share = pace;
    share.connects /= kWorkers;
    share.per_second /= kWorkers;
    if (i == 0) share.connects += pace.connects % kWorkers;  // what cannot be shared evenly
    workers.emplace_back(net, i, share);
  }
  std::vector<std::thread> threads;
  for (Worker& worker : workers) threads.emplace_back([&] { worker.Run(); });
  Storm out{StormCounts(net.clients.size())};
  for (int i = 0; i < kWorkers; ++i) {
    threads[i].join();
    out.done.Add(workers[i].counts());
    out.seconds = std::max(out.seconds, workers[i].seconds());
  }
  return out;
}

const char* OutcomeName(Outcome outcome) {
  constexpr const char* kNames[kOutcomes] = {"UNSPECIFIED", "ESTABLISHED", "REFUSED",
                                             "TIMED_OUT",   "ABANDONED",   "UNREACHABLE",
                                             "NO_ROUTE",    "LOCAL_ERROR", "OTHER_ERROR"};
  return kNames[static_cast<int>(outcome)];
}

}  // namespace phantomd
