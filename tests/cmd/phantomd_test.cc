// phantomd as a process with its real probes: how it starts, refuses to, and ends.

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "agent/serve/metrics_server.h"
#include "phantom/v1/query.pb.h"
#include "tests/cmd/run_program.h"
#include "tests/serve/test_server.h"

namespace phantomd {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::Ran;
using testing::RunningProgram;
using testing::RunProgram;

class PhantomdTest : public ::testing::Test {
 protected:
  std::vector<std::string> Arguments(std::vector<std::string> more = {}) const {
    std::vector<std::string> out = {"--listen", Address(), "--metrics_listen=none",
                                    "--node_name=n1"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  std::string Address() const { return "unix:" + folder_ / "phantomd.sock"; }
  Ran Ctl(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"--address", Address()});
    return RunProgram("phantomctl", arguments);
  }
  // Returns when the agent answers; its first report is there before its socket.
  void WaitUntilItAnswers() const {
    for (int i = 0; i < 1000; ++i) {
      if (Ctl({"status"}).code == 0) return;
    }
    FAIL() << "phantomd does not answer";
  }
  static size_t Lines(const std::string& text) {
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  const testing::TempFolder folder_;
};

TEST_F(PhantomdTest, AnswersUntilSigtermAndLeavesAWholeRecordingAndNoSocket) {
  const std::string recording = folder_ / "node.rec";
  RunningProgram agent("phantomd", Arguments({"--record", recording}));
  WaitUntilItAnswers();
  EXPECT_THAT(Ctl({"status"}).out, HasSubstr("n1, phantomd"));
  EXPECT_THAT(Ctl({"explain", "192.0.2.1"}).out, HasSubstr("No pod is known to have held it."));
  agent.Signal(SIGTERM);
  EXPECT_EQ(agent.Wait(), 0) << agent.Errors();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "phantomd.sock"));
  const Ran replay = RunProgram("phantomctl", {"replay", recording});
  EXPECT_EQ(replay.code, 0);
  EXPECT_EQ(replay.err, "");
  EXPECT_THAT(replay.out, HasSubstr("n1, phantomd"));
}

TEST_F(PhantomdTest, PortsThatTheSystemChoseAreLogged) {
  RunningProgram agent("phantomd", {"--listen", Address() + ",127.0.0.1:0",
                                    "--metrics_listen=127.0.0.1:0", "--node_name=n1"});
  WaitUntilItAnswers();
  agent.Signal(SIGTERM);
  EXPECT_EQ(agent.Wait(), 0) << agent.Errors();
  EXPECT_THAT(agent.Errors(),
              ContainsRegex("answers at " + Address() +
                            ", 127\\.0\\.0\\.1:[1-9][0-9]*, metrics at 127\\.0\\.0\\.1:[1-9]"));
}

TEST_F(PhantomdTest, SecondAgentIsTurnedAwayAndTouchesNothingOfTheFirst) {
  const std::string recording = folder_ / "node.rec";
  RunningProgram first("phantomd", Arguments({"--record", recording}));
  WaitUntilItAnswers();
  const Ran second = RunProgram("phantomd", Arguments({"--record", recording}));
  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.err, HasSubstr(Address() + ": another agent is running and answers there"));
  EXPECT_EQ(Lines(second.err), 1u) << second.err;
  EXPECT_EQ(Ctl({"status"}).code, 0);
  first.Signal(SIGINT);
  EXPECT_EQ(first.Wait(), 0) << first.Errors();
  EXPECT_EQ(RunProgram("phantomctl", {"replay", recording}).code, 0);
}

TEST_F(PhantomdTest, RecordingOfAnotherAgentIsLeftToIt) {
  const std::string recording = folder_ / "node.rec";
  RunningProgram first("phantomd", Arguments({"--record", recording}));
  WaitUntilItAnswers();
  const Ran second = RunProgram("phantomd", {"--listen", "unix:" + folder_ / "other.sock",
                                             "--metrics_listen=none", "--record", recording});
  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.err, HasSubstr("cannot write the recording " + recording +
                                    ": another agent records to it"));
  EXPECT_EQ(Lines(second.err), 1u) << second.err;
  first.Signal(SIGTERM);
  EXPECT_EQ(first.Wait(), 0) << first.Errors();
  EXPECT_EQ(RunProgram("phantomctl", {"replay", recording}).code, 0);
}

TEST_F(PhantomdTest, WhatItCannotHaveIsOneSentenceAndExitOne) {
  const Published<Report> report;
  const Published<AgentHealth> health;
  const auto taken = MetricsServer::Start("127.0.0.1:0", report, health);
  ASSERT_TRUE(taken.ok());
  const std::string port = "127.0.0.1:" + std::to_string((*taken)->port());
  const struct {
    std::vector<std::string> arguments;
    std::string named;
  } kCases[] = {
      {Arguments({"--record", folder_ / "none/node.rec"}), folder_ / "none/node.rec"},
      {{"--listen", Address(), "--metrics_listen", port}, port},
      {Arguments({"--tls_cert", "/none/cert.pem", "--tls_key", "/none/key.pem"}), "/none/cert.pem"},
  };
  for (const auto& c : kCases) {
    const Ran ran = RunProgram("phantomd", c.arguments);
    EXPECT_EQ(ran.code, 1) << c.named;
    EXPECT_THAT(ran.err, HasSubstr(c.named));
    EXPECT_EQ(Lines(ran.err), 1u) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "phantomd.sock")) << c.named;
  }
}

