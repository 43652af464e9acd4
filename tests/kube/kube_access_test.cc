#include "agent/kube/kube_access.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <thread>

#include "agent/kube/exec_plugin.h"
#include "gmock/gmock.h"
#include "tests/base/manual_clock.h"
#include "tests/base/temporary_folder.h"

namespace phantomd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kPem[] = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

class KubeAccessTest : public testing::TemporaryFolder {
 protected:
  absl::StatusOr<std::unique_ptr<KubeAccess>> InCluster() {
    return InClusterAccess({.host = "10.96.0.1", .port = "443", .folder = path()}, clock_);
  }
  // The endpoint, once there is one.
  static absl::StatusOr<KubeEndpoint> Wait(KubeAccess& access) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
      absl::StatusOr<std::optional<KubeEndpoint>> endpoint = access.Get();
      if (!endpoint.ok()) return endpoint.status();
      if (endpoint->has_value()) return **std::move(endpoint);
      std::this_thread::yield();
    }
    return absl::DeadlineExceededError("the test waited in vain");
  }
  std::string TokenOf(KubeAccess& access) {
    const auto endpoint = Wait(access);
    return endpoint.ok() ? endpoint->token.Reveal() : std::string(endpoint.status().message());
  }
  void WriteScript(const std::string& name, const std::string& lines) {
    Write(name, "#!/bin/sh\n" + lines);
    ASSERT_EQ(chmod(PathOf(name).c_str(), 0700), 0);
  }
  // A kubeconfig whose user has an exec plugin beside it.
  std::string ExecConfig(const std::string& command, const std::string& more = "") {
    return Write("config", fmt::format(R"(current-context: c
contexts: [{{name: c, context: {{cluster: k, user: u}}}}]
clusters: [{{name: k, cluster: {{server: "https://10.0.0.1:6443"}}}}]
users:
- name: u
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: {}
{}
)",
                                       command, more));
  }
  // Prints a credential whose token is a file's content, and counts its runs.
  void WriteTokenPlugin(const std::string& expires) {
    WriteScript("plugin",
                fmt::format("echo run >> {0}/runs\n"
                            "printf '{{\"kind\":\"ExecCredential\",\"apiVersion\":"
                            "\"client.authentication.k8s.io/v1\",\"status\":{{\"token\":\"%s\"{1}"
                            "}}}}' \"$(cat {0}/next)\"\n",
                            path(), expires));
  }
  size_t Runs() { return ReadBytes(PathOf("runs")).size() / 4; }

  testing::ManualClock clock_{1'000'000'000};
};

TEST_F(KubeAccessTest, ServiceAccountOfThePod) {
  Write("token", "abc\n");
  Write("ca.crt", kPem);
  const auto access = InCluster();
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(
      **(*access)->Get(),
      (KubeEndpoint{.server = "https://10.96.0.1:443", .ca_pem = kPem, .token = Secret("abc")}));
  EXPECT_EQ((*access)->description(), "the service account of this pod");
  const auto v6 = InClusterAccess({.host = "fd00::1", .port = "443", .folder = path()}, clock_);
  EXPECT_EQ((**(*v6)->Get()).server, "https://[fd00::1]:443");
}

TEST_F(KubeAccessTest, WhatIsMissingInThePodIsNamed) {
  EXPECT_EQ(InClusterAccess({.port = "443"}, clock_).status().message(),
            "KUBERNETES_SERVICE_HOST is not set: the agent runs in no pod, and no kubeconfig is "
            "given");
  EXPECT_EQ(InClusterAccess({.host = "h"}, clock_).status().message(),
            "KUBERNETES_SERVICE_PORT is not set: the agent runs in no pod, and no kubeconfig is "
            "given");
  const std::string token = "the token of the service account, " + PathOf("token");
  EXPECT_EQ(InCluster().status().message(), token + ", cannot be used: No such file or directory");
  Write("token", " \n");
  EXPECT_EQ(InCluster().status().message(), token + ", cannot be used: it is empty");
  Write("token", "s3cr3t\nX-Header: 1");
  EXPECT_EQ(InCluster().status().message(),
            token + ", cannot be used: it holds characters that no token has");
  Write("token", std::string(2 << 20, 'x'));
  EXPECT_EQ(InCluster().status().message(),
            token + ", cannot be used: it is longer than 1048576 bytes");
  Write("token", "abc");
  Write("ca.crt", "s3cr3t");
  EXPECT_EQ(InCluster().status().message(), "the certificate of the cluster's CA, " +
                                                PathOf("ca.crt") +
                                                ", cannot be used: it holds nothing in PEM form");
}

