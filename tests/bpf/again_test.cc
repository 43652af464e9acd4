// What the kernel ran no program for. The programs that stand in for others: alone, each sees what
// its first one would have seen; after it, it adds nothing. And what none has seen is counted.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "agent/base/check.h"
#include "agent/probe/outcome.h"
#include "agent/probe/probe_hooks.h"
#include "agent/probe/ring_reader.h"
#include "bpf/connect.skel.h"
#include "tests/bpf/network_lab.h"

namespace phantomd {
namespace {

class AgainTest : public testing::Test {
 protected:
  AgainTest() : bpf_(Load()) {
    auto ring =
        RingReader::Open(bpf_map__fd(bpf_->maps.records), bpf_map__max_entries(bpf_->maps.records));
    PHANTOMD_CHECK(ring.ok());
    ring_ = *std::move(ring);
    Watch(lab_.client, true);
    lab_.server.Run([&] { listener_ = Listen(Family::kV4); });
  }

  // Attaches what begins with `first`, or the programs that come again, or both in their order; and
  // the one that counts what they did not see.
  void Attach(bool first, bool again, bool counts = false) {
    for (bpf_link* link : links_) bpf_link__destroy(link);
    links_.clear();
    const auto attach = [&](bool wanted, bpf_program* program) {
      if (!wanted) return;
      links_.push_back(bpf_program__attach(program));
      ASSERT_NE(links_.back(), nullptr);
    };
    attach(first, bpf_->progs.on_set_state);
    attach(again, bpf_->progs.on_set_state_again);
    attach(first, bpf_->progs.on_error_report);
    attach(again, bpf_->progs.on_error_report_again);
    attach(first, bpf_->progs.on_receive_reset);
    attach(again, bpf_->progs.on_receive_reset_again);
    attach(counts, bpf_->progs.on_destroy);
  }
  void TearDown() override { Attach(false, false); }

  void Watch(const NetworkNamespace& netns, bool watched) {
    const uint64_t cookie = netns.cookie();
    const watch_entry entry{};
    const int map = bpf_map__fd(bpf_->maps.watched);
    ASSERT_EQ(watched ? bpf_map_update_elem(map, &cookie, &entry, BPF_ANY)
                      : bpf_map_delete_elem(map, &cookie),
              0);
  }

  // A connect whose SYN has no answer yet.
  Fd Begin() {
    Fd fd;
    lab_.client.Run([&] {
      fd = TcpSocket(Family::kV4, false);
      ASSERT_EQ(Connect(fd, Family::kV4, lab_.Silent(Family::kV4), LocalPort(listener_)),
                EINPROGRESS);
    });
    return fd;
  }
  // From now on who was silent answers, from the next retransmission on.
  void Answer() {
    lab_.server.Shell("nft flush chain inet lab in; ip addr add " +
                      lab_.Silent(Family::kV4).ToString() + "/32 dev lo");
  }