TEST_F(PhantomdTest, MissingFeedFileIsNamedInTheStatusAndOnceInTheLog) {
  const std::string pods = folder_ / "pods.json";
  RunningProgram agent("phantomd", Arguments({"--feed", "file:" + pods}));
  WaitUntilItAnswers();
  std::string status;
  for (int i = 0; i < 1000 && status.find(pods) == std::string::npos; ++i) {
    status = Ctl({"status"}).out;
  }
  EXPECT_THAT(status, HasSubstr("pods    not synced: " + pods));
  agent.Signal(SIGTERM);
  EXPECT_EQ(agent.Wait(), 0);
  const std::string log = agent.Errors();
  const size_t warned = log.find("warning " + pods);
  ASSERT_NE(warned, std::string::npos) << log;
  EXPECT_EQ(log.find("warning " + pods, warned + 1), std::string::npos) << log;
}

TEST_F(PhantomdTest, WithoutPrivilegeItSaysWhatItNeeds) {
  // In a user namespace of its own it is nobody, whatever it is outside.
  std::vector<std::string> arguments = {"--user", testing::PathOf("phantomd")};
  for (const std::string& argument : Arguments()) arguments.push_back(argument);
  const Ran ran = RunProgram("/usr/bin/unshare", arguments);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("root"));
  EXPECT_EQ(Lines(ran.err), 1u) << ran.err;
}

class StateTest : public PhantomdTest {
 protected:
  std::vector<std::string> WithState(std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--state_dir", State()});
    return Arguments(std::move(more));
  }
  std::string State() const { return folder_ / "state"; }
  // Answers then rest on what is kept.
  void WaitUntilItKeeps() const {
    WaitUntilItAnswers();
    for (int i = 0; i < 1000; ++i) {
      if (Ctl({"status", "-o", "json"}).out.find("judgedUntil") != std::string::npos) return;
    }
    FAIL() << "phantomd keeps nothing";
  }
  // Since when it has counted, in ms. The wall clock may be slewed meanwhile, by far less than 50.
  int64_t CountingSince() const {
    phantom::v1::Status status;
    EXPECT_TRUE(
        google::protobuf::util::JsonStringToMessage(Ctl({"status", "-o", "json"}).out, &status)
            .ok());
    return google::protobuf::util::TimeUtil::TimestampToMilliseconds(status.started());
  }
};

TEST_F(StateTest, AKilledAgentIsFollowedByOneThatGoesOnFromItsState) {
  int64_t since = 0;
  {
    RunningProgram agent("phantomd", WithState());
    WaitUntilItKeeps();
    since = CountingSince();
    agent.Signal(SIGKILL);
    agent.Wait();
  }
  for (const int signal : {SIGTERM, SIGKILL, SIGTERM}) {
    RunningProgram agent("phantomd", WithState());
    WaitUntilItKeeps();
    EXPECT_THAT(agent.Errors(), HasSubstr("goes on from the state in " + State()));
    EXPECT_NEAR(CountingSince(), since, 50);
    agent.Signal(signal);
    agent.Wait();
  }
  std::filesystem::remove_all(State());
  RunningProgram agent("phantomd", WithState());
  WaitUntilItKeeps();
  EXPECT_GT(CountingSince(), since + 50) << "without its state it begins anew";
}

TEST_F(StateTest, DamagedStateIsSetAsideWithOneSentence) {
  std::filesystem::create_directories(State());
  std::ofstream(State() + "/state.db") << std::string(5'000, 'x');
  RunningProgram agent("phantomd", WithState());
  WaitUntilItAnswers();
  EXPECT_THAT(agent.Errors(), HasSubstr("warning the state in " + State() +
                                        "/state.db is damaged: file is not a database; it is set "
                                        "aside, and what it told is not known\n"));
  EXPECT_TRUE(std::filesystem::exists(State() + "/state.db.unusable"));
}

TEST_F(StateTest, StateOfAnotherAgentIsLeftToIt) {
  RunningProgram first("phantomd", WithState());
  WaitUntilItAnswers();
  const Ran second =
      RunProgram("phantomd", {"--listen", "unix:" + folder_ / "other.sock", "--node_name=n1",
                              "--metrics_listen=none", "--state_dir", State()});
  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.err, HasSubstr("another agent keeps its own there"));
  EXPECT_EQ(Lines(second.err), 1u) << second.err;
  first.Signal(SIGTERM);
  EXPECT_EQ(first.Wait(), 0) << first.Errors();
}

TEST_F(StateTest, ARecordingOfAnHeirReplaysToWhatItSaid) {
  for (int i = 0; i < 2; ++i) {
    RunningProgram agent("phantomd", WithState({"--record", folder_ / "node.rec"}));
    WaitUntilItAnswers();
    agent.Signal(SIGTERM);
    EXPECT_EQ(agent.Wait(), 0) << agent.Errors();
  }
  const Ran replay = RunProgram("phantomctl", {"replay", folder_ / "node.rec"});
  EXPECT_EQ(replay.code, 0) << replay.err;
  EXPECT_EQ(replay.err, "");
}

TEST_F(PhantomdTest, OutsideAClusterItSaysWhatItMissesOfOne) {
  const Ran ran = RunProgram("phantomd", {"--feed=kubernetes"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("KUBERNETES_SERVICE_HOST"));
  EXPECT_EQ(Lines(ran.err), 1u) << ran.err;
}

TEST_F(PhantomdTest, WrongFlagIsExitTwo) {
  const Ran ran = RunProgram("phantomd", {"--feed=konsole"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--feed: konsole is no feed"));
  EXPECT_EQ(RunProgram("phantomd", {"--listen", "127.0.0.1:99999"}).code, 2);
  EXPECT_EQ(RunProgram("phantomd", {"--help"}).code, 0);
}

}  // namespace
}  // namespace phantomd
