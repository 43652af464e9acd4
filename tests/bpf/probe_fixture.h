// What the tests of the whole probe share: two namespaces, a probe, and what it has told of the
// first of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/base/clock.h"
#include "agent/probe/probe.h"
#include "tests/bpf/fake_proxy_process.h"
#include "tests/bpf/network_lab.h"

namespace phantomd {

class ProbeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    envoy_ = FakeProxy::Installed("envoy");
    lab_.server.Run([&] {
      server_v4_ = Listen(Family::kV4, 8080);
      server_v6_ = Listen(Family::kV6, 8081);
    });
  }

  void StartProbe(const ProbeOptions& options = {}) {
    absl::StatusOr<std::unique_ptr<Probe>> probe = Probe::Start(options, SystemClock().Now());
    ASSERT_TRUE(probe.ok()) << probe.status();
    probe_ = *std::move(probe);
    Consume();
  }

  // Other namespaces of this machine may hold proxies of their own: they are none of the test's.
  void Consume(BootTime now = SystemClock().Now()) {
    probe_->Consume(now, [&](ProbeOutput output) { Keep(std::move(output)); });
  }
  virtual void Keep(ProbeOutput output) {
    if (auto* attempt = std::get_if<Attempt>(&output)) {
      if (attempt->netns_cookie == lab_.client.cookie()) attempts_.push_back(*attempt);
    } else if (auto* proxy = std::get_if<DiscoveredProxy>(&output)) {
      if (proxy->proxy.netns_cookie == lab_.client.cookie()) proxies_.push_back(*proxy);
    } else if (auto* loss = std::get_if<Loss>(&output)) {
      losses_.push_back(*loss);
    }
  }

  const Attempt* AttemptFrom(uint16_t source_port) const {
    for (const Attempt& attempt : attempts_) {
      if (attempt.source.port == source_port) return &attempt;
    }
    return nullptr;
  }
  Initiator InitiatorOf(uint16_t source_port) {
    const bool seen = WaitFor([&] {
      Consume();
      return AttemptFrom(source_port) != nullptr;
    });
    return seen ? AttemptFrom(source_port)->initiator : Initiator::kUnspecified;
  }
  bool WaitForProxies(size_t count) {
    return WaitFor([&] {
      Consume();
      return proxies_.size() >= count;
    });
  }

  // An application's connection in the client's namespace, from `source_port` if not 0.
  uint16_t ConnectAsApplication(Family family, const IpAddr& ip, uint16_t port,
                                uint16_t source_port = 0) {
    Fd fd;
    lab_.client.Run([&] {
      fd = TcpSocket(family, true);
      if (source_port != 0) {
        SetOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
        const SocketAddress from = ToSockaddr(family, lab_.Client(family), source_port);
        ASSERT_EQ(bind(fd.get(), from.get(), from.size), 0);
      }
      ASSERT_EQ(phantomd::Connect(fd, family, ip, port), 0);
    });
    const uint16_t out = LocalPort(fd);
    kept_.push_back(std::move(fd));
    return out;
  }

  NetworkLab lab_;
  std::string envoy_;
  Fd server_v4_;  // port 8080
  Fd server_v6_;  // port 8081
  Fd direct_;
  BootTime now_;  // of tests that let time pass
  std::vector<Fd> kept_;
  std::unique_ptr<Probe> probe_;
  std::vector<Attempt> attempts_;
  std::vector<DiscoveredProxy> proxies_;
  std::vector<Loss> losses_;
};

}  // namespace phantomd