TEST_F(KubeAccessTest, FilesAreReadAgainAfterAMinuteOrWhenRefused) {
  Write("token", "first");
  Write("ca.crt", kPem);
  const auto access = *InCluster();
  Write("token", "second");
  Write("ca.crt", std::string(kPem) + "more");
  EXPECT_EQ(TokenOf(*access), "first");
  clock_.Advance(KubeAccess::kReread - Nanos(1));
  EXPECT_EQ(TokenOf(*access), "first");
  clock_.Advance(Nanos(1));
  EXPECT_EQ(TokenOf(*access), "second");
  EXPECT_EQ(Wait(*access)->ca_pem, std::string(kPem) + "more");
  Write("token", "third");
  EXPECT_EQ(TokenOf(*access), "second");
  access->Refused();
  EXPECT_EQ(TokenOf(*access), "third");
}

TEST_F(KubeAccessTest, WhatWasReadLastHoldsWhileTheFileIsReplaced) {
  Write("token", "first");
  Write("ca.crt", kPem);
  const auto access = *InCluster();
  for (const char* broken : {"", "two words"}) {
    Write("token", broken);
    access->Refused();
    EXPECT_EQ(TokenOf(*access), "first");
  }
  std::filesystem::remove(PathOf("token"));
  access->Refused();
  EXPECT_EQ(TokenOf(*access), "first");
  Write("token", "second");
  EXPECT_EQ(TokenOf(*access), "second");  // at once, not after a minute
}

TEST_F(KubeAccessTest, KubeconfigWithFiles) {
  Write("token", "abc");
  Write("ca.crt", kPem);
  Write("me.crt", kPem);
  Write("me.key", kPem);
  const std::string config = Write("config", R"(current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://k:6443", certificate-authority: ca.crt}}]
users: [{name: u, user: {token: old, tokenFile: token, client-certificate: me.crt, client-key: me.key}}]
)");
  const auto access = KubeconfigAccess(config, "", clock_);
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(**(*access)->Get(), (KubeEndpoint{.server = "https://k:6443",
                                              .ca_pem = kPem,
                                              .token = Secret("abc"),
                                              .client_cert_pem = kPem,
                                              .client_key_pem = Secret(kPem)}));
  EXPECT_EQ((*access)->description(), "context c of " + config);
  std::filesystem::remove(PathOf("me.key"));
  EXPECT_EQ(KubeconfigAccess(config, "", clock_).status().message(),
            "the client-key of context c of " + config + ", " + PathOf("me.key") +
                ", cannot be used: No such file or directory");
  EXPECT_EQ(KubeconfigAccess(PathOf("none"), "", clock_).status().message(),
            "the kubeconfig " + PathOf("none") + " cannot be read: No such file or directory");
}

TEST_F(KubeAccessTest, PluginRunsOnceUntilItsCredentialExpires) {
  // The clock stands at 2023-11-14T22:13:21Z.
  WriteTokenPlugin(",\"expirationTimestamp\":\"2023-11-14T22:15:01Z\"");
  Write("next", "first");
  const auto access = *KubeconfigAccess(ExecConfig("./plugin"), "", clock_);
  EXPECT_EQ(TokenOf(*access), "first");
  Write("next", "second");
  clock_.Advance(std::chrono::seconds(69));
  EXPECT_EQ(TokenOf(*access), "first");
  EXPECT_EQ(Runs(), 1u);
  clock_.Advance(std::chrono::seconds(1));  // half a minute before it expires
  std::string token;
  for (int i = 0; i < 1'000'000 && token != "second"; ++i) {
    token = TokenOf(*access);  // the old one holds until the new one is there
    ASSERT_TRUE(token == "first" || token == "second") << token;
    std::this_thread::yield();
  }
  EXPECT_EQ(token, "second");
  EXPECT_EQ(Runs(), 2u);
}

