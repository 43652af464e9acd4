#include "agent/base/ip_addr.h"

#include "absl/hash/hash_testing.h"
#include "gtest/gtest.h"

namespace phantomd {
namespace {

IpAddr Ip(std::string_view text) { return *IpAddr::Parse(text); }

TEST(IpAddrTest, TextFormsOfOneAddress) {
  const std::pair<const char*, const char*> cases[] = {
      {"10.0.0.1", "10.0.0.1"},
      {"0.0.0.0", "0.0.0.0"},
      {"::ffff:10.0.0.1", "10.0.0.1"},
      {"::FFFF:0a00:1", "10.0.0.1"},
      {"fd00::1", "fd00::1"},
      {"FD00:0:0:0:0:0:0:1", "fd00::1"},
      {"::", "::"},
      {"::1", "::1"},
      {"1:0:0:2:0:0:0:3", "1:0:0:2::3"},
  };
  for (const auto& [in, out] : cases) {
    const auto ip = IpAddr::Parse(in);
    ASSERT_TRUE(ip.ok()) << in;
    EXPECT_EQ(ip->ToString(), out);
    EXPECT_EQ(Ip(ip->ToString()), *ip);
  }
}

TEST(IpAddrTest, WhatIsNoAddressIsAnErrorThatQuotesIt) {
  for (const char* text : {"", "10.0.0", "10.0.0.256", "10.0.0.1.2", "10.0.0.1 ", "[::1]",
                           "fe80::1%eth0", "1:2", "host", "10.0.0.1/8"}) {
    const auto ip = IpAddr::Parse(text);
    ASSERT_FALSE(ip.ok()) << text;
    EXPECT_EQ(ip.status().message(), "not an IP address: \"" + std::string(text) + "\"");
  }
}

TEST(IpAddrTest, Ipv4AndItsMappedFormAreOneKey) {
  EXPECT_EQ(IpAddr::V4(10, 1, 2, 3), Ip("::ffff:10.1.2.3"));
  EXPECT_EQ(*IpAddr::FromBytes(std::string_view("\x0a\x01\x02\x03", 4)), Ip("10.1.2.3"));
  EXPECT_TRUE(Ip("10.1.2.3").is_v4());
  EXPECT_TRUE(Ip("0.0.0.0").is_v4());
  EXPECT_FALSE(Ip("::").is_v4());
  EXPECT_FALSE(Ip("fd00::1").is_v4());
}

TEST(IpAddrTest, BytesSurviveTheRoundTrip) {
  const IpAddr ip = Ip("fd00:10:244:1::16");
  EXPECT_EQ(ip.AsBytes().size(), 16u);
  EXPECT_EQ(*IpAddr::FromBytes(ip.AsBytes()), ip);
  EXPECT_EQ(IpAddr::FromBytes(ip.bytes().data()), ip);
}

TEST(IpAddrTest, OtherNumbersOfBytesAreNoAddress) {
  for (size_t size = 0; size <= 17; ++size) {
    EXPECT_EQ(IpAddr::FromBytes(std::string(size, 'x')).ok(), size == 4 || size == 16) << size;
  }
}

TEST(IpAddrTest, Loopback) {
  for (const char* text :
       {"127.0.0.1", "127.0.0.6", "127.255.255.255", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(Ip(text).is_loopback()) << text;
  }
  for (const char* text : {"126.255.255.255", "128.0.0.1", "::", "::2", "fd00::1"}) {
    EXPECT_FALSE(Ip(text).is_loopback()) << text;
  }
}

TEST(IpAddrTest, UnsetIsNoAddressAtAll) {
  EXPECT_TRUE(IpAddr().is_unset());
  EXPECT_FALSE(Ip("0.0.0.0").is_unset());
}

TEST(IpAddrTest, EqualAddressesHashAlike) {
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(
      {IpAddr(), Ip("10.0.0.1"), Ip("10.0.0.2"), Ip("::1"), Ip("fd00::1"), Ip("fd00:0:0:1::")}));
}

TEST(SocketAddrTest, TextSurvivesTheRoundTrip) {
  for (const char* text : {"10.0.0.1:80", "[fd00::1]:65535", "0.0.0.0:0", "[::]:1"}) {
    const auto address = SocketAddr::Parse(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(address->ToString(), text);
  }
  EXPECT_EQ(*SocketAddr::Parse("[::ffff:10.0.0.1]:80"), *SocketAddr::Parse("10.0.0.1:80"));
}

TEST(SocketAddrTest, WhatIsNoAddressWithAPortIsAnError) {
  for (const char* text : {"", ":", ":80", "10.0.0.1", "10.0.0.1:", "10.0.0.1:65536", "10.0.0.1:-1",
                           "10.0.0.1:+1", "10.0.0.1: 1", "10.0.0.1:80x", "fd00::1:80", "[]:80",
                           "[fd00::1]80", "[fd00::1", "host:80"}) {
    EXPECT_FALSE(SocketAddr::Parse(text).ok()) << text;
  }
}

TEST(SocketAddrTest, PortTellsAddressesApart) {
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(
      {SocketAddr{}, SocketAddr{Ip("10.0.0.1"), 80}, SocketAddr{Ip("10.0.0.1"), 81},
       SocketAddr{Ip("10.0.0.2"), 80}}));
}

TEST(IpPrefixTest, ContainsExactlyItsAddresses) {
  const struct {
    const char* range;
    const char* ip;
    bool contains;
  } cases[] = {
      {"10.244.0.0/16", "10.244.0.0", true},
      {"10.244.0.0/16", "10.244.255.255", true},
      {"10.244.0.0/16", "10.243.255.255", false},
      {"10.244.0.0/16", "10.245.0.0", false},
      {"10.0.0.128/25", "10.0.0.127", false},
      {"10.0.0.128/25", "10.0.0.128", true},
      {"10.0.0.7/32", "10.0.0.7", true},
      {"10.0.0.7/32", "10.0.0.6", false},
      {"0.0.0.0/0", "255.255.255.255", true},
      {"0.0.0.0/0", "fd00::1", false},
      {"fd00::/64", "fd00::ffff:ffff:ffff:ffff", true},
      {"fd00::/64", "fd00:0:0:1::", false},
      {"fd00::/65", "fd00::8000:0:0:0", false},
      {"::/0", "fd00::1", true},
      {"::/0", "10.0.0.1", true},  // IPv4 is a part of IPv6's space here
  };
  for (const auto& c : cases) {
    EXPECT_EQ(IpPrefix::Parse(c.range)->Contains(Ip(c.ip)), c.contains) << c.range << " " << c.ip;
  }
}

TEST(IpPrefixTest, HostBitsAreCleared) {
  EXPECT_EQ(IpPrefix::Parse("10.1.2.3/20")->ToString(), "10.1.0.0/20");
  EXPECT_EQ(IpPrefix::Parse("fd00::1/64")->ToString(), "fd00::/64");
  EXPECT_EQ(*IpPrefix::Parse("10.1.2.3/20"), *IpPrefix::Parse("10.1.15.255/20"));
}

TEST(IpPrefixTest, WhatIsNoRangeIsAnErrorThatQuotesIt) {
  for (const char* text : {"", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8 ",
                           "fd00::/129", "x/8", "/8"}) {
    const auto range = IpPrefix::Parse(text);
    ASSERT_FALSE(range.ok()) << text;
    EXPECT_EQ(range.status().message(), "not an address range: \"" + std::string(text) + "\"");
  }
}

}  // namespace
}  // namespace phantomd
