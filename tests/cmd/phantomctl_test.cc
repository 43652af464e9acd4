// phantomctl as a process, asking a server in this one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "agent/cmd/ctl/show.h"
#include "agent/wire/message_json.h"
#include "agent/wire/report_wire.h"
#include "tests/cmd/local_time.h"
#include "tests/cmd/run_program.h"
#include "tests/serve/test_server.h"
#include "tests/wire/sample_report.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;
using ::testing::HasSubstr;
using testing::Ran;
using testing::TestServer;

class PhantomctlTest : public ::testing::Test {
 protected:
  PhantomctlTest() {
    server_.Publish(testing::SampleReport());
    EncodeReport(testing::SampleReport(), &report_);
  }

  Ran Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--address", server_.address()});
    return testing::RunProgram("phantomctl", arguments);
  }
  // Done without a word of complaint.
  std::string Output(const std::vector<std::string>& arguments) {
    const Ran ran = Run(arguments);
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.err, "");
    return ran.out;
  }

  const testing::LocalTime zone_{"UTC"};
  const testing::TempFolder folder_;
  TestServer server_;
  pb::Report report_;
};

TEST_F(PhantomctlTest, PrintsTablesByDefault) {
  pb::ListProxiesResponse proxies;
  *proxies.mutable_proxies() = report_.proxies();
  pb::ListRolloutsResponse rollouts;
  *rollouts.mutable_rollouts() = report_.rollouts();
  pb::ListConnectionsResponse connections;
  *connections.mutable_connections() = report_.connections();
  pb::ListStaleEndpointsResponse stale;
  *stale.mutable_endpoints() = report_.stale_endpoints();
  EXPECT_EQ(Output({"status"}), Show(report_.status(), Detail::kTable));
  EXPECT_EQ(Output({"proxies"}), Show(proxies, Detail::kTable));
  EXPECT_EQ(Output({"rollouts"}), Show(rollouts, Detail::kTable));
  EXPECT_EQ(Output({"rollout", report_.rollouts(0).name()}),
            Show(report_.rollouts(0), Detail::kTable));
  EXPECT_EQ(Output({"connections"}), Show(connections, Detail::kTable));
  EXPECT_EQ(Output({"stale", "-o", "wide"}), Show(stale, Detail::kWide));
}

TEST_F(PhantomctlTest, JsonIsTheResponseMessage) {
  EXPECT_EQ(Output({"-o", "json", "status"}), MessageToJson(report_.status(), JsonStyle::kPretty));
  pb::ListConnectionsResponse connections;
  *connections.mutable_connections() = report_.connections();
  EXPECT_EQ(Output({"connections", "-o", "json"}), MessageToJson(connections, JsonStyle::kPretty));
  EXPECT_THAT(Output({"rollouts", "-o", "yaml"}),
              ::testing::StartsWith("rollouts:\n- name: shop/Deployment/catalog/7d9f8c/"));
}

TEST_F(PhantomctlTest, ConnectionsAreFilteredByTheAgentAndLimited) {
  const std::string dead = Output({"connections", "--filter", "class=DEAD layer=L4"});
  EXPECT_THAT(dead, HasSubstr("DEAD"));
  EXPECT_EQ(std::count(dead.begin(), dead.end(), '\n'), 2);
  const Ran limited = Run({"connections", "--limit", "2"});
  EXPECT_EQ(limited.code, 0);
  EXPECT_EQ(std::count(limited.out.begin(), limited.out.end(), '\n'), 3);
  EXPECT_EQ(limited.err, "phantomctl: these are the newest 2; --limit=0 shows all\n");
  const std::string since = Output({"connections", "--since", "2026-11-29T18:59:04Z"});
  EXPECT_EQ(std::count(since.begin(), since.end(), '\n'), 2);
  EXPECT_THAT(since, HasSubstr("REUSED"));
}

TEST_F(PhantomctlTest, LongListsComeInPagesAndAreWhole) {
  std::vector<Connection> many;
  for (uint64_t i = 1; i <= 2500; ++i) many.push_back(testing::SampleConnection(i));
  Report report = testing::SampleReport();
  report.connections = testing::Chunks(many, 512);
  server_.Publish(report);
  const std::string all = Output({"connections", "--limit=0"});
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 2501);
}

