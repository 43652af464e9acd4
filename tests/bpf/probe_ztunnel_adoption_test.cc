// ztunnel's sockets in the namespaces of its pods, made before the agent began.
#include <gtest/gtest.h>

#include "tests/bpf/end_probe_fixture.h"

namespace phantomd {
namespace {

class ZtunnelAdoptionTest : public EndProbeTest {
 protected:
  const ConnectionEnd* OnlyEnd() {
    EXPECT_TRUE(WaitFor([&] {
      Consume();
      return !ends_.empty();
    }));
    EXPECT_EQ(ends_.size(), 1u);
    return ends_.empty() ? nullptr : &ends_.front();
  }

  NetworkNamespace home_;
  FakeProxy ztunnel_{FakeProxy::Installed("ztunnel"), home_, {"proxy"}, {.uid = 0}};
};

// The namespace holds no process of ztunnel's: one of its sockets leads there.
TEST_F(ZtunnelAdoptionTest, ConnectionsOfTheServedNamespaceAreFollowedToTheirEnds) {
  for (const bool listens : {true, false}) {
    SCOPED_TRACE(listens);
    ends_.clear();
    probe_.reset();
    if (listens) ztunnel_.ListenIn(lab_.client, Family::kV4, 15001);
    ztunnel_.ConnectIn(lab_.client, Family::kV4, lab_.Server(Family::kV4), 8080);
    Fd accepted = Accept();
    StartProbe();
    EXPECT_TRUE(attempts_.empty());
    Reset(std::move(accepted));
    const ConnectionEnd* end = OnlyEnd();
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(end->how, ConnectionEnd::How::kReset);
    EXPECT_EQ(end->initiator, Initiator::kProxy);
    EXPECT_FALSE(end->proxy_id.empty());
    EXPECT_TRUE(end->adopted);
    ztunnel_.Do("forget");
  }
}

TEST_F(ZtunnelAdoptionTest, ApplicationsOfTheServedNamespaceAreAdoptedToo) {
  ztunnel_.ListenIn(lab_.client, Family::kV4, 15001);
  ConnectAsApplication(Family::kV4, lab_.Server(Family::kV4), 8080);
  Fd accepted = Accept();
  StartProbe();
  Reset(std::move(accepted));
  const ConnectionEnd* end = OnlyEnd();
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->initiator, Initiator::kApplication);
  EXPECT_FALSE(end->proxy_id.empty());
}

}  // namespace
}  // namespace phantomd
