// What ProxyWatch does when the kernel cannot: a listing that fails, and maps that are full. The
// kernel is the real one, /proc is the test's.
#include "agent/probe/proxy_watch.h"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "agent/base/clock.h"
#include "tests/bpf/fake_proxy_process.h"
#include "tests/bpf/network_lab.h"
#include "tests/probe/proxy_discovery_fixture.h"

namespace phantomd {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint64_t kHost = 1;
constexpr uint64_t kServed = 300;
constexpr uint32_t kRoom = 16'384;  // of the map proxy_processes
constexpr uint32_t kNames = 256;    // of the map proxy_names

class Listing : public SocketSource {
 public:
  absl::StatusOr<std::vector<socket_place>> SocketsOf(uint32_t) const override {
    ++asked;
    if (!status.ok()) return status;
    return places;
  }
  absl::StatusOr<std::vector<socket_record>> AdoptConnections(const std::string&) const override {
    return absl::UnimplementedError("not asked for");
  }
  bool Watches(uint64_t, uint64_t) const override { return false; }

  absl::Status status;
  std::vector<socket_place> places;
  mutable int asked = 0;
};

// In the kernel, wherever it is: only this test uses such a name.
void ForgetName(const std::string& text) {
  process_name name{};
  text.copy(name.text, sizeof(name.text) - 1);
  uint32_t id = 0;
  while (bpf_map_get_next_id(id, &id) == 0) {
    const int map = bpf_map_get_fd_by_id(id);
    bpf_map_info info{};
    uint32_t size = sizeof(info);
    if (map >= 0 && bpf_obj_get_info_by_fd(map, &info, &size) == 0 &&
        std::string(info.name) == "proxy_names") {
      bpf_map_delete_elem(map, &name);
    }
    close(map);
  }
}

class ProxyWatchTest : public ProxyDiscoveryTest {
 protected:
  void SetUp() override {
    ProxyDiscoveryTest::SetUp();
    auto kernel = KernelProbe::Load({.host_netns_cookie = kHost});
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    kernel_ = *std::move(kernel);
    watch_ = std::make_unique<ProxyWatch>(*kernel_, listing_, *discovery_, kHost);
  }

  void Scan(int64_t at) {
    discovery_->Scan(Seconds(at));
    watch_->AfterScan(Seconds(at));
  }
  void FillProcesses() {
    // Above what any process has.
    for (uint32_t pid = 0; pid < kRoom; ++pid) {
      (void)kernel_->processes().Follow(5'000'000 + pid, Seconds(1), kServed);
    }
  }
  bool IsFollowed(uint32_t pid) const {
    for (const FollowedProcess& process : kernel_->processes().All()) {
      if (process.process_id == pid) return true;
    }
    return false;
  }
  static auto NotFollowed(uint32_t pid) {
    return Contains(AllOf(HasSubstr(fmt::format("1 processes of proxies are not followed by the "
                                                "kernel, the first is {}: ",
                                                pid)),
                          HasSubstr("the kernel's map is full")));
  }