TEST_F(PhantomctlTest, ExplainAsksForTheInstant) {
  std::thread core([this] {
    auto question = server_.questions().Take(std::chrono::seconds(20));
    ASSERT_TRUE(question.has_value());
    EXPECT_EQ((*question)->time, testing::At(4));
    (*question)->answer.set_value(testing::SampleExplanation());
  });
  const Report report = testing::SampleReport();
  pb::AddressExplanation expected;
  ReportEncoder(report).Encode(testing::SampleExplanation(), &expected);
  EXPECT_EQ(Output({"explain", "10.1.0.1", "--at", "2026-11-29T18:59:04"}),
            Show(expected, Detail::kTable));
  core.join();
}

TEST_F(PhantomctlTest, AddressMayStandAnywhere) {
  const std::string name = report_.rollouts(0).name();
  const std::string expected = Show(report_.rollouts(0), Detail::kTable);
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"rollout", "--address", server_.address(), name},
                                             {"rollout", name, "--address", server_.address()},
                                             {"--address", server_.address(), "rollout", name}}) {
    EXPECT_EQ(testing::RunProgram("phantomctl", arguments).out, expected);
  }
}

TEST_F(PhantomctlTest, ErrorOfTheAgentIsOneSentenceAndExitOne) {
  const struct {
    std::vector<std::string> arguments;
    std::string sentence;
  } kCases[] = {
      {{"rollout", "shop/none"}, "no rollout is named \"shop/none\""},
      {{"connections", "--filter", "layer=L8"},
       "filter: \"L8\" is no layer; there are L4, L7, MIXED"},
      {{"connections", "-f", "--filter", "colour=red"},
       "filter: unknown key \"colour\"; there are cause, certainty, class, initiator, layer, "
       "outcome, proxy, rollout"},
      {{"explain", "catalog"}, "address: \"catalog\" is neither an IP address nor IP:PORT"},
  };
  for (const auto& c : kCases) {
    const Ran ran = Run(c.arguments);
    EXPECT_EQ(ran.code, 1) << c.sentence;
    EXPECT_EQ(ran.err, "phantomctl: " + server_.address() + ": " + c.sentence + "\n");
  }
}

TEST_F(PhantomctlTest, WrongUsageIsExitTwo) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"haunt"},
                                             {"status", "-o", "xml"},
                                             {"rollout"},
                                             {"explain", "10.1.0.1", "--at", "yesterday"},
                                             {"connections", "--since", "2026"},
                                             {"connections", "-f", "--limit", "3"},
                                             {"connections", "--limit", "many"},
                                             {"status", "--timeout", "0"},
                                             {"status", "--tls_cert", "c.pem"},
                                             {"--address", "nonsense", "status"}}) {
    const Ran ran = Run(arguments);
    EXPECT_EQ(ran.code, 2) << ::testing::PrintToString(arguments) << ran.out;
    EXPECT_NE(ran.err + ran.out, "") << ::testing::PrintToString(arguments);
  }
}

TEST_F(PhantomctlTest, WrongUsageIsOneSentenceThatNamesIt) {
  const std::string port = ": a port is a number from 0 to 65535";
  const std::string garbage = folder_ / "garbage.pem";
  std::ofstream(garbage) << "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n";
  const struct {
    std::vector<std::string> arguments;
    std::string told;
  } kCases[] = {
      {{"--address", "127.0.0.1:111136", "status"}, "--address: \"127.0.0.1:111136\"" + port},
      {{"--address", "127.0.0.1:http", "status"}, "--address: \"127.0.0.1:http\"" + port},
      {{"--address", "127.0.0.1:0", "status"}, "--address: \"127.0.0.1:0\": no agent is at port 0"},
      {{"--address", "::1", "status"},
       "--address: \"::1\": an IPv6 address stands in brackets, as in [::1]:9478"},
      {{"--address", "unix:", "status"},
       "--address: \"unix:\": a socket's path has 1 to 107 bytes"},
      {{"--address", "unix:/" + std::string(200, 'x'), "status"},
       "--address: \"unix:/" + std::string(200, 'x') + "\": a socket's path has 1 to 107 bytes"},
      {{"status", "-o", "xml"}, "--output: \"xml\" is no format: table, wide, json or yaml"},
      {{"status", "-o", "2"}, "--output: \"2\" is no format: table, wide, json or yaml"},
      {{"status", "--timeout", "nan"}, "--timeout: is 0.001 to 3600 seconds"},
      {{"status", "--timeout", "1e9"}, "--timeout: is 0.001 to 3600 seconds"},
      {{"replay"}, "replay: FILE is required"},
      {{"rollout"}, "rollout: NAME is required"},
      {{"explain", "10.0.0.1\xff"}, "\"10.0.0.1\\xff\" is not UTF-8 text"},
      {{"rollout", "\xff"}, "\"\\xff\" is not UTF-8 text"},
      {{"connections", "--filter", "proxy=\xff"}, "\"proxy=\\xff\" is not UTF-8 text"},
      {{"replay", "--verdicts", "-o", "wide", "f"},
       "replay --verdicts prints JSON only: --output is not for it"},
      {{"replay", "--address", "unix:/a", "f"}, "replay asks no agent: --address is not for it"},
      {{"replay", "--timeout", "1", "f"}, "replay asks no agent: --timeout is not for it"},
      {{"status", "--tls_ca", garbage}, "TLS CA " + garbage + ": holds no certificate"},
      {{"status", "--tls_ca", "/none"}, "TLS CA /none: cannot be read"},
  };
  for (const auto& c : kCases) {
    const Ran ran = testing::RunProgram("phantomctl", c.arguments);
    EXPECT_EQ(ran.code, 2) << c.told;
    EXPECT_EQ(ran.err, "phantomctl: " + c.told + "\n");
    EXPECT_EQ(ran.out, "") << c.told;
  }
}

