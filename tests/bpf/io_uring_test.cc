// The outcome table, where connect is asked of an io_uring: no system call of that name is made,
// and another task than the one that asked may make it.
#include "tests/bpf/io_uring.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cstring>

#include "tests/bpf/outcome_fixture.h"

namespace phantomd {
namespace {

class IoUringTest : public OutcomeTest {
 protected:
  void SetUp() override {
    ring_ = IoUring::Create();
    if (ring_ == nullptr) GTEST_SKIP() << "this kernel refuses io_uring: " << std::strerror(errno);
  }

  // As the submitting thread itself, or as a worker thread of the ring.
  template <typename Body>
  void EachWay(std::string_view what, const Body& body) {
    body(fmt::format("io_uring, {}", what), uint8_t{0});
    body(fmt::format("io_uring worker, {}", what), uint8_t{IOSQE_ASYNC});
  }
  int ConnectBy(uint8_t flags, const Fd& fd, const IpAddr& ip, uint16_t port) {
    const int error = ring_->Connect(fd, ToSockaddr(family(), ip, port), flags);
    // A worker of the ring is a thread of this process.
    if (flags & IOSQE_ASYNC) thread_ = kAnyThread;
    return error;
  }

  std::unique_ptr<IoUring> ring_;
};

TEST_P(IoUringTest, Established) {
  const IpAddr ip = lab_->Server(family());
  const uint16_t port = OpenPort(family());
  EachWay("established", [&](const std::string& what, uint8_t flags) {
    Check(what, ip, port, {Outcome::kEstablished},
          [&] { EXPECT_EQ(ConnectBy(flags, TcpSocket(family(), true), ip, port), 0); });
  });
}

TEST_P(IoUringTest, Refused) {
  const IpAddr ip = lab_->Server(family());
  EachWay("refused", [&](const std::string& what, uint8_t flags) {
    Check(what, ip, 9, {Outcome::kRefused, ECONNREFUSED},
          [&] { EXPECT_EQ(ConnectBy(flags, TcpSocket(family(), true), ip, 9), ECONNREFUSED); });
  });
}

TEST_P(IoUringTest, NoRoute) {
  const IpAddr ip = *IpAddr::Parse(family() == Family::kV6 ? "fd99::1" : "192.0.2.1");
  EachWay("no route", [&](const std::string& what, uint8_t flags) {
    Check(what, ip, 80, {Outcome::kNoRoute, ENETUNREACH},
          [&] { EXPECT_EQ(ConnectBy(flags, TcpSocket(family(), true), ip, 80), ENETUNREACH); });
  });
}

// The error is told by the record of the attempt; that the ring tells it, too, is no other one.
TEST_P(IoUringTest, UnreachableIsOneAttempt) {
  const IpAddr ip = lab_->Absent(family());
  Expected expected{Outcome::kUnreachable, EHOSTUNREACH, 0, 0, -1};
  if (family() != Family::kV6) expected.icmp_type = 3, expected.icmp_code = 1;
  Check("io_uring, no such neighbour", ip, 80, expected, [&] {
    const Fd fd = TcpSocket(family(), true);
    SetOption(fd, IPPROTO_TCP, TCP_SYNCNT, 6);
    EXPECT_EQ(ConnectBy(0, fd, ip, 80), EHOSTUNREACH);
  });
}

INSTANTIATE_TEST_SUITE_P(Families, IoUringTest, testing::ValuesIn(kFamilies),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace phantomd