TEST_F(KubeAccessTest, RefusedCredentialIsGotAnewButNotWithoutPause) {
  WriteTokenPlugin("");
  Write("next", "first");
  const auto access = *KubeconfigAccess(ExecConfig("./plugin"), "", clock_);
  EXPECT_EQ(TokenOf(*access), "first");
  Write("next", "second");
  clock_.Advance(std::chrono::hours(100));
  EXPECT_EQ(TokenOf(*access), "first");
  access->Refused();
  EXPECT_EQ(TokenOf(*access), "second");
  access->Refused();
  EXPECT_FALSE(access->Get()->has_value());  // not yet again
  EXPECT_EQ(Runs(), 2u);
  clock_.Advance(std::chrono::seconds(10));
  EXPECT_EQ(TokenOf(*access), "second");
  EXPECT_EQ(Runs(), 3u);
}

TEST_F(KubeAccessTest, PluginGetsItsArgumentsAndEnvironment) {
  WriteScript("plugin",
              "printf '%s|%s|%s' \"$1\" \"$PROFILE\" \"$KUBERNETES_EXEC_INFO\" > \"${0%/*}/told\"\n"
              "printf '{\"kind\":\"ExecCredential\",\"apiVersion\":"
              "\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"t\"}}'\n");
  const auto access = *KubeconfigAccess(
      ExecConfig("./plugin", "      args: [get]\n      env: [{name: PROFILE, value: ops}]"), "",
      clock_);
  EXPECT_EQ(TokenOf(*access), "t");
  EXPECT_EQ(ReadBytes(PathOf("told")),
            "get|ops|{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":"
            "\"ExecCredential\",\"spec\":{\"interactive\":false}}");
}

TEST_F(KubeAccessTest, PluginThatFailsIsNamedAndAskedAgainAfterAPause) {
  WriteScript("plugin", "echo s3cr3t; echo s3cr3t >&2; exit 3\n");
  const auto access =
      *KubeconfigAccess(ExecConfig("./plugin", "      installHint: get it there"), "", clock_);
  const std::string sentence =
      "the exec plugin " + PathOf("./plugin") + " ended with exit code 3; its hint: get it there";
  EXPECT_EQ(TokenOf(*access), sentence);
  WriteTokenPlugin("");
  Write("next", "first");
  EXPECT_EQ(TokenOf(*access), sentence);
  clock_.Advance(std::chrono::seconds(10));
  EXPECT_EQ(TokenOf(*access), "first");
}

TEST_F(KubeAccessTest, PluginThatPrintsRubbishIsNamedWithoutIt) {
  WriteScript("plugin", "echo s3cr3t\n");
  const auto access = *KubeconfigAccess(ExecConfig("./plugin"), "", clock_);
  EXPECT_EQ(TokenOf(*access),
            "the exec plugin " + PathOf("./plugin") + ": what it printed is no JSON object");
}

TEST_F(KubeAccessTest, PluginThatIsNotThereIsNamed) {
  EXPECT_EQ(
      KubeconfigAccess(ExecConfig("./gone"), "", clock_).status().message(),
      "the exec plugin " + PathOf("./gone") + " cannot be started: No such file or directory");
}

TEST_F(KubeAccessTest, PluginThatPrintsTooMuchIsEnded) {
  WriteScript("plugin", "exec cat /dev/zero\n");
  const auto access = *KubeconfigAccess(ExecConfig("./plugin"), "", clock_);
  EXPECT_EQ(TokenOf(*access),
            "the exec plugin " + PathOf("./plugin") + " printed more than 1048576 bytes");
}

TEST_F(KubeAccessTest, PluginThatNeverEndsIsEndedWithItsChildren) {
  ASSERT_EQ(mkfifo(PathOf("fifo").c_str(), 0600), 0);
  // The child holds the writing end of the FIFO for as long as it lives.
  WriteScript("plugin", "sleep 1000 > \"${0%/*}/fifo\" & wait\n");
  const auto access = *KubeconfigAccess(ExecConfig("./plugin"), "", clock_);
  const int fifo = open(PathOf("fifo").c_str(), O_RDONLY | O_CLOEXEC);  // waits for the child
  ASSERT_GE(fifo, 0);
  EXPECT_FALSE(access->Get()->has_value());
  clock_.Advance(ExecPlugin::kTimeout);
  EXPECT_EQ(access->Get().status().message(),
            "the exec plugin " + PathOf("./plugin") + " did not end within 60 s");
  char byte = 0;
  EXPECT_EQ(read(fifo, &byte, 1), 0);  // the end of the file: the child is gone
  close(fifo);
}

}  // namespace
}  // namespace phantomd
