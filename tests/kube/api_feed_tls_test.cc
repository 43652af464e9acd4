// A feed over TLS and HTTP/2, with a real Envoy in front of the server.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "gmock/gmock.h"
#include "tests/base/temporary_folder.h"
#include "tests/kube/api_feed_fixture.h"
#include "tests/testing/envoy_binary.h"

namespace phantomd {
namespace {

using ::testing::HasSubstr;
using namespace testing::api;

constexpr char kName[] = "kubernetes.default.svc";  // the only one in the server's certificate

// Wants a client certificate of its CA, and speaks HTTP/2 alone.
constexpr char kBootstrap[] = R"(static_resources:
  listeners:
  - name: api
    address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
    filter_chains:
    - transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
          require_client_certificate: true
          common_tls_context:
            alpn_protocols: [h2]
            tls_certificates:
            - certificate_chain: {{filename: {folder}/server.pem}}
              private_key: {{filename: {folder}/server.key}}
            validation_context: {{trusted_ca: {{filename: {folder}/ca.pem}}}}
      filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: api
          codec_type: HTTP2
          stream_idle_timeout: 0s
          common_http_protocol_options: {{max_requests_per_connection: {requests}}}
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
          route_config:
            virtual_hosts:
            - name: api
              domains: ["*"]
              routes: [{{match: {{prefix: "/"}}, route: {{cluster: server, timeout: 0s}}}}]
  clusters:
  - name: server
    type: STATIC
    connect_timeout: 1s
    load_assignment:
      cluster_name: server
      endpoints:
      - lb_endpoints:
        - endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {server}}}}}}}
)";

class ApiFeedTlsTest : public ApiFeedTest {
 protected:
  void SetUp() override { SetUpWith(0); }
  // `requests`: after so many Envoy wants no more on a connection; 0: any number.
  void SetUpWith(int requests) {
    Certify("ca", "");
    Certify("other", "");
    Certify("server", "ca");
    Certify("client", "ca");
    Start(&Ordinary, Probing());
    const uint16_t port = testing::FreePort();
    const std::string server = server_->url();
    std::ofstream(folder_ / "envoy.yaml") << fmt::format(
        kBootstrap, fmt::arg("port", port), fmt::arg("folder", folder_.path()),
        fmt::arg("server", server.substr(server.rfind(':') + 1)), fmt::arg("requests", requests));
    StartEnvoy();
    endpoint_ = {.server = fmt::format("https://127.0.0.1:{}", port),
                 .ca_pem = Read("ca.pem"),
                 .tls_name = kName,
                 .token = Secret("open sesame"),
                 .client_cert_pem = Read("client.pem"),
                 .client_key_pem = Secret(Read("client.key"))};
  }
  void TearDown() override {
    if (envoy_ <= 0) return;
    kill(envoy_, SIGKILL);
    waitpid(envoy_, nullptr, 0);
  }

