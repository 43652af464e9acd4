#include "agent/probe/connection_end.h"

#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include <cerrno>

namespace phantomd {
namespace {

using How = ConnectionEnd::How;

struct Case {
  int state;
  int error;
  int flags;
  How how;
};

TEST(ConnectionEndTest, TheFirstRuleThatAppliesDecides) {
  constexpr Case kCases[] = {
      {TCP_ESTABLISHED, 0, END_FLAG_STALLED, How::kStalled},
      {TCP_FIN_WAIT1, 0, END_FLAG_STALLED, How::kStalled},
      {TCP_ESTABLISHED, ECONNRESET, END_FLAG_RST, How::kReset},
      {TCP_FIN_WAIT1, ECONNRESET, END_FLAG_RST, How::kReset},
      {TCP_FIN_WAIT2, ECONNRESET, END_FLAG_RST, How::kReset},
      {TCP_CLOSE_WAIT, EPIPE, END_FLAG_RST | END_FLAG_PEER_FIN, How::kReset},
      {TCP_LAST_ACK, ECONNRESET, END_FLAG_RST | END_FLAG_PEER_FIN, How::kClosed},
      {TCP_CLOSING, ECONNRESET, END_FLAG_RST | END_FLAG_PEER_FIN, How::kClosed},
      {TCP_LAST_ACK, ETIMEDOUT, END_FLAG_PEER_FIN, How::kClosed},
      {TCP_ESTABLISHED, ETIMEDOUT, 0, How::kExpired},
      {TCP_FIN_WAIT1, ETIMEDOUT, 0, How::kExpired},
      {TCP_CLOSE_WAIT, ETIMEDOUT, END_FLAG_PEER_FIN, How::kExpired},
      {TCP_ESTABLISHED, EHOSTUNREACH, 0, How::kExpired},
      {TCP_ESTABLISHED, ECONNABORTED, 0, How::kAborted},
      {TCP_ESTABLISHED, 0, 0, How::kAborted},
      {TCP_FIN_WAIT1, 0, 0, How::kAborted},
      {TCP_CLOSE_WAIT, 0, END_FLAG_PEER_FIN, How::kClosed},
      {TCP_FIN_WAIT2, 0, 0, How::kClosed},
      {TCP_TIME_WAIT, 0, END_FLAG_PEER_FIN, How::kClosed},
  };
  for (const Case& c : kCases) {
    end_record record{};
    record.state = c.state;
    record.error = c.error;
    record.flags = c.flags;
    EXPECT_EQ(ClassifyEnd(record), c.how)
        << "state " << c.state << " error " << c.error << " flags " << c.flags;
  }
}

TEST(ConnectionEndTest, FinIsNoByte) {
  end_record record{};
  record.bytes_sent = 7;
  record.bytes_received = 5;
  EXPECT_EQ(ToConnectionEnd(record).bytes_sent, 7u);
  EXPECT_EQ(ToConnectionEnd(record).bytes_received, 5u);
  record.flags = END_FLAG_PEER_FIN;
  EXPECT_EQ(ToConnectionEnd(record).bytes_received, 4u);
  record.bytes_received = 0;
  EXPECT_EQ(ToConnectionEnd(record).bytes_received, 0u);
}

}  // namespace
}  // namespace phantomd
