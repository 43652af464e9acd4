// Cookies of real namespaces.
#include "agent/probe/network_namespace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace phantomd {
namespace {

using ::testing::HasSubstr;

TEST(SystemNamespaceReaderTest, NamespaceHasOneCookieAndAMissingOneIsNotFound) {
  SystemNamespaceReader reader;
  const auto own = reader.CookieOf("/proc/self/ns/net");
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_NE(*own, 0u);
  EXPECT_EQ(*reader.CookieOf("/proc/thread-self/ns/net"), *own);
  EXPECT_TRUE(absl::IsNotFound(reader.CookieOf("/proc/self/ns/none").status()));
}

// NotFound would end the proxies that the namespace is of.
TEST(SystemNamespaceReaderTest, WantOfDescriptorsIsNoMissingNamespace) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto cookie = SystemNamespaceReader().CookieOf("/proc/self/ns/net");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(absl::IsResourceExhausted(cookie.status())) << cookie.status();
}

TEST(SystemNamespaceReaderTest, NoThreadToEnterWithIsAnAnswer) {
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // The limit holds for ordinary users alone, who may see their own entries only when dumpable.
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_NPROC, &none) != 0) _exit(2);
    if (setuid(65534) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0) _exit(2);
    const auto cookie = SystemNamespaceReader().CookieOf("/proc/self/ns/net");
    const std::string text = cookie.status().ToString();
    const bool written = write(channel[1], text.data(), text.size()) == ssize_t(text.size());
    _exit(written && absl::IsResourceExhausted(cookie.status()) ? 0 : 1);
  }
  close(channel[1]);
  char text[512] = {};
  EXPECT_GT(read(channel[0], text, sizeof(text) - 1), 0);
  close(channel[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << text;
  EXPECT_THAT(text, HasSubstr("/proc/self/ns/net: no thread to enter it with"));
}

}  // namespace
}  // namespace phantomd