  struct Seen {
    std::vector<Outcome> attempts;
    int accepts = 0;
    int ends = 0;
  };
  Seen Take() {
    ring_->Take(1000, [&](const void* data, size_t) {
      switch (*static_cast<const __u8*>(data)) {
        case CONNECT_RECORD_ATTEMPT: {
          connect_record record;
          std::memcpy(&record, data, sizeof(record));
          seen_.attempts.push_back(ClassifyConnect(record).outcome);
          break;
        }
        case CONNECT_RECORD_ACCEPT:
          ++seen_.accepts;
          break;
        case CONNECT_RECORD_END:
          ++seen_.ends;
          break;
        default:
          ADD_FAILURE() << "a record of another kind";
      }
    });
    ring_->Release();
    return seen_;
  }
  uint64_t Unseen(connect_record_kind kind) const {
    uint64_t out = 0;
    for (int cpu = 0; cpu < libbpf_num_possible_cpus(); ++cpu) {
      const __u32 index = cpu * CONNECT_COUNTER_KINDS + kind;
      connect_counters counters{};
      PHANTOMD_CHECK(bpf_map_lookup_elem(bpf_map__fd(bpf_->maps.counters), &index, &counters) == 0);
      out += counters.unseen;
    }
    return out;
  }
  // Who is refused without any program that sees it.
  Fd BeginAndRefuseUnseen() {
    Attach(true, true);
    Fd fd = Begin();
    Attach(false, false);
    lab_.server.Run([&] { listener_.Close(); });
    Answer();
    AwaitOutcome(fd);
    return fd;
  }
  static void AwaitOutcome(const Fd& fd) {
    pollfd outcome{fd.get(), POLLOUT, 0};
    EXPECT_EQ(poll(&outcome, 1, 60'000), 1);
  }
  // Those that are no more than a memory of one (TIME_WAIT, or FIN_WAIT2 without an owner) are
  // none.
  int SocketsOfClient() const {
    int out = 0;
    lab_.client.Run([&] {
      std::ifstream table("/proc/thread-self/net/tcp");
      std::string line;
      std::getline(table, line);  // the titles
      while (std::getline(table, line)) {
        std::istringstream words(line);
        std::string number, local, remote, state;
        words >> number >> local >> remote >> state;
        out += state != "05" && state != "06";
      }
    });
    return out;
  }
  // An established connection; both its ends.
  std::pair<Fd, Fd> Establish() {
    std::pair<Fd, Fd> out;
    lab_.client.Run([&] {
      out.first = TcpSocket(Family::kV4, true);
      ASSERT_EQ(Connect(out.first, Family::kV4, lab_.Server(Family::kV4), LocalPort(listener_)), 0);
    });
    out.second = Fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    return out;
  }

  // Until an attempt's outcome is there, and then whatever else is.
  Seen TakeOutcome() {
    EXPECT_TRUE(WaitFor([&] { return !Take().attempts.empty(); }));
    return Take();
  }

  NetworkLab lab_;
  Fd listener_;

 private:
  struct Destroy {
    void operator()(connect_bpf* bpf) const { connect_bpf::destroy(bpf); }
  };
  static std::unique_ptr<connect_bpf, Destroy> Load() {
    KeepComplaints();
    std::unique_ptr<connect_bpf, Destroy> bpf(connect_bpf::open());
    PHANTOMD_CHECK(bpf != nullptr);
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, bpf->obj) bpf_program__set_autoload(program, false);
    for (bpf_program* wanted :
         {bpf->progs.on_set_state, bpf->progs.on_set_state_again, bpf->progs.on_error_report,
          bpf->progs.on_error_report_again, bpf->progs.on_receive_reset,
          bpf->progs.on_receive_reset_again, bpf->progs.on_destroy}) {
      bpf_program__set_autoload(wanted, true);
    }
    PHANTOMD_CHECK(bpf_map__set_max_entries(bpf->maps.counters, libbpf_num_possible_cpus() *
                                                                    CONNECT_COUNTER_KINDS) == 0);
    PHANTOMD_CHECK(connect_bpf::load(bpf.get()) == 0);
    return bpf;
  }

  const std::unique_ptr<connect_bpf, Destroy> bpf_;
  std::unique_ptr<RingReader> ring_;
  std::vector<bpf_link*> links_;
  Seen seen_;
};

TEST_F(AgainTest, AloneItSeesTheAnswerAndTheReset) {
  Attach(true, false);
  const Fd fd = Begin();
  Attach(false, true);
  lab_.server.Run([&] { listener_.Close(); });
  Answer();
  EXPECT_EQ(TakeOutcome().attempts, std::vector{Outcome::kRefused});
}

TEST_F(AgainTest, AloneItSeesTheHandshakeTheAcceptAndTheEnd) {
  Watch(lab_.server, true);
  Attach(true, false);
  Fd fd = Begin();
  Attach(false, true);
  Answer();
  EXPECT_EQ(TakeOutcome().attempts, std::vector{Outcome::kEstablished});
  EXPECT_TRUE(WaitFor([&] { return Take().accepts > 0; }));
  CloseByReset(fd);
  const Seen seen = Take();
  EXPECT_EQ(seen.attempts.size(), 1u);
  EXPECT_EQ(seen.accepts, 1);
  EXPECT_EQ(seen.ends, 1);
}

TEST_F(AgainTest, AfterTheFirstItAddsNothing) {
  Watch(lab_.server, true);
  Attach(true, true, true);
  for (int i = 0; i < 3; ++i) {
    lab_.client.Run([&] {
      Fd fd = TcpSocket(Family::kV4, true);
      ASSERT_EQ(Connect(fd, Family::kV4, lab_.Server(Family::kV4), LocalPort(listener_)), 0);
      const Fd accepted(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      CloseByReset(fd);
      EXPECT_EQ(Connect(TcpSocket(Family::kV4, true), Family::kV4, lab_.Server(Family::kV4), 9),
                ECONNREFUSED);
    });
  }
  const Seen seen = Take();
  EXPECT_EQ(seen.attempts.size(), 6u);
  EXPECT_EQ(seen.accepts, 3);
  EXPECT_EQ(seen.ends, 3);
  EXPECT_EQ(Unseen(CONNECT_RECORD_ATTEMPT), 0u);
  EXPECT_EQ(Unseen(CONNECT_RECORD_END), 0u);
}

TEST_F(AgainTest, AnOutcomeThatNobodySawIsCountedWhenTheSocketGoes) {
  Fd fd = BeginAndRefuseUnseen();
  Attach(false, false, true);
  EXPECT_EQ(Unseen(CONNECT_RECORD_ATTEMPT), 0u);
  fd.Close();
  EXPECT_EQ(Unseen(CONNECT_RECORD_ATTEMPT), 1u);
  EXPECT_TRUE(Take().attempts.empty());
}

TEST_F(AgainTest, OrWhenItConnectsOnceMore) {
  Fd fd = BeginAndRefuseUnseen();
  Attach(true, true, true);
  lab_.client.Run([&] {
    // The first call tells of the refusal.
    EXPECT_EQ(Connect(fd, Family::kV4, lab_.Server(Family::kV4), 9), ECONNREFUSED);
    EXPECT_EQ(Connect(fd, Family::kV4, lab_.Server(Family::kV4), 9), EINPROGRESS);
  });
  EXPECT_EQ(TakeOutcome().attempts, std::vector{Outcome::kRefused});
  EXPECT_EQ(Unseen(CONNECT_RECORD_ATTEMPT), 1u);
  fd.Close();
  EXPECT_EQ(Unseen(CONNECT_RECORD_ATTEMPT), 1u);
}

TEST_F(AgainTest, WhatIsUnwatchedByThenIsNotCounted) {
  Fd fd = BeginAndRefuseUnseen();
  Attach(false, false, true);
  Watch(lab_.client, false);
  fd.Close();
  EXPECT_EQ(Unseen(CONNECT_RECORD_ATTEMPT), 0u);
}

TEST_F(AgainTest, NorWhatEndedWhileItWas) {
  Attach(true, true, true);
  Fd fd = Begin();
  Watch(lab_.client, false);
  lab_.server.Run([&] { listener_.Close(); });
  Answer();
  AwaitOutcome(fd);
  Watch(lab_.client, true);
  fd.Close();
  EXPECT_EQ(Unseen(CONNECT_RECORD_ATTEMPT), 0u);
  EXPECT_TRUE(Take().attempts.empty());
}

TEST_F(AgainTest, UnseenHandshakeIsCountedAndItsEndRecorded) {
  Attach(true, true);
  Fd fd = Begin();
  Attach(false, false);
  Answer();
  AwaitOutcome(fd);
  Attach(true, true, true);
  CloseByReset(fd);
  EXPECT_EQ(Unseen(CONNECT_RECORD_ATTEMPT), 1u);
  EXPECT_EQ(Take().ends, 1);
  EXPECT_TRUE(Take().attempts.empty());
  EXPECT_EQ(Unseen(CONNECT_RECORD_END), 0u);
}

// By the peer's RST: a close by the caller would forget what the socket's counts tell.
TEST_F(AgainTest, UnseenHandshakeAndUnseenEndAreTwo) {
  Attach(true, true);
  Fd fd = Begin();
  Attach(false, false, true);
  Answer();
  AwaitOutcome(fd);
  Fd peer;
  lab_.server.Run([&] { peer = Fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)); });
  CloseByReset(peer);
  char end = 0;
  EXPECT_TRUE(WaitFor([&] { return recv(fd.get(), &end, 1, 0) < 0 && errno == ECONNRESET; }));
  fd.Close();
  EXPECT_TRUE(Take().attempts.empty());
  EXPECT_EQ(Unseen(CONNECT_RECORD_ATTEMPT), 1u);
  EXPECT_EQ(Unseen(CONNECT_RECORD_END), 1u);
}

TEST_F(AgainTest, AnEndThatNobodySawIsCountedUnlessItWasByFin) {
  Attach(true, true);
  auto [reset, its_peer] = Establish();
  auto [finished, first_leaver] = Establish();
  auto [leaver, stayer] = Establish();
  Attach(false, false, true);
  CloseByReset(reset);
  EXPECT_EQ(Unseen(CONNECT_RECORD_END), 1u);
  first_leaver.Close();
  char end = 0;
  EXPECT_EQ(recv(finished.get(), &end, 1, 0), 0);
  finished.Close();
  leaver.Close();  // its peer acknowledges the FIN, and says nothing more
  EXPECT_TRUE(WaitFor([&] { return SocketsOfClient() == 0; }));
  EXPECT_EQ(Unseen(CONNECT_RECORD_END), 1u);
  EXPECT_EQ(Unseen(CONNECT_RECORD_ATTEMPT), 0u);
}

TEST_F(AgainTest, WhatIsUnwatchedMeanwhileIsNobodys) {
  Attach(true, true);
  Fd fd = Begin();
  Watch(lab_.client, false);
  fd.Close();
  EXPECT_TRUE(Take().attempts.empty());
}

}  // namespace
}  // namespace phantomd
