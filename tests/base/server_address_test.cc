#include "agent/base/server_address.h"

#include <gtest/gtest.h>

namespace phantomd {
namespace {

TEST(ServerAddressTest, EveryFormIsReadIntoItsParts) {
  const std::string longest = "/" + std::string(106, 'x');
  const struct {
    std::string text;
    ServerAddress parts;
  } kCases[] = {
      {"unix:/run/a.sock", {"/run/a.sock", {}}},
      {"unix:" + longest, {longest, {}}},
      {"127.0.0.1:0", {"", {"127.0.0.1", 0}}},
      {"node-1.example_net:65535", {"", {"node-1.example_net", 65535}}},
      {"[::1]:9478", {"", {"::1", 9478}}},
      {"[::]:1", {"", {"::", 1}}},
      {"[fe80::1%eth0]:1", {"", {"fe80::1%eth0", 1}}},
  };
  for (const auto& c : kCases) {
    const auto parsed = ParseServerAddress(c.text);
    ASSERT_TRUE(parsed.ok()) << c.text << ": " << parsed.status();
    EXPECT_EQ(*parsed, c.parts) << c.text;
    EXPECT_EQ(parsed->is_unix(), c.text.starts_with("unix:")) << c.text;
    EXPECT_EQ(parsed->is_unix() ? "unix:" + parsed->unix_path : parsed->tcp.ToString(), c.text);
  }
}

TEST(ServerAddressTest, WhatIsWrongIsNamed) {
  const std::string port = ": a port is a number from 0 to 65535";
  const std::string form = ": not of the form HOST:PORT";
  const std::string brackets = ": an IPv6 address stands in brackets, as in [::1]:9478";
  const struct {
    std::string text;
    std::string what;
  } kCases[] = {
      {"", form},
      {"foo", form},
      {"a b:1", form},
      {"näh:1", form},
      {"ho[st:1", form},
      {"[]:1", form},
      {"127.0.0.1:99999", port},
      {"127.0.0.1:65536", port},
      {"127.0.0.1:111136", port},
      {"127.0.0.1:abc", port},
      {"127.0.0.1:", port},
      {"127.0.0.1:-1", port},
      {"127.0.0.1:+1", port},
      {"127.0.0.1:1 ", port},
      {"unix-abstract:x", port},
      {"::1:5555", brackets},
      {"::1", brackets},
      {"[10.0.0.1]:1", ": what stands in brackets is no IPv6 address"},
      {"[::g]:1", ": what stands in brackets is no IPv6 address"},
      {":9479", ": the host is missing: unix:PATH or HOST:PORT"},
      {"unix:", ": a socket's path has 1 to 107 bytes"},
      {"unix:/" + std::string(107, 'x'), ": a socket's path has 1 to 107 bytes"},
  };
  for (const auto& c : kCases) {
    const auto parsed = ParseServerAddress(c.text);
    ASSERT_FALSE(parsed.ok()) << c.text;
    EXPECT_EQ(parsed.status().message(), "\"" + c.text + "\"" + c.what);
  }
}

TEST(HostPortTest, WithoutHostIsEveryAddressOfTheMachine) {
  const auto parsed = ParseHostPort(":9479");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, (HostPort{"", 9479}));
  EXPECT_FALSE(ParseHostPort(":99999").ok());
}

}  // namespace
}  // namespace phantomd
