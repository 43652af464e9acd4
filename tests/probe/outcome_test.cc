#include "agent/probe/outcome.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace phantomd {
namespace {

struct OutcomeRow {
  const char* what;
  uint8_t flags;
  int error;
  int soft_error;
  uint8_t shutdown;
  int icmp_error;
  ConnectResult expected;
};

constexpr uint8_t kSyn = CONNECT_FLAG_SYN_SENT;
constexpr uint8_t kIcmp = CONNECT_FLAG_ICMP | kSyn;
constexpr uint8_t kRst = CONNECT_FLAG_RST | kSyn;
constexpr uint8_t kEst = CONNECT_FLAG_ESTABLISHED | kSyn;

// The columns are what the kernel leaves in each of these cases.
const OutcomeRow kOutcomeRows[] = {
    {"handshake", kEst, 0, 0, 0, 0, {Outcome::kEstablished, 0}},
    {"handshake after an ICMP error", kEst | kIcmp, 0, 113, 0, 113, {Outcome::kEstablished, 0}},
    {"RST", kRst, ECONNREFUSED, 0, 0, 0, {Outcome::kRefused, ECONNREFUSED}},
    {"ICMP, then RST to the next SYN",
     kRst | kIcmp,
     ECONNREFUSED,
     113,
     0,
     113,
     {Outcome::kRefused, ECONNREFUSED}},
    {"SYN timeout", kSyn, ETIMEDOUT, 0, 0, 0, {Outcome::kTimedOut, ETIMEDOUT}},
    {"close in SYN_SENT", kSyn, 0, 0, 3, 0, {Outcome::kAbandoned, 0}},
    {"connect(AF_UNSPEC)", kSyn, 0, 0, 0, 0, {Outcome::kAbandoned, 0}},
    {"ICMP host", kIcmp, EHOSTUNREACH, 0, 0, 113, {Outcome::kUnreachable, EHOSTUNREACH}},
    {"ICMP port", kIcmp, ECONNREFUSED, 0, 0, 111, {Outcome::kUnreachable, ECONNREFUSED}},
    {"ICMP inside connect, SO_ERROR read, closed",
     kIcmp,
     0,
     0,
     3,
     EHOSTUNREACH,
     {Outcome::kUnreachable, EHOSTUNREACH}},
    {"ICMPv6 inside connect, closed",
     kSyn,
     0,
     EHOSTUNREACH,
     3,
     0,
     {Outcome::kUnreachable, EHOSTUNREACH}},
    {"ICMPv6 port", kSyn, ECONNREFUSED, 0, 0, 0, {Outcome::kUnreachable, ECONNREFUSED}},
    {"ICMPv6 prohibited", kSyn, EACCES, 0, 0, 0, {Outcome::kUnreachable, EACCES}},
    {"link deleted", kSyn, ENETUNREACH, ENETUNREACH, 0, 0, {Outcome::kUnreachable, ENETUNREACH}},
    {"no free port", 0, 0, 0, 0, 0, {Outcome::kLocalError, EADDRNOTAVAIL}},
    {"socket destroyed by ss -K", kSyn, ECONNABORTED, 0, 0, 0, {Outcome::kOtherError, 103}},
    {"no memory", kSyn, ENOBUFS, 0, 0, 0, {Outcome::kLocalError, ENOBUFS}},
};

TEST(OutcomeTest, FollowsFromWhatTheKernelLeft) {
  for (const OutcomeRow& row : kOutcomeRows) {
    connect_record record{};
    record.kind = CONNECT_RECORD_ATTEMPT;
    record.flags = row.flags;
    record.error = row.error;
    record.soft_error = row.soft_error;
    record.shutdown = row.shutdown;
    record.icmp_error = row.icmp_error;
    const ConnectResult result = ClassifyConnect(record);
    EXPECT_EQ(result.outcome, row.expected.outcome) << row.what;
    EXPECT_EQ(result.error_number, row.expected.error_number) << row.what;
  }
}

TEST(OutcomeTest, SynchronousFailureIsNoRouteUnlessSomethingRanOut) {
  const std::pair<int, Outcome> rows[] = {
      {ENETUNREACH, Outcome::kNoRoute},     {EHOSTUNREACH, Outcome::kNoRoute},
      {EACCES, Outcome::kNoRoute},          {EPERM, Outcome::kNoRoute},
      {EINVAL, Outcome::kNoRoute},          {EADDRNOTAVAIL, Outcome::kLocalError},
      {EAFNOSUPPORT, Outcome::kOtherError},
  };
  for (const auto& [error, outcome] : rows) {
    connect_record record{};
    record.kind = CONNECT_RECORD_SYNC_FAILURE;
    record.error = error;
    EXPECT_EQ(ClassifyConnect(record), (ConnectResult{outcome, error})) << error;
  }
}

TEST(OutcomeTest, AttemptTakesOverEveryField) {
  connect_record record{};
  record.kind = CONNECT_RECORD_ATTEMPT;
  record.flags = kIcmp;
  record.error = EHOSTUNREACH;
  record.icmp_type = 3;
  record.icmp_code = 1;
  record.started_ns = 100;
  record.ended_ns = 200;
  record.netns_cookie = 1;
  record.socket_cookie = 2;
  record.cgroup_id = 3;
  record.process_start_ns = 50;
  record.process_id = 7;
  record.thread_id = 8;
  record.retransmits = 4;
  record.source[10] = record.source[11] = 0xff;
  record.source[12] = 10;
  record.source[15] = 2;
  record.source_port = 40000;
  record.destination[0] = 0xfd;
  record.destination[15] = 9;
  record.destination_port = 80;

  Attempt expected;
  expected.netns_cookie = 1;
  expected.socket_cookie = 2;
  expected.cgroup_id = 3;
  expected.process_id = 7;
  expected.thread_id = 8;
  expected.process_start = BootTime::FromNanos(50);
  expected.started = BootTime::FromNanos(100);
  expected.ended = BootTime::FromNanos(200);
  expected.source = {IpAddr::V4(10, 0, 0, 2), 40000};
  expected.destination = {*IpAddr::Parse("fd00::9"), 80};
  expected.outcome = Outcome::kUnreachable;
  expected.error_number = EHOSTUNREACH;
  expected.icmp_type = 3;
  expected.icmp_code = 1;
  expected.syn_retransmits = 4;
  EXPECT_EQ(ToAttempt(record), expected);
}

}  // namespace
}  // namespace phantomd
