#include "agent/serve/metrics_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "tests/wire/sample_report.h"

namespace phantomd {
namespace {

// Body of the answer to GET `path`; empty when nobody answers with 200.
std::string Get(int port, const std::string& path) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET,
                      .sin_port = htons(static_cast<uint16_t>(port)),
                      .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  std::string out;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    const std::string request = "GET " + path + " HTTP/1.0\r\nHost: localhost\r\n\r\n";
    EXPECT_EQ(send(fd, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
    char buffer[4096];
    for (ssize_t n; (n = recv(fd, buffer, sizeof(buffer), 0)) > 0;) out.append(buffer, n);
  }
  close(fd);
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
            address +
                ": cannot serve metrics there: the address is in use, not of this machine or "
                "not HOST:PORT");
  // The same by all addresses of the machine.
  EXPECT_FALSE(MetricsServer::Start(":" + std::to_string((*first)->port()), report_, health_).ok());
}

TEST_F(MetricsServerTest, RubbishIsNoAddress) {
  for (const char* address : {"", "nonsense", "127.0.0.1", "127.0.0.1:70000"}) {
    EXPECT_FALSE(MetricsServer::Start(address, report_, health_).ok()) << address;
  }
}

TEST_F(MetricsServerTest, PortAloneIsEveryAddressOfTheMachine) {
  const auto server = MetricsServer::Start(":0", report_, health_);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_NE(Get((*server)->port(), "/metrics"), "");
}

// Left to itself the library takes two seconds for each, once it has begun to wait.
TEST_F(MetricsServerTest, EndsAtOnceWhileItWaitsForTheNextScrape) {
  const auto begun = std::chrono::steady_clock::now();
  for (const char* address : {"127.0.0.1:0", ":0", "127.0.0.1:0", ":0"}) {
    const auto server = MetricsServer::Start(address, report_, health_);
    ASSERT_TRUE(server.ok()) << server.status();
    EXPECT_NE(Get((*server)->port(), "/metrics"), "");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(4));
}

}  // namespace
}  // namespace phantomd
