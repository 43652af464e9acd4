// What the tests of discovery share: a /proc that the test writes.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/probe/proxy_discovery.h"
#include "tests/base/temporary_folder.h"

namespace phantomd {

namespace fs = std::filesystem;

inline constexpr char kPodA[] = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";
inline constexpr char kContainer1[] = "4f5e6d7c8b9a";
inline constexpr char kContainer2[] = "111111111111";

inline BootTime Seconds(int64_t s) { return BootTime::FromNanos(s * 1'000'000'000); }

class FakeNamespaces : public NamespaceReader {
 public:
  absl::StatusOr<uint64_t> CookieOf(const std::string& path) override {
    const auto it = cookies.find(path);
    if (it == cookies.end()) return absl::PermissionDeniedError(path + ": Permission denied");
    return it->second;
  }
  std::map<std::string, uint64_t> cookies;
};

struct FakeProcess {
  uint32_t pid = 0;
  int64_t start_seconds = 0;
  std::string executable = "/usr/local/bin/envoy";
  std::vector<std::string> command_line = {"envoy", "-c", "etc/istio/proxy/envoy-rev.json"};
  std::string cgroup = fmt::format("/kubepods/burstable/pod{}/{}", kPodA, kContainer1);
  uint64_t netns_cookie = 100;
};

class ProxyDiscoveryTest : public testing::TemporaryFolder {
 protected:
  void SetUp() override {
    discovery_ = std::make_unique<ProxyDiscovery>(
        DiscoveryOptions{.proc_root = root_, .cgroup2_root = root_ + "/cgroup"}, namespaces_);
  }

  std::string PathOf(uint32_t pid) const { return fmt::format("{}/{}", root_, pid); }

  void Run(const FakeProcess& process) {
    const fs::path directory = PathOf(process.pid);
    fs::create_directories(directory / "ns");
    fs::remove(directory / "exe");
    fs::create_symlink(process.executable, directory / "exe");
    const long ticks = process.start_seconds * sysconf(_SC_CLK_TCK);
    // A name may hold anything, blanks and parentheses too.
    Write(directory / "stat", fmt::format("{} (a ) b) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 9 "
                                          "0 {} 1 2\n",
                                          process.pid, ticks));
    Write(directory / "status", "Name:\tenvoy\nUid:\t0\t0\t0\t1337\nGid:\t0\t0\t0\t0\n");
    Write(directory / "comm", "envoy\n");
    Write(directory / "cgroup", "4:memory:/\n0::" + process.cgroup + "\n");
    std::string words;
    for (const std::string& word : process.command_line) words += word + '\0';
    Write(directory / "cmdline", words);
    fs::create_directories(root_ + "/cgroup" + process.cgroup);
    namespaces_.cookies[(directory / "ns/net").string()] = process.netns_cookie;
  }
  void End(uint32_t pid) { fs::remove_all(PathOf(pid)); }

  static void Write(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  process_record Record(const FakeProcess& process) const {
    process_record out{};
    out.process_id = process.pid;
    out.process_start_ns = process.start_seconds * 1'000'000'000 + 4'000'000;
    out.observed_ns = out.process_start_ns + 1000;
    out.netns_cookie = process.netns_cookie;
    out.cgroup_id = 5;
    out.uid = 1337;
    std::strcpy(out.comm, "envoy");
    return out;
  }

  const std::string root_ = path();
  FakeNamespaces namespaces_;
  std::unique_ptr<ProxyDiscovery> discovery_;
};

}  // namespace phantomd
