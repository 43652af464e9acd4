// The recording of one run of the demo still replays to the report that it gave, and to what stood
// beside it: an independent count of connections to dead addresses.

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "phantom/v1/query.pb.h"
#include "tests/cmd/run_program.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;
using ::testing::ElementsAre;
using ::testing::Pair;
using testing::Ran;
using testing::RunProgram;

std::string Data(const std::string& name) {
  return std::string(std::getenv("PHANTOMD_SOURCE_DIR")) + "/tests/data/demo/" + name;
}

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST(GoldenReplayTest, TheDemosRecordingGivesTheReportItGave) {
  const Ran ran = RunProgram("phantomctl", {"replay", Data("rolling_update.rec"), "-o", "json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string golden = ReadAll(Data("rolling_update.json"));
  ASSERT_FALSE(golden.empty());
  EXPECT_EQ(ran.out, golden);
}

TEST(GoldenReplayTest, PhantomsOfEachDeadAddressAreThoseThatNftablesCounted) {
  const Ran ran = RunProgram("phantomctl", {"replay", Data("rolling_update.rec"), "-o", "json"});
  pb::Report report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(ran.out, &report).ok());
  std::map<std::string, int> phantoms;
  for (const pb::Connection& connection : report.connections()) {
    if (connection.destination_class() != pb::DEAD &&
        connection.destination_class() != pb::REUSED) {
      continue;
    }
    const std::string& destination = connection.destination();
    ++phantoms[destination.substr(0, destination.find(':'))];
  }
  EXPECT_THAT(phantoms, ElementsAre(Pair("10.244.7.11", 16), Pair("10.244.7.12", 32),
                                    Pair("10.244.7.13", 52)));
}

}  // namespace
}  // namespace phantomd
