// What the tests of connections' ends share: two namespaces, a probe that watches one of them and
// records ends by FIN too, and the rule that what is done to one connection leaves exactly the
// expected records.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/check.h"
#include "agent/probe/connection_end.h"
#include "agent/probe/kernel_probe.h"
#include "tests/bpf/network_lab.h"
#include "tests/bpf/outcome_table.h"

namespace phantomd {

struct ExpectedEnd {
  ConnectionEnd::How how = ConnectionEnd::How::kUnspecified;
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
};

std::string Show(const std::vector<ExpectedEnd>& ends);

class EndTest : public testing::TestWithParam<Family> {
 protected:
  using How = ConnectionEnd::How;

  static void SetUpTestSuite();
  static void TearDownTestSuite();

  Family family() const { return GetParam(); }

  // A connection of the client's namespace, made by the calling thread or `connect`.
  struct Connection {
    Fd client;
    Fd server;
    uint64_t cookie = 0;
    uint16_t port = 0;  // the client's
    uint32_t process_id = 0;
    uint32_t thread_id = 0;
  };
  Connection Connect() const;
  // Its halves, for a connection whose sides are in different processes.
  Connection ConnectOnly() const;
  Fd Accept() const;

  // Does `action` to a new connection, which must leave these records, in this order.
  void Check(std::string_view what, const std::vector<ExpectedEnd>& expected,
             const std::function<void(Connection&)>& action);
  // Of a connection that exists.
  void CheckOf(std::string_view what, Connection connection,
               const std::vector<ExpectedEnd>& expected,
               const std::function<void(Connection&)>& action);

  // What the client sends on this connection vanishes while it lives; the first `packets` alone,
  // if not 0.
  class Silence {
   public:
    explicit Silence(const Connection& connection, int packets = 0);
    ~Silence();
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;
  };

  static void Send(const Fd& fd, std::string_view text);
  static void Receive(const Fd& fd, size_t size);
  // "ping" arrives, then both sides close, the client first.
  static void PingAndClose(Connection& c);
  static void ResetWhenClosed(const Fd& fd);
  // Retransmissions of the same data by the timer, so far.
  static int Retransmits(const Fd& fd);

  static inline NetworkLab* lab_ = nullptr;
  static inline KernelProbe* probe_ = nullptr;
  static inline Fd* listener_v4_ = nullptr;
  static inline Fd* listener_v6_ = nullptr;

 private:
  std::vector<ConnectionEnd> TakeEnds(uint64_t cookie);
  void CheckCircumstances(const ConnectionEnd& end, const Connection& connection) const;
};

}  // namespace phantomd