  Listing listing_;
  std::unique_ptr<KernelProbe> kernel_;
  std::unique_ptr<ProxyWatch> watch_;
};

TEST_F(ProxyWatchTest, ListingThatFailedIsTriedAgainAtTheNextScan) {
  Run({.pid = 7, .start_seconds = 100});
  listing_.status = absl::ResourceExhaustedError("too many open files");
  listing_.places = {{.netns_cookie = kServed, .process_id = 7}};
  Scan(200);
  EXPECT_THAT(watch_->Limitations(), ElementsAre(HasSubstr("too many open files")));
  Scan(210);
  EXPECT_EQ(listing_.asked, 2);
  EXPECT_THAT(watch_->Limitations(), ElementsAre(HasSubstr("too many open files")));
  listing_.status = absl::OkStatus();
  Scan(220);
  EXPECT_TRUE(discovery_->processes().Find(7, Seconds(100))->elsewhere.contains(kServed));
  EXPECT_THAT(watch_->Limitations(), IsEmpty());
  Scan(230);
  EXPECT_EQ(listing_.asked, 3) << "not due";
  // The same for a later one: what was found before stays meanwhile.
  listing_.status = absl::ResourceExhaustedError("too many open files");
  Scan(251);
  Scan(261);
  EXPECT_EQ(listing_.asked, 5);
  EXPECT_TRUE(discovery_->processes().Find(7, Seconds(100))->elsewhere.contains(kServed));
}

TEST_F(ProxyWatchTest, NamespacesThatDoNotFitAreOneSentence) {
  const uint64_t first = 1'000'000;  // above the cookies of real ones
  uint64_t taken = first;
  while (kernel_->Watch(taken).ok()) ++taken;
  Run({.pid = 7, .start_seconds = 100, .netns_cookie = 301});
  Run({.pid = 8, .start_seconds = 100, .netns_cookie = 302});
  Scan(200);
  EXPECT_THAT(watch_->Limitations(),
              ElementsAre(AllOf(HasSubstr("2 network namespaces or cgroups of proxies"),
                                HasSubstr("map is full"))));
  ASSERT_TRUE(kernel_->Unwatch(first).ok());
  ASSERT_TRUE(kernel_->Unwatch(first + 1).ok());
  Scan(210);
  EXPECT_THAT(watch_->Limitations(), IsEmpty());
}

TEST_F(ProxyWatchTest, ProcessThatDoesNotFitIsSaidUntilItDoes) {
  FillProcesses();
  Run({.pid = 7, .start_seconds = 100});
  Scan(200);
  EXPECT_FALSE(IsFollowed(7));
  EXPECT_THAT(watch_->Limitations(), NotFollowed(7));
  Scan(210);  // forgets the strangers
  Scan(220);
  EXPECT_TRUE(IsFollowed(7));
  EXPECT_THAT(watch_->Limitations(), IsEmpty());
}

TEST_F(ProxyWatchTest, ProcessThatDoesNotFitAndEndsIsSaidNoMore) {
  FillProcesses();
  Run({.pid = 7, .start_seconds = 100});
  Scan(200);
  End(7);
  FillProcesses();
  Scan(210);
  EXPECT_THAT(watch_->Limitations(), IsEmpty());
}

// The exec program itself finds no room: user space says so when it reads the record.
TEST_F(ProxyWatchTest, ExecOfAProcessThatDoesNotFitIsSaidAtOnce) {
  SystemNamespaceReader namespaces;
  ProxyDiscovery discovery({}, namespaces);
  ProxyWatch watch(*kernel_, listing_, discovery, kHost);
  const NetworkLab lab;
  FillProcesses();
  FakeProxy proxy(FakeProxy::Installed("envoy"), lab.client, {"-c", "x"});
  proxy.Do("listen v4 0");
  ASSERT_TRUE(WaitFor([&] {
    watch.TakeProcesses(SystemClock().Now());
    return !watch.Limitations().empty();
  }));
  EXPECT_FALSE(IsFollowed(proxy.pid()));
  EXPECT_THAT(watch.Limitations(), NotFollowed(proxy.pid()));
}

TEST_F(ProxyWatchTest, NameThatDoesNotFitIsSaidUntilItDoes) {
  for (uint32_t i = 0; i < kNames; ++i) {
    ASSERT_TRUE(kernel_->ExpectProxy(fmt::format("name{}", i)).ok());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(kernel_->ExpectProxy("one more")));
  EXPECT_TRUE(kernel_->ExpectProxy("name0").ok()) << "known";
  Write(root_ + "/sidecar-proxy", "image");
  Run({.pid = 7, .start_seconds = 100, .executable = root_ + "/sidecar-proxy"});
  Write(PathOf(7) + "/comm", "sidecar-proxy\n");
  for (const char* thread : {"7", "8"}) {
    fs::create_directories(PathOf(7) + "/task/" + thread);
    Write(PathOf(7) + "/task/" + thread + "/comm", "wrk:worker_0\n");
  }
  const auto said = Contains(AllOf(HasSubstr("the first is sidecar-proxy: "),
                                   HasSubstr("their first connects are missed")));
  Scan(200);
  EXPECT_THAT(watch_->Limitations(), said);
  Scan(210);
  EXPECT_THAT(watch_->Limitations(), said);
  ForgetName("name0");
  Scan(220);
  EXPECT_THAT(watch_->Limitations(), Not(said));
}

}  // namespace
}  // namespace phantomd