TEST_F(PhantomctlTest, NameWithoutAddressHidesNoAgentThatAnswers) {
  for (const std::string& both : {server_.address() + ",no.such.host.invalid:50",
                                  "no.such.host.invalid:50," + server_.address()}) {
    const Ran ran = testing::RunProgram("phantomctl", {"--address", both, "status"});
    EXPECT_EQ(ran.code, 3);
    EXPECT_EQ(ran.out, Show(report_.status(), Detail::kTable));
    EXPECT_THAT(ran.err,
                ::testing::StartsWith("phantomctl: no.such.host.invalid:50: did not answer: "));
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
}

TEST_F(PhantomctlTest, AgentThatIsGivenTwiceIsCountedOnce) {
  // Its second name: the kernel's path to the same socket.
  const std::string path = server_.address().substr(5);
  const std::string other_way = folder_ / "link.sock";
  std::filesystem::create_symlink(path, other_way);
  for (const std::string& second : {server_.address(), "unix:" + other_way}) {
    const std::string both = server_.address() + "," + second;
    for (const char* command : {"status", "proxies", "rollouts"}) {
      const Ran once = Run({command, "-o", "json"});
      const Ran twice =
          testing::RunProgram("phantomctl", {"--address", both, command, "-o", "json"});
      EXPECT_EQ(twice.code, 0);
      EXPECT_EQ(twice.err, "");
      EXPECT_EQ(twice.out, once.out) << command << " " << second;
    }
  }
}

TEST_F(PhantomctlTest, ClosedStandardInputIsSaidAsSuch) {
  const Ran ran =
      testing::RunProgram("/bin/sh", {"-c", testing::PathOf("phantomctl") + " replay - <&-"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("standard input"));
  EXPECT_THAT(ran.err, HasSubstr("Bad file descriptor"));
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
}

TEST_F(PhantomctlTest, WhereNoCommandIsFoundTheSentenceListsThem) {
  const std::string commands =
      "the commands are status, proxies, rollouts, rollout, connections, stale, explain, replay\n";
  const struct {
    std::vector<std::string> arguments;
    std::string told;
  } kCases[] = {
      {{}, "no command given: " + commands},
      {{"haunt"}, "unknown command 'haunt': " + commands},
      {{"haunt", "--filter", "class=DEAD"}, "unknown command 'haunt': " + commands},
      {{"--haunt"}, "unknown option '--haunt': phantomctl --help lists them\n"},
  };
  for (const auto& c : kCases) {
    const Ran ran = Run(c.arguments);
    EXPECT_EQ(ran.code, 2) << c.told;
    EXPECT_EQ(ran.err, "phantomctl: " + c.told);
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(PhantomctlTest, HelpAndVersionAreExitZero) {
  EXPECT_THAT(Output({"--help"}), HasSubstr("3 some agents did not answer"));
  EXPECT_THAT(Output({"--version"}), ::testing::MatchesRegex("phantomctl [0-9.]+\n"));
}

TEST_F(PhantomctlTest, AgentThatIsNotThereIsNamedAndExitThree) {
  const Ran ran =
      testing::RunProgram("phantomctl", {"--address", "unix:/none/phantomd.sock", "status"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err,
              ::testing::StartsWith("phantomctl: unix:/none/phantomd.sock: did not answer"));
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1);
}

TEST_F(PhantomctlTest, AgentThatStaysSilentIsNamedAndExitThree) {
  const Ran ran = Run({"--timeout", "0.2", "explain", "10.1.0.1"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err,
              ::testing::StartsWith("phantomctl: " + server_.address() + ": did not answer"));
}

TEST_F(PhantomctlTest, SeveralAgentsAreMergedAndTheMissingOneIsNamed) {
  TestServer other;
  Report report = testing::SampleReport();
  for (ProxyReport& proxy : report.proxies) proxy.proxy.name += "-b";
  report.status.node_name = "node-2";
  other.Publish(report);
  const std::string three = server_.address() + ",unix:/none/phantomd.sock," + other.address();
  const Ran ran = testing::RunProgram("phantomctl", {"--address", three, "proxies"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err,
              ::testing::StartsWith("phantomctl: unix:/none/phantomd.sock: did not answer"));
  std::vector<std::string> names;
  for (size_t at = 0; (at = ran.out.find("shop/webapp", at)) != std::string::npos; ++at) {
    names.push_back(ran.out.substr(at, ran.out.find(' ', at) - at));
  }
  EXPECT_THAT(names, ::testing::ElementsAre("shop/webapp-1", "shop/webapp-1-b", "shop/webapp-2",
                                            "shop/webapp-2-b",
                                            // Why they have no belief, beneath the table.
                                            "shop/webapp-2:", "shop/webapp-2-b:"));
  // Each has a state of its own.
  const Ran status = testing::RunProgram("phantomctl", {"--address", server_.address(), "--address",
                                                        other.address(), "status", "-o", "json"});
  EXPECT_EQ(status.code, 0);
  EXPECT_THAT(status.out, ::testing::StartsWith("[\n{"));
  EXPECT_THAT(status.out, ::testing::EndsWith("}\n]\n"));
}

TEST_F(PhantomctlTest, RolloutThatOneAgentHasNotSeenIsNoError) {
  TestServer other;
  other.Publish(Report());
  const Ran ran =
      testing::RunProgram("phantomctl", {"--address", server_.address(), "--address",
                                         other.address(), "rollout", report_.rollouts(0).name()});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out, Show(report_.rollouts(0), Detail::kTable));
}

TEST_F(PhantomctlTest, FollowPrintsConnectionsAsTheyAreJudged) {
  Report report = testing::SampleReport();
  report.connections = testing::Chunks({testing::SampleConnection(1)}, 4);
  server_.Publish(report);
  testing::RunningProgram follow("phantomctl",
                                 {"--address", server_.address(), "connections", "-f"});
  EXPECT_THAT(follow.ReadLine(), ::testing::StartsWith("STARTED"));
  // The titles are printed before the stream begins: publish until it has begun. What was judged
  // before that is not shown.
  uint64_t last = 1;
  std::string line;
  std::thread reader([&] { line = follow.ReadLine(); });
  std::atomic<bool> seen = false;
  std::thread publisher([&] {
    while (!seen) {
      report.connections = testing::Chunks({testing::SampleConnection(++last)}, 4);
      server_.Publish(report);
      std::this_thread::yield();
    }
  });
  reader.join();
  seen = true;
  publisher.join();
  EXPECT_THAT(line, HasSubstr("shop/…app-1  10.1.0.1:8080       DEAD"));
  server_.Stop();
  EXPECT_EQ(follow.Wait(), 3);
  // Before that it may have been told what it missed of the many that were published.
  EXPECT_THAT(follow.Errors(),
              ::testing::EndsWith("phantomctl: " + server_.address() +
                                  ": the stream has ended: the agent is stopping\n"));
}

TEST_F(PhantomctlTest, FollowOfAnAgentThatIsNotThereNeverBegan) {
  const Ran ran =
      testing::RunProgram("phantomctl", {"--address", "unix:/none/a.sock", "connections", "-f"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, ::testing::StartsWith("phantomctl: unix:/none/a.sock: did not answer: "));
}

}  // namespace
}  // namespace phantomd
