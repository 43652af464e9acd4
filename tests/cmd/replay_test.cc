// phantomctl replay as a process, on recordings that are whole, cut, rubbish or on standard input.

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "phantom/v1/query.pb.h"
#include "tests/cmd/run_program.h"
#include "tests/cmd/sample_recording.h"
#include "tests/serve/test_server.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::Ran;
using testing::Recorded;
using testing::RunProgram;
using testing::SampleRecording;

class ReplayTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  }

  const testing::TempFolder folder_;
  const std::string path_ = folder_ / "node.rec";
};

template <typename Message>
Message FromJson(const std::string& json) {
  Message out;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &out).ok()) << json;
  return out;
}

std::map<std::string, uint64_t> ByClass(const pb::Status& status) {
  std::map<std::string, uint64_t> out;
  for (const pb::Count& entry : status.attempts_by_class()) {
    if (entry.count() > 0) out[entry.key()] = entry.count();
  }
  return out;
}

std::vector<pb::Connection> Verdicts(const std::string& lines) {
  std::vector<pb::Connection> out;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) out.push_back(FromJson<pb::Connection>(line));
  return out;
}

TEST_F(ReplayTest, JsonIsTheReport) {
  const Ran ran =
      RunProgram("phantomctl", {"replay", Write(Recorded(SampleRecording())), "-o", "json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  const auto report = FromJson<pb::Report>(ran.out);
  EXPECT_EQ(report.status().node_name(), "node-1");
  EXPECT_THAT(ByClass(report.status()), ElementsAre(Pair("DEAD", 2), Pair("LIVE", 3)));
  ASSERT_EQ(report.connections_size(), 2);
  EXPECT_EQ(report.connections(0).source(), "10.1.0.20:40005");
  EXPECT_EQ(report.connections(0).cause(), pb::STALE_EDS);
  EXPECT_EQ(report.connections(0).last_holder().pod().name(), "catalog-a");
  ASSERT_EQ(report.rollouts_size(), 1);
  EXPECT_EQ(report.rollouts(0).departure(), pb::ROLLOUT);
  EXPECT_EQ(report.rollouts(0).dead(), 2u);
  EXPECT_EQ(report.connections(0).rollout(), report.rollouts(0).name());
}

TEST_F(ReplayTest, SameFileIsSameOutputByteForByte) {
  const std::string path = Write(Recorded(SampleRecording()));
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"replay", path, "-o", "json"},
        {"replay", path, "--verdicts"},
        {"replay", path}}) {
    const Ran first = RunProgram("phantomctl", arguments);
    EXPECT_EQ(first.code, 0) << first.err;
    EXPECT_NE(first.out, "");
    EXPECT_EQ(RunProgram("phantomctl", arguments).out, first.out);
  }
}

TEST_F(ReplayTest, VerdictsAreEveryJudgedAttemptOneALine) {
  const Ran ran =
      RunProgram("phantomctl", {"replay", Write(Recorded(SampleRecording())), "--verdicts"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::vector<std::pair<std::string, std::string>> seen;
  for (const pb::Connection& c : Verdicts(ran.out)) {
    seen.emplace_back(c.source(), pb::DestinationClass_Name(c.destination_class()));
  }
  EXPECT_THAT(seen, ElementsAre(Pair("10.1.0.20:40001", "LIVE"), Pair("10.1.0.20:40002", "LIVE"),
                                Pair("10.1.0.20:40003", "LIVE"), Pair("10.1.0.20:40004", "DEAD"),
                                Pair("10.1.0.20:40005", "DEAD")));
}

TEST_F(ReplayTest, VerdictsNameTheRolloutThatIsSettledOnlyLater) {
  const std::string path = Write(Recorded(SampleRecording()));
  const auto report =
      FromJson<pb::Report>(RunProgram("phantomctl", {"replay", path, "-o", "json"}).out);
  const auto verdicts = Verdicts(RunProgram("phantomctl", {"replay", path, "--verdicts"}).out);
  ASSERT_EQ(verdicts.size(), 5u);
  ASSERT_EQ(report.rollouts_size(), 1);
  EXPECT_EQ(verdicts[4].rollout(), report.rollouts(0).name());
}

TEST_F(ReplayTest, StandardInputIsAsGoodAsAFile) {
  const std::string bytes = Recorded(SampleRecording());
  const std::string path = Write(bytes);
  for (const char* what : {"--output=json", "--verdicts"}) {
    const Ran piped = RunProgram("phantomctl", {"replay", "-", what}, bytes);
    EXPECT_EQ(piped.code, 0) << piped.err;
    EXPECT_EQ(piped.out, RunProgram("phantomctl", {"replay", path, what}).out);
  }
}

TEST_F(ReplayTest, CutRecordingReplaysUpToTheCutAndSaysSo) {
  std::vector<Input> inputs = SampleRecording();
  const std::string whole = Recorded(inputs);
  inputs.resize(15);  // without the last attempt
  const std::string shorter = Recorded(inputs);
  const std::string cut = whole.substr(0, shorter.size() + 3);
  for (const char* what : {"--output=json", "--verdicts"}) {
    const Ran ran = RunProgram("phantomctl", {"replay", Write(cut), what});
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.err, ::testing::StartsWith("phantomctl: "));
    EXPECT_THAT(ran.err, HasSubstr(path_));
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_EQ(ran.out, RunProgram("phantomctl", {"replay", "-", what}, shorter).out);
  }
}

TEST_F(ReplayTest, RubbishIsOneSentenceAndExitOne) {
  const std::string good = Recorded(SampleRecording());
  const struct {
    const char* what;
    std::string bytes;
  } kCases[] = {
      {"text", "this is no recording, is it?"},
      {"nothing", ""},
      {"two recordings", good + good},
      {"rubbish behind it", good + std::string(100, '\xFF')},
  };
  for (const auto& c : kCases) {
    for (const char* what : {"--output=json", "--verdicts"}) {
      const Ran ran = RunProgram("phantomctl", {"replay", Write(c.bytes), what});
      EXPECT_EQ(ran.code, 1) << c.what;
      EXPECT_EQ(ran.out, "") << c.what;
      EXPECT_THAT(ran.err, HasSubstr(path_)) << c.what;
      EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    }
  }
}

TEST_F(ReplayTest, InputOutOfOrderIsAnError) {
  std::vector<Input> inputs = SampleRecording();
  std::swap(inputs[8], inputs[12]);
  const Ran ran = RunProgram("phantomctl", {"replay", Write(Recorded(inputs))});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("order of observed_ns"));
}

TEST_F(ReplayTest, MissingFileIsNamed) {
  for (const char* what : {"--output=json", "--verdicts"}) {
    const Ran ran = RunProgram("phantomctl", {"replay", path_, what});
    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(ran.err, HasSubstr(path_));
    EXPECT_THAT(ran.err, HasSubstr("No such file or directory"));
  }
}

}  // namespace
}  // namespace phantomd