  // NAME.pem and NAME.key, signed by `issuer`; empty: a CA.
  void Certify(const std::string& name, const std::string& issuer) {
    std::string command = fmt::format(
        "cd {} && printf 'subjectAltName=DNS:{}' >names && openssl req -newkey ec -pkeyopt "
        "ec_paramgen_curve:P-256 -nodes -keyout {}.key -subj /CN={} ",
        folder_.path(), kName, name, name);
    command += issuer.empty() ? fmt::format("-x509 -days 2 -out {}.pem", name)
                              : fmt::format(
                                    "-out {}.csr && openssl x509 -req -in {}.csr -CA {}.pem -CAkey "
                                    "{}.key -CAcreateserial -days 2 -extfile names -out {}.pem",
                                    name, name, issuer, issuer, name);
    ASSERT_EQ(std::system(fmt::format("({}) 2>/dev/null", command).c_str()), 0) << command;
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void StartEnvoy() {
    const std::string binary = testing::EnvoyBinary();
    ASSERT_FALSE(binary.empty()) << "no Envoy: deploy/install-packages fetches it";
    envoy_ = fork();
    if (envoy_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (chdir(folder_.path().c_str()) != 0) _exit(1);
    execl(binary.c_str(), "envoy", "-c", "envoy.yaml", "--use-dynamic-base-id", "--concurrency",
          "1", "-l", "off", nullptr);
    _exit(2);
  }
  // Follows the endpoint until something is told of it that is not "nobody is there yet".
  std::string Trouble(const KubeEndpoint& endpoint) {
    access_.answer = endpoint;
    std::string trouble;
    EXPECT_TRUE(Until([&] {
      trouble = feed_->stats().last_error;
      if (trouble.find("Failed to connect") != std::string::npos) Follow();
      return !trouble.empty() && trouble.find("Failed to connect") == std::string::npos;
    }));
    return trouble;
  }

  testing::TempFolder folder_;
  pid_t envoy_ = -1;
  KubeEndpoint endpoint_;
};

// The feed itself holds a probe to the watch's connection: over another one it would be broken for
// good.
TEST_F(ApiFeedTlsTest, ProbesShareTheWatchsConnection) {
  access_.answer = endpoint_;
  ASSERT_TRUE(UntilTold("synced"));
  const int probes = Asked(IsProbe);
  ASSERT_TRUE(Until([&] { return Asked(IsProbe) >= probes + 3; }));
  server_->Push(Added(2, 11));
  ASSERT_TRUE(Until([&] { return feed_->stats().objects == 2; }));
  ASSERT_TRUE(Until([&] { return feed_->stats().synced; }));
  const std::string head = server_->asked().back().head;
  EXPECT_THAT(head, HasSubstr("authorization: Bearer open sesame\r\n"));
  EXPECT_THAT(head, HasSubstr("host: " + endpoint_.server.substr(8) + "\r\n"));
}

// A watch that is broken off leaves its connection open.
TEST_F(ApiFeedTlsTest, ProbesShareTheNextWatchsConnectionToo) {
  ApiFeedOptions options = Probing();
  options.list_watch.watch_list = true;
  access_.answer = endpoint_;
  Follow(options);
  for (int version = 10; version <= 20; version += 10) {
    ASSERT_TRUE(Until([&] {
      server_->Push(Bookmark(version, true));
      return feed_->stats().synced;
    }));
    server_->Push(Event("ERROR", Status(410, "Expired", "too old")));
    ASSERT_TRUE(Until([&] { return !feed_->stats().synced; }));
  }
}

TEST_F(ApiFeedTlsTest, AServerThatStandsStillBehindItBreaksTheFeedUntilItGoesOn) {
  access_.answer = endpoint_;
  ASSERT_TRUE(UntilTold("synced"));
  server_->Stop();
  ASSERT_TRUE(UntilTold("broken"));
  server_->Resume();
  ASSERT_TRUE(UntilTold("synced"));
}

class ApiFeedGoAwayTest : public ApiFeedTlsTest {
 protected:
  void SetUp() override { SetUpWith(5); }
};

// As an API server with --goaway-chance, or one that ends behind a load balancer.
TEST_F(ApiFeedGoAwayTest, WatchMovesToAConnectionThatTakesProbes) {
  access_.answer = endpoint_;
  ASSERT_TRUE(UntilTold("synced"));
  ASSERT_TRUE(Until([&] { return Asked(IsWatch) >= 3; }));
  ASSERT_TRUE(UntilTold("synced"));
}

TEST_F(ApiFeedTlsTest, WhatIsWrongWithACertificateIsNamed) {
  KubeEndpoint wrong = endpoint_;
  wrong.ca_pem = Read("other.pem");
  EXPECT_THAT(Trouble(wrong), HasSubstr("certificate"));
  EXPECT_GE(access_.refused, 1);  // the CA may have been replaced
  wrong = endpoint_;
  wrong.client_key_pem = Secret(Read("server.key"));
  const int refused = access_.refused;
  Follow();
  EXPECT_NE(Trouble(wrong), "");
  EXPECT_GT(access_.refused, refused);  // one of the two files was replaced, the other is being
  wrong = endpoint_;
  wrong.tls_name.clear();
  Follow();
  EXPECT_THAT(Trouble(wrong), HasSubstr("127.0.0.1"));
  wrong = endpoint_;
  wrong.client_cert_pem.clear();
  wrong.client_key_pem = Secret();
  Follow();
  EXPECT_NE(Trouble(wrong), "");  // the alert, or a connection that broke before it came
  EXPECT_TRUE(server_->asked().empty());
  wrong = endpoint_;
  wrong.ca_pem.clear();
  wrong.verify = false;
  access_.answer = wrong;
  Follow();
  EXPECT_TRUE(UntilTold("synced"));
}

}  // namespace
}  // namespace phantomd
