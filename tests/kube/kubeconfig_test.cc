#include "agent/kube/kubeconfig.h"

#include <fmt/format.h>

#include "absl/strings/escaping.h"
#include "agent/kube/exec_credential.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

// A secret can be neither printed nor turned into something that can.
static_assert(!fmt::is_formattable<Secret>::value);
static_assert(!std::is_convertible_v<Secret, std::string>);
static_assert(!std::is_convertible_v<Secret, std::string_view>);

constexpr char kPem[] = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
constexpr char kKeyPem[] = "-----BEGIN PRIVATE KEY-----\nS3CR3T\n-----END PRIVATE KEY-----\n";

std::string Base64(const char* text) { return absl::Base64Escape(text); }

// Two contexts; `user` is that of the current one, whose lines are indented by six spaces.
std::string Config(const std::string& user, const std::string& cluster = "") {
  return fmt::format(R"(apiVersion: v1
kind: Config
current-context: here
contexts:
- name: there
  context: {{cluster: far, user: nobody}}
- name: here
  context:
    cluster: near
    user: me
    namespace: shop
clusters:
- name: near
  cluster:
      server: https://10.0.0.1:6443/
{}
- name: far
  cluster:
    server: https://far.example
    certificate-authority: pki/ca.crt
    tls-server-name: kubernetes
    proxy-url: http://proxy.example:3128
users:
- name: nobody
  user: {{}}
- name: me
  user:
{}
)",
                     cluster, user);
}

absl::StatusOr<Kubeconfig> Parse(const std::string& yaml, const std::string& context = "") {
  return ParseKubeconfig(yaml, "/etc/agent/config", context);
}

TEST(KubeconfigTest, CurrentContextWithEverythingInIt) {
  const auto config =
      Parse(Config(fmt::format("      client-certificate-data: {}\n      client-key-data: {}\n"
                               "      token: abc",
                               Base64(kPem), Base64(kKeyPem)),
                   fmt::format("      certificate-authority-data: {}", Base64(kPem))));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->context, "here");
  EXPECT_EQ(config->server, "https://10.0.0.1:6443");
  EXPECT_EQ(config->ca_pem, kPem);
  EXPECT_EQ(config->client_cert_pem, kPem);
  EXPECT_EQ(config->client_key_pem, Secret(kKeyPem));
  EXPECT_EQ(config->token, Secret("abc"));
  EXPECT_FALSE(config->insecure_skip_tls_verify);
  EXPECT_FALSE(config->exec.has_value());
}

TEST(KubeconfigTest, ContextThatIsAskedFor) {
  const auto config = Parse(Config("      token: abc"), "there");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "https://far.example");
  EXPECT_EQ(config->ca_file, "/etc/agent/pki/ca.crt");
  EXPECT_EQ(config->tls_server_name, "kubernetes");
  EXPECT_EQ(config->proxy_url, "http://proxy.example:3128");
  EXPECT_TRUE(config->token.empty());
}

