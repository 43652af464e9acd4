// Loading: in every configuration, and where the machine or the user will not do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "agent/base/clock.h"
#include "agent/probe/kernel_probe.h"
#include "agent/probe/probe.h"

namespace phantomd {
namespace {

using testing::HasSubstr;

TEST(LoadTest, EveryConfigurationPassesTheVerifier) {
  // Code behind a constant is verified only where the constant lets it run.
  for (const uint64_t host_netns_cookie : {uint64_t{0}, uint64_t{1}}) {
    for (const uint32_t ring_bytes : {1u, 4096u * 1024}) {
      for (const bool watch_new_proxies : {false, true}) {
        const absl::StatusOr<std::unique_ptr<KernelProbe>> probe =
            KernelProbe::Load({.ring_bytes = ring_bytes,
                               .host_netns_cookie = host_netns_cookie,
                               .watch_new_proxies = watch_new_proxies});
        ASSERT_TRUE(probe.ok()) << probe.status();
        EXPECT_THAT((*probe)->limitations(), testing::IsEmpty());
      }
    }
  }
}

TEST(LoadTest, MissingTypeInformationIsSaid) {
  const auto probe = KernelProbe::Load({.btf_path = "/nonexistent/vmlinux"});
  ASSERT_FALSE(probe.ok());
  EXPECT_THAT(std::string(probe.status().message()),
              HasSubstr("no kernel type information at /nonexistent/vmlinux"));
}

// What a child without rights is told by `start`.
template <typename Start>
std::string ToldToAnOrdinaryUser(Start start) {
  int channel[2];
  EXPECT_EQ(pipe(channel), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(65534) != 0) _exit(2);
    const auto probe = start();
    const std::string text(probe.status().message());
    const bool written = write(channel[1], text.data(), text.size()) == ssize_t(text.size());
    _exit(!probe.ok() && written ? 0 : 1);
  }
  close(channel[1]);
  char text[512] = {};
  EXPECT_GT(read(channel[0], text, sizeof(text) - 1), 0);
  close(channel[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return text;
}

TEST(LoadTest, OrdinaryUserIsToldThePlainReason) {
  const char* plain = "recording connects needs root; this is user 65534";
  EXPECT_EQ(ToldToAnOrdinaryUser([] { return KernelProbe::Load({}); }), plain);
  EXPECT_EQ(ToldToAnOrdinaryUser([] { return Probe::Start({}, SystemClock().Now()); }), plain);
}

}  // namespace
}  // namespace phantomd
