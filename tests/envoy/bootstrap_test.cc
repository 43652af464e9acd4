// Where the admin API is, from bootstraps in every style.
#include "agent/envoy/bootstrap.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/base/temporary_folder.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(BootstrapTest, AdminAddressInEveryStyle) {
  struct Row {
    const char* text;
    const char* address;
  };
  for (const Row& row : {
           Row{R"({"admin": {"address": {"socket_address": {"address": "127.0.0.1", )"
               R"("port_value": 15000}}}})",
               "127.0.0.1:15000"},
           Row{R"({"node": {"id": "\ud83d\ude00"},)"
               "\t\"admin\":\t{\"address\":{\"socketAddress\":{\"address\":\"::1\",\"portValue\":1}"
               "}}}",
               "[::1]:1"},
           Row{"admin:\n  address:\n    socket_address:\n      address: 0.0.0.0\n"
               "      port_value: 9901  # the usual one\nstatic_resources: {}\n",
               "127.0.0.1:9901"},
           Row{"static_resources:\n  clusters: []\nadmin: {address: {socket_address: "
               "{address: '::', port_value: 19000}}}\n",
               "[::1]:19000"},
           Row{"{admin: {address: {socket_address: {address: 10.0.0.1, port_value: 80}}}}",
               "10.0.0.1:80"},
           Row{"x: &where {socket_address: {address: 127.0.0.1, port_value: 5}}\n"
               "admin: {address: *where}\n",
               "127.0.0.1:5"},
       }) {
    const auto address = AdminAddressOf(row.text);
    ASSERT_TRUE(address.ok()) << row.text << ": " << address.status();
    ASSERT_TRUE(address->has_value()) << row.text;
    EXPECT_EQ((*address)->ToString(), row.address) << row.text;
  }
}

TEST(BootstrapTest, NoAdminIsNoError) {
  for (const char* text : {"{}", R"({"node": {"id": "x"}})", "node: {id: x}\n", "admin:\nnode: 1\n",
                           "admin: {access_log_path: /dev/null}\n"}) {
    const auto address = AdminAddressOf(text);
    ASSERT_TRUE(address.ok()) << text << ": " << address.status();
    EXPECT_FALSE(address->has_value()) << text;
  }
}

TEST(BootstrapTest, WhatCannotBeReadOrPolledIsAnErrorWithAReason) {
  struct Row {
    const char* text;
    const char* reason;
  };
  for (const Row& row : {
           Row{"", "no mapping"},
           Row{"- a\n- b\n", "no mapping"},
           Row{"admin: {address: [", "bootstrap"},
           Row{R"({"admin": {"address": {"socket_address": {"address": "127.0.0.1")", "bootstrap"},
           Row{"admin: {address: {pipe: {path: /run/admin.sock}}}", "Unix socket"},
           Row{R"({"admin": {"address": {"pipe": {"path": "/run/admin.sock"}}}})", "Unix socket"},
           Row{"admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}",
               "the system chose"},
           Row{"admin: {address: {socket_address: {address: 127.0.0.1, port_value: 70000}}}",
               "70000"},
           Row{"admin: {address: {socket_address: {address: 127.0.0.1, port_value: many}}}",
               "bootstrap"},
           Row{"admin: {address: {socket_address: {address: localhost, port_value: 1}}}",
               "localhost"},
           Row{"admin: {address: {socket_address: {address: 127.0.0.1}}}", "port_value"},
       }) {
    const auto address = AdminAddressOf(row.text);
    ASSERT_FALSE(address.ok()) << row.text;
    EXPECT_THAT(address.status().ToString(), HasSubstr(row.reason)) << row.text;
  }
  EXPECT_FALSE(AdminAddressOf(std::string(100'000, '[')).ok()) << "deep nesting";
  EXPECT_FALSE(AdminAddressOf(std::string(100'000, '{')).ok()) << "deep nesting";
}

using ProcessFileTest = testing::TemporaryFolder;

constexpr char kAdmin[] = "admin: {address: {socket_address: {address: 127.0.0.1, port_value: 7}}}";
const SocketAddr kAddress = {IpAddr::V4(127, 0, 0, 1), 7};

TEST_F(ProcessFileTest, RegularFilesAreReadAndNothingElse) {
  EXPECT_EQ(*ReadFileOfProcess(getpid(), Write("b.yaml", "abc"), 3), "abc");
  EXPECT_FALSE(ReadFileOfProcess(getpid(), Write("b.yaml", "abcd"), 3).ok()) << "too large";
  EXPECT_FALSE(ReadFileOfProcess(getpid(), PathOf("missing"), 3).ok());
  EXPECT_FALSE(ReadFileOfProcess(getpid(), path(), 3).ok()) << "a directory";
  const std::string fifo = PathOf("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(ReadFileOfProcess(getpid(), fifo, 3).ok()) << "would block for ever";
}

TEST_F(ProcessFileTest, RelativePathDoesNotLeadOutOfTheWorkingDirectory) {
  const std::string outside = Write("secret", "secret");
  const std::string work = PathOf("work");
  std::filesystem::create_directory(work);
  std::filesystem::create_symlink(outside, work + "/absolute");
  std::filesystem::create_symlink("../secret", work + "/relative");
  std::ofstream(work + "/real") << "real";
  std::filesystem::create_symlink("real", work + "/inside");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(work);
  EXPECT_EQ(*ReadFileOfProcess(getpid(), "inside", 100), "real") << "as mounted ConfigMaps do";
  EXPECT_FALSE(ReadFileOfProcess(getpid(), "absolute", 100).ok());
  EXPECT_FALSE(ReadFileOfProcess(getpid(), "relative", 100).ok());
  EXPECT_FALSE(ReadFileOfProcess(getpid(), "../secret", 100).ok());
  std::filesystem::current_path(before);
}

TEST_F(ProcessFileTest, CandidatesInlineThenFileThenUsualPorts) {
  const std::string path = Write("b.yaml", kAdmin);
  const std::vector<uint16_t> ports = {15000, 9901};
  EXPECT_THAT(*AdminCandidates(getpid(), path, "", ports), ElementsAre(kAddress));
  EXPECT_THAT(*AdminCandidates(getpid(), path, "node: {id: x}", ports), ElementsAre(kAddress));
  EXPECT_THAT(*AdminCandidates(getpid(), "", kAdmin, ports), ElementsAre(kAddress));
  const SocketAddr v6 = {*IpAddr::Parse("::1"), 15000};
  for (const std::string& unreadable : {std::string(), path + ".missing", Write("bad", "a: [")}) {
    const auto usual = AdminCandidates(getpid(), unreadable, "", ports);
    ASSERT_TRUE(usual.ok()) << usual.status();
    ASSERT_EQ(usual->size(), 4u);
    EXPECT_EQ(usual->at(0), (SocketAddr{IpAddr::V4(127, 0, 0, 1), 15000}));
    EXPECT_EQ(usual->at(1), v6);
  }
  // Another proxy of the same namespace may answer at a usual port.
  const auto none = AdminCandidates(getpid(), Write("none", "node: {id: x}"), "", ports);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().ToString(), HasSubstr("no admin API"));
}

}  // namespace
}  // namespace phantomd