TEST(KubeconfigTest, PathsAreBesideTheKubeconfig) {
  const auto config = Parse(
      Config("      tokenFile: /run/token\n      client-certificate: me.crt\n      client-key: "
             "../me.key"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->token_file, "/run/token");
  EXPECT_EQ(config->client_cert_file, "/etc/agent/me.crt");
  EXPECT_EQ(config->client_key_file, "/etc/agent/../me.key");
}

TEST(KubeconfigTest, ExecPlugin) {
  const auto config = Parse(Config(R"(      exec:
        apiVersion: client.authentication.k8s.io/v1
        command: bin/get-token
        args: [--cluster, "7"]
        env:
        - {name: PROFILE, value: ops}
        interactiveMode: IfAvailable
        provideClusterInfo: true
        installHint: get it there)"));
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_TRUE(config->exec.has_value());
  EXPECT_EQ(config->exec->command, "/etc/agent/bin/get-token");
  EXPECT_THAT(config->exec->args, ElementsAre("--cluster", "7"));
  EXPECT_THAT(config->exec->env, ElementsAre(Pair("PROFILE", "ops")));
  EXPECT_TRUE(config->exec->provide_cluster_info);
  EXPECT_EQ(config->exec->install_hint, "get it there");
}

TEST(KubeconfigTest, WhatIsMissingOrRefusedIsNamed) {
  const std::string good = Config("      token: abc");
  const auto without = [&good](const std::string& text, const std::string& instead = "") {
    std::string out = good;
    out.replace(out.find(text), text.size(), instead);
    return out;
  };
  const auto exec = [](const std::string& version, const std::string& more) {
    return Config("      exec:\n        apiVersion: " + version + "\n" + more);
  };
  const std::string v1 = "client.authentication.k8s.io/v1";
  const std::pair<std::string, const char*> cases[] = {
      {"a: [", "/etc/agent/config:1: it is not YAML"},
      {"", "/etc/agent/config: it has no current-context, and no context was asked for"},
      {"- 1", "/etc/agent/config: it has no current-context, and no context was asked for"},
      {without("current-context: here", "current-context: [x]"),
       "/etc/agent/config: the file: current-context is no text"},
      {without("current-context: here", "current-context: gone"),
       "/etc/agent/config: there is no context \"gone\" among its contexts"},
      {without("cluster: near", "cluster: gone"),
       "/etc/agent/config: there is no cluster \"gone\" among its clusters"},
      {without("    cluster: near\n"), "/etc/agent/config: context \"here\": cluster is missing"},
      {without("user: me", "user: gone"),
       "/etc/agent/config: there is no user \"gone\" among its users"},
      {without("server: https://10.0.0.1:6443/"),
       "/etc/agent/config: cluster \"near\": server is missing"},
      {without("https://10", "ftp://10"),
       "/etc/agent/config: cluster \"near\": server is no URL that begins with https:// or "
       "http://"},
      {Config("      token: abc", "      certificate-authority-data: '%'"),
       "/etc/agent/config: cluster \"near\": certificate-authority-data is not base64"},
      {Config("      token: abc", "      certificate-authority-data: aGk="),
       "/etc/agent/config: cluster \"near\": certificate-authority-data cannot be used: it holds "
       "nothing in PEM form"},
      {Config("      token: abc",
              "      insecure-skip-tls-verify: true\n      certificate-authority: ca.crt"),
       "/etc/agent/config: cluster \"near\": insecure-skip-tls-verify contradicts its "
       "certificate-authority"},
      {Config("      token: abc", "      insecure-skip-tls-verify: maybe"),
       "/etc/agent/config: cluster \"near\": insecure-skip-tls-verify is neither true nor false"},
      {Config("      token: abc", "      proxy-url: gopher://x"),
       "/etc/agent/config: cluster \"near\": proxy-url does not begin with http://, https:// or "
       "socks5://"},
      {Config("      username: u\n      password: s3cr3t"),
       "/etc/agent/config: user \"me\": username is not supported"},
      {Config("      auth-provider: {name: gcp}"),
       "/etc/agent/config: user \"me\": auth-provider is not supported"},
      {Config("      as: root"), "/etc/agent/config: user \"me\": as is not supported"},
      {Config("      token: 'a b'"),
       "/etc/agent/config: user \"me\": token cannot be used: it holds characters that no token "
       "has"},
      {Config("      client-certificate: me.crt"),
       "/etc/agent/config: user \"me\": client-key is missing beside the client-certificate"},
      {Config("      client-key: me.key"),
       "/etc/agent/config: user \"me\": client-certificate is missing beside the client-key"},
      {exec(v1, ""), "/etc/agent/config: user \"me\": exec: command is missing"},
      {exec("client.authentication.k8s.io/v1alpha1", "        command: x"),
       "/etc/agent/config: user \"me\": exec: apiVersion \"client.authentication.k8s.io/v1alpha1\" "
       "is neither client.authentication.k8s.io/v1 nor .../v1beta1"},
      {exec(v1, "        command: x\n        interactiveMode: Always"),
       "/etc/agent/config: user \"me\": exec: interactiveMode Always needs a terminal, which the "
       "agent has not"},
      {exec(v1, "        command: x\n        args: y"),
       "/etc/agent/config: user \"me\": args is no list"},
  };
  ASSERT_TRUE(Parse(good).ok());
  for (const auto& [yaml, sentence] : cases) {
    const auto config = Parse(yaml);
    ASSERT_FALSE(config.ok()) << sentence;
    EXPECT_EQ(config.status().message(), sentence);
  }
  EXPECT_EQ(Parse(good, "other").status().message(),
            "/etc/agent/config: there is no context \"other\" among its contexts");
}

TEST(KubeconfigTest, NoErrorHoldsASecret) {
  const std::string whole = Config(fmt::format(
      "      client-key-data: {}\n      token: s3cr3t\n      password: s3cr3t", Base64(kKeyPem)));
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string cut = whole.substr(0, at);
    for (const char* spoil : {"", "[", "\t", ": &", "\x80"}) {
      const auto config = Parse(cut + spoil + whole.substr(at));
      if (config.ok()) continue;
      const std::string sentence(config.status().message());
      EXPECT_THAT(sentence, Not(HasSubstr("s3cr3t"))) << at;
      EXPECT_THAT(sentence, Not(HasSubstr(Base64(kKeyPem)))) << at;
    }
  }
}

constexpr char kVersion[] = "client.authentication.k8s.io/v1";

absl::StatusOr<ExecCredential> Credential(const std::string& status,
                                          const std::string& version = kVersion) {
  return ParseExecCredential(
      fmt::format(R"({{"kind":"ExecCredential","apiVersion":"{}","status":{}}})", version, status),
      kVersion);
}

TEST(ExecCredentialTest, TokenWithItsExpiry) {
  const auto credential =
      Credential(R"({"token":"abc","expirationTimestamp":"2026-11-29T18:59:03Z"})");
  ASSERT_TRUE(credential.ok()) << credential.status();
  EXPECT_EQ(credential->token, Secret("abc"));
  EXPECT_EQ(credential->expires, WallTime::FromNanos(1795978743'000'000'000));
  EXPECT_FALSE(Credential(R"({"token":"abc"})")->expires.is_set());
}

TEST(ExecCredentialTest, ClientCertificate) {
  const auto credential = Credential(
      R"({"clientCertificateData":"-----BEGIN CERTIFICATE-----","clientKeyData":"-----BEGIN KEY-----"})");
  ASSERT_TRUE(credential.ok()) << credential.status();
  EXPECT_EQ(credential->client_cert_pem, "-----BEGIN CERTIFICATE-----");
  EXPECT_EQ(credential->client_key_pem, Secret("-----BEGIN KEY-----"));
}

TEST(ExecCredentialTest, WhatIsWrongIsNamedWithoutItsContent) {
  const std::pair<absl::StatusOr<ExecCredential>, const char*> cases[] = {
      {ParseExecCredential("s3cr3t", kVersion), "what it printed is no JSON object"},
      {ParseExecCredential("{}", kVersion), "what it printed is no ExecCredential"},
      {Credential("{}", "client.authentication.k8s.io/v1beta1"),
       "its ExecCredential is not of client.authentication.k8s.io/v1, which the kubeconfig asks "
       "for"},
      {Credential("{}"), "its ExecCredential holds neither a token nor a client certificate"},
      {Credential(R"({"token":7})"), "status.token: not a string"},
      {Credential(R"({"token":"s3cr3t\n"})"), "its token: it holds characters that no token has"},
      {Credential(R"({"token":"s3cr3t","expirationTimestamp":"s3cr3t"})"),
       "its expirationTimestamp is no time in RFC 3339"},
      {Credential(R"({"token":"a","clientKeyData":"s3cr3t"})"),
       "its ExecCredential holds a client certificate or a key without the other"},
      {Credential(R"({"clientCertificateData":"s3cr3t","clientKeyData":"s3cr3t"})"),
       "its client certificate or key is not in PEM form"},
  };
  for (const auto& [credential, sentence] : cases) {
    ASSERT_FALSE(credential.ok()) << sentence;
    EXPECT_EQ(credential.status().message(), sentence);
  }
}

TEST(ExecCredentialTest, PluginIsToldOfTheClusterIfItWants) {
  KubeconfigExec exec{.api_version = kVersion};
  const Kubeconfig config{.server = "https://a\"b", .tls_server_name = "kubernetes"};
  EXPECT_EQ(ExecInfo(exec, config, kPem),
            R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
            R"("spec":{"interactive":false}})");
  exec.provide_cluster_info = true;
  EXPECT_EQ(ExecInfo(exec, config, "-"),
            R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
            R"("spec":{"interactive":false,"cluster":{"server":"https://a\"b",)"
            R"("tls-server-name":"kubernetes","certificate-authority-data":"LQ=="}}})");
}

}  // namespace
}  // namespace phantomd
