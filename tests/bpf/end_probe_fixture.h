// What the tests of ends, as the whole probe tells them, share: the ends of the first namespace's
// connections, and which attempt each belongs to.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "agent/base/check.h"
#include "tests/bpf/probe_fixture.h"

namespace phantomd {

class EndProbeTest : public ProbeTest {
 protected:
  void Keep(ProbeOutput output) override {
    if (const auto* end = std::get_if<ConnectionEnd>(&output)) {
      if (end->netns_cookie == lab_.client.cookie()) ends_.push_back(*end);
    }
    ProbeTest::Keep(std::move(output));
  }

  static void Reset(Fd fd) { CloseByReset(fd); }
  // What somebody has connected to the server's port of this family.
  Fd Accept(Family family = Family::kV4) const {
    const Fd& listener = family == Family::kV6 ? server_v6_ : server_v4_;
    return Fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  void ResetAccepted() { Reset(Accept()); }

  // The end of the connection whose attempt came from that port.
  const ConnectionEnd* EndOf(uint16_t source_port) {
    const Attempt* attempt = AttemptFrom(source_port);
    if (attempt == nullptr) return nullptr;
    const auto end = std::find_if(ends_.begin(), ends_.end(), [&](const ConnectionEnd& e) {
      return e.socket_cookie == attempt->socket_cookie;
    });
    return end == ends_.end() ? nullptr : &*end;
  }
  const ConnectionEnd* WaitForEndOf(uint16_t source_port) {
    EXPECT_TRUE(WaitFor([&] {
      Consume();
      return EndOf(source_port) != nullptr;
    }));
    return EndOf(source_port);
  }

  std::vector<ConnectionEnd> ends_;
};

}  // namespace phantomd
