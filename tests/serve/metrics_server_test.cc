#include "agent/serve/metrics_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <list>

#include "agent/base/strings.h"
#include "tests/wire/sample_report.h"

namespace phantomd {
namespace {

// The rest of a request that wants one answer and the end of the connection.
constexpr const char* kClose = "\r\nHost: localhost\r\nConnection: close\r\n\r\n";

// A connection to this machine, over IPv4 or IPv6; it gives up reading after twenty seconds.
class Peer {
 public:
  explicit Peer(int port, int family = AF_INET) : fd_(socket(family, SOCK_STREAM, 0)) {
    const timeval patience{.tv_sec = 20};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (family == AF_INET) {
      const sockaddr_in address{.sin_family = AF_INET,
                                .sin_port = htons(static_cast<uint16_t>(port)),
                                .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
      connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    } else {
      const sockaddr_in6 address{.sin6_family = AF_INET6,
                                 .sin6_port = htons(static_cast<uint16_t>(port)),
                                 .sin6_addr = IN6ADDR_LOOPBACK_INIT};
      connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    }
  }
  ~Peer() { close(fd_); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  void Send(const std::string& bytes) {
    if (!connected_) return;
    EXPECT_EQ(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // All that comes until the server ends the connection.
  std::string ReadAll() {
    std::string out;
    char buffer[4096];
    for (ssize_t n; connected_ && (n = recv(fd_, buffer, sizeof(buffer), 0)) > 0;) {
      out.append(buffer, static_cast<size_t>(n));
    }
    return out;
  }

 private:
  const int fd_;
  bool connected_ = false;
};

std::string Exchange(int port, const std::string& request, int family = AF_INET) {
  Peer peer(port, family);
  peer.Send(request);
  return peer.ReadAll();
}

// Body of the answer to GET `path`; empty when nobody answers with 200.
std::string Get(int port, const std::string& path, int family = AF_INET) {
  const std::string out =
      Exchange(port, "GET " + path + " HTTP/1.0\r\nHost: localhost\r\n\r\n", family);
  const size_t body = out.find("\r\n\r\n");
  if (out.find(" 200 ") == std::string::npos || body == std::string::npos) return "";
  return out.substr(body + 4);
}

class MetricsServerTest : public ::testing::Test {
 protected:
  Published<Report> report_;
  Published<AgentHealth> health_;
};

TEST_F(MetricsServerTest, ScrapeShowsTheReportOfThatMoment) {
  const auto server = MetricsServer::Start("127.0.0.1:0", report_, health_);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(Get((*server)->port(), "/metrics").find("phantom_attempts_total{"), std::string::npos);
  report_.Set(std::make_shared<const Report>(testing::SampleReport()));
  EXPECT_NE(Get((*server)->port(), "/metrics").find("phantom_attempts_total{"), std::string::npos);
}

TEST_F(MetricsServerTest, PromtoolAcceptsTheScrapeWithoutAWord) {
  report_.Set(std::make_shared<const Report>(testing::SampleReport()));
  AgentHealth health;
  health.skipped = {{"pods", 1}};
  health.mailbox_blocked = {{"core", 0}};
  health_.Set(std::make_shared<const AgentHealth>(health));
  const auto server = MetricsServer::Start("127.0.0.1:0", report_, health_);
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string text = Get((*server)->port(), "/metrics");
  ASSERT_NE(text, "");

  // promtool reads standard input and complains on standard error; that goes to a file of ours.
  std::FILE* complaints = std::tmpfile();
  ASSERT_NE(complaints, nullptr);
  const std::string command =
      "promtool check metrics >&" + std::to_string(fileno(complaints)) + " 2>&1";
  std::FILE* promtool = popen(command.c_str(), "w");
  ASSERT_NE(promtool, nullptr);
  EXPECT_EQ(std::fwrite(text.data(), 1, text.size(), promtool), text.size());
  EXPECT_EQ(pclose(promtool), 0);
  std::rewind(complaints);
  char line[1000] = "";
  EXPECT_EQ(std::fgets(line, sizeof(line), complaints), nullptr) << line;
  std::fclose(complaints);
}

TEST_F(MetricsServerTest, PortInUseIsNamed) {
  const auto first = MetricsServer::Start("127.0.0.1:0", report_, health_);
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string address = "127.0.0.1:" + std::to_string((*first)->port());
  EXPECT_EQ(MetricsServer::Start(address, report_, health_).status().message(),
            address + ": cannot serve metrics there: Address already in use");
  // The same by all addresses of the machine.
  EXPECT_FALSE(MetricsServer::Start(":" + std::to_string((*first)->port()), report_, health_).ok());
}

TEST_F(MetricsServerTest, RubbishIsNoAddress) {
  for (const char* address :
       {"", "nonsense", "127.0.0.1", "127.0.0.1:70000", ":99999", "::1:9479", "192.0.2.1:0"}) {
    const auto server = MetricsServer::Start(address, report_, health_);
    ASSERT_FALSE(server.ok()) << address;
    EXPECT_TRUE(FromAbsl(server.status().message())
                    .starts_with(std::string(address) + ": cannot serve metrics there: "))
        << server.status();
  }
}

TEST_F(MetricsServerTest, EachFormListensWhereItSays) {
  const struct {
    const char* address;
    bool by_ipv4, by_ipv6;
  } kCases[] = {
      {"127.0.0.1:0", true, false}, {"[::1]:0", false, true}, {"[::]:0", false, true},
      {"0.0.0.0:0", true, false},   {":0", true, true},       {"localhost:0", true, true},
  };
  for (const auto& c : kCases) {
    const auto server = MetricsServer::Start(c.address, report_, health_);
    ASSERT_TRUE(server.ok()) << server.status();
    const int port = (*server)->port();
    const bool by_ipv4 = !Get(port, "/metrics").empty();
    const bool by_ipv6 = !Get(port, "/metrics", AF_INET6).empty();
    if (std::string(c.address).starts_with("localhost")) {
      EXPECT_TRUE(by_ipv4 || by_ipv6);  // whichever the machine's name service tells first
    } else {
      EXPECT_EQ(by_ipv4, c.by_ipv4) << c.address;
      EXPECT_EQ(by_ipv6, c.by_ipv6) << c.address;
    }
  }
}

TEST_F(MetricsServerTest, EveryRequestGetsItsAnswer) {
  const auto server = MetricsServer::Start("127.0.0.1:0", report_, health_);
  ASSERT_TRUE(server.ok()) << server.status();
  const struct {
    std::string request;
    std::string begins;
    std::string holds;
  } kCases[] = {
      {"GET /metrics HTTP/1.1", "HTTP/1.1 200 OK\r\n",
       "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"},
      {"GET /metrics?name=x HTTP/1.1", "HTTP/1.1 200 OK\r\n", ""},
      {"GET / HTTP/1.1", "HTTP/1.1 404 Not Found\r\n", "there is /metrics\n"},
      {"GET /metricsx HTTP/1.1", "HTTP/1.1 404 Not Found\r\n", ""},
      {"POST /metrics HTTP/1.1\r\nContent-Length: 0", "HTTP/1.1 405 Method Not Allowed\r\n",
       "\r\nAllow: GET, HEAD\r\n"},
      {"GET /" + std::string(100'000, 'x') + " HTTP/1.1", "HTTP/1.1 4", ""},
  };
  const int port = (*server)->port();
  for (const auto& c : kCases) {
    const std::string answer = Exchange(port, c.request + kClose);
    EXPECT_TRUE(answer.starts_with(c.begins)) << c.request << answer;
    EXPECT_NE(answer.find(c.holds), std::string::npos) << c.request << answer;
  }
  EXPECT_TRUE(
      Exchange(port, std::string("POST /metrics HTTP/1.1\r\nContent-Length: 5") + kClose + "12345")
          .starts_with("HTTP/1.1 405 Method Not Allowed\r\n"));
  const std::string get = Exchange(port, std::string("GET /metrics HTTP/1.1") + kClose);
  const std::string head = Exchange(port, std::string("HEAD /metrics HTTP/1.1") + kClose);
  const size_t body = get.find("\r\n\r\n") + 4;
  EXPECT_GT(get.size(), body);
  EXPECT_EQ(head.size(), body);
}

TEST_F(MetricsServerTest, WhatIsNoHttpHarmsNobody) {
  const auto server = MetricsServer::Start("127.0.0.1:0", report_, health_);
  ASSERT_TRUE(server.ok()) << server.status();
  for (const std::string& rubbish :
       {std::string("what\r\n\r\n"), std::string("\0\1\2\r\n\r\n", 7), std::string("\r\n\r\n")}) {
    Peer peer((*server)->port());
    peer.Send(rubbish);
    EXPECT_NE(Get((*server)->port(), "/metrics"), "") << rubbish;
  }
}

TEST_F(MetricsServerTest, RequestInPiecesIsOneAndSilentPeersKeepNobodyWaiting) {
  const auto server = MetricsServer::Start("127.0.0.1:0", report_, health_);
  ASSERT_TRUE(server.ok()) << server.status();
  const int port = (*server)->port();
  Peer silent(port), slow(port);
  slow.Send("GET /met");
  EXPECT_NE(Get(port, "/metrics"), "");
  slow.Send("rics HTTP/1.0\r\n\r");
  EXPECT_NE(Get(port, "/metrics"), "");
  slow.Send("\n");
  EXPECT_TRUE(slow.ReadAll().starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_F(MetricsServerTest, PeersBeyondTheMostWaitForTheirTurn) {
  const auto server = MetricsServer::Start("127.0.0.1:0", report_, health_);
  ASSERT_TRUE(server.ok()) << server.status();
  std::list<Peer> silent;
  for (size_t i = 0; i < MetricsServer::kMostConnections; ++i)
    silent.emplace_back((*server)->port());
  Peer waiting((*server)->port());
  waiting.Send(std::string("GET /metrics HTTP/1.1") + kClose);
  silent.clear();
  EXPECT_TRUE(waiting.ReadAll().starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_F(MetricsServerTest, PortAloneIsEveryAddressOfTheMachine) {
  const auto server = MetricsServer::Start(":0", report_, health_);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_NE(Get((*server)->port(), "/metrics"), "");
}

TEST_F(MetricsServerTest, EndsAtOnceWhileItWaitsForTheNextScrapeOrItsRest) {
  const auto begun = std::chrono::steady_clock::now();
  for (const char* address : {"127.0.0.1:0", ":0", "127.0.0.1:0", ":0"}) {
    const auto server = MetricsServer::Start(address, report_, health_);
    ASSERT_TRUE(server.ok()) << server.status();
    EXPECT_NE(Get((*server)->port(), "/metrics"), "");
    Peer silent((*server)->port());
    silent.Send("GET /m");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(4));
}

}  // namespace
}  // namespace phantomd
