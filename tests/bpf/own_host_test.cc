// The outcome table, where the own host stands in the way: its filters, its policies, a link that
// is taken away.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/wait.h>

#include "tests/bpf/cgroup_policy.h"
#include "tests/bpf/outcome_fixture.h"

namespace phantomd {
namespace {

class OwnHostTest : public OutcomeTest {
 protected:
  // While the row runs, the client's namespace treats SYNs to port 7300 like this.
  void CheckEgress(std::string_view what, const std::string& treatment, const Expected& expected,
                   const std::function<void(Fd&)>& action) {
    lab_->client.Shell(
        "nft add table inet egress;"
        "nft 'add chain inet egress out { type filter hook output priority 0; }';"
        "nft add rule inet egress out tcp dport 7300 " +
        treatment);
    Check(what, lab_->Server(family()), 7300, expected, [&] {
      Fd fd = TcpSocket(family(), true);
      SetOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 500);
      action(fd);
    });
    lab_->client.Shell("nft delete table inet egress");
  }
  int ConnectEgress(const Fd& fd) const {
    return Connect(fd, family(), lab_->Server(family()), 7300);
  }
  bool v6() const { return family() == Family::kV6; }
};

// sendmsg(2) of UDP would fail with EPERM; a SYN is only lost.
TEST_P(OwnHostTest, EgressDropLooksLikeSilence) {
  CheckEgress("egress drop", "drop", {Outcome::kTimedOut, ETIMEDOUT, 0, 0, 1},
              [&](Fd& fd) { EXPECT_EQ(ConnectEgress(fd), ETIMEDOUT); });
}

TEST_P(OwnHostTest, EgressReset) {
  CheckEgress("egress reject with tcp reset", "reject with tcp reset",
              {Outcome::kRefused, ECONNREFUSED},
              [&](Fd& fd) { EXPECT_EQ(ConnectEgress(fd), ECONNREFUSED); });
}

TEST_P(OwnHostTest, EgressIcmp) {
  Expected expected{Outcome::kUnreachable, EHOSTUNREACH, 0, 0, 1};
  if (!v6()) expected.icmp_type = 3, expected.icmp_code = 1;
  CheckEgress(
      "egress reject with icmp",
      v6() ? "reject with icmpv6 type addr-unreachable" : "reject with icmp type host-unreachable",
      expected, [&](Fd& fd) { EXPECT_EQ(ConnectEgress(fd), EHOSTUNREACH); });
}

TEST_P(OwnHostTest, PolicyOfTheCgroup) {
  const ForbiddingCgroup cgroup;
  const IpAddr ip = lab_->Server(family());
  Check("EPERM by a cgroup's program", ip, 80, {Outcome::kNoRoute, EPERM}, [&] {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      cgroup.Enter();
      _exit(Connect(TcpSocket(family(), true), family(), ip, 80) == EPERM ? 0 : 1);
    }
    ExpectConnector(child, child);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  });
}

TEST_P(OwnHostTest, LinkDeletedWhileConnecting) {
  const IpAddr ip = *IpAddr::Parse(v6() ? "fd77:8::8" : "10.77.8.8");
  lab_->client.Shell(fmt::format(
      "ip link add v8 type veth peer name v9 netns {}; ip link set v8 up;"
      "ip {} route add {} dev v8 src {}; ip {} neigh add {} dev v8 lladdr 02:00:00:00:00:09",
      lab_->server.path(), v6() ? "-6" : "-4", v6() ? "fd77:8::/64" : "10.77.8.0/24",
      lab_->Client(family()).ToString(), v6() ? "-6" : "-4", ip.ToString()));
  lab_->server.Shell("ip link set v9 up");
  Check("link deleted while connecting", ip, 80, {Outcome::kUnreachable, ENETUNREACH, 0, 0, 1},
        [&] {
          Fd fd = TcpSocket(family(), false);
          SetOption(fd, IPPROTO_TCP, TCP_SYNCNT, 1);
          EXPECT_EQ(Connect(fd, family(), ip, 80), EINPROGRESS);
          lab_->client.DeleteLink("v8");  // before the first retransmission
          WaitConnected(fd);
          EXPECT_EQ(PendingError(fd), ENETUNREACH);
        });
}

INSTANTIATE_TEST_SUITE_P(Families, OwnHostTest, testing::ValuesIn(kFamilies),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace phantomd
