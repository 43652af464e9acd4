// The names are those of the .proto, letter by letter; the file is read as text, so that this room
// needs no protobuf.
#include "agent/ledger/names.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>

namespace phantomd {
namespace {

// Names by number of one enum.
std::map<int, std::string> EnumIn(const std::string& file, const std::string& name) {
  const char* root = std::getenv("PHANTOMD_SOURCE_DIR");
  EXPECT_NE(root, nullptr);
  std::ifstream in(std::string(root != nullptr ? root : ".") + "/proto/phantom/v1/" + file);
  std::stringstream text;
  text << in.rdbuf();
  std::smatch body;
  const std::string all = text.str();
  EXPECT_TRUE(std::regex_search(all, body, std::regex("enum " + name + " \\{([^}]*)\\}"))) << name;
  std::map<int, std::string> values;
  const std::string lines = std::regex_replace(body[1].str(), std::regex("//[^\n]*"), "");
  const std::regex value("([A-Z0-9_]+)\\s*=\\s*([0-9]+)\\s*;");
  for (std::sregex_iterator at(lines.begin(), lines.end(), value), end; at != end; ++at) {
    values[std::stoi((*at)[2])] = (*at)[1];
  }
  EXPECT_FALSE(values.empty()) << name;
  return values;
}

template <typename Enum>
void ExpectNames(const std::string& file, const std::string& name) {
  SCOPED_TRACE(name);
  const std::map<int, std::string> values = EnumIn(file, name);
  for (const auto& [number, expected] : values) {
    EXPECT_EQ(Name(static_cast<Enum>(number)), expected);
  }
  // Ours ends where the contract's ends.
  EXPECT_EQ(Name(static_cast<Enum>(values.rbegin()->first + 1)), "UNRECOGNIZED");
}

TEST(NamesTest, AreThoseOfTheContract) {
  ExpectNames<Outcome>("types.proto", "Outcome");
  ExpectNames<Initiator>("types.proto", "Initiator");
  ExpectNames<DestinationClass>("types.proto", "DestinationClass");
  ExpectNames<UnknownReason>("types.proto", "UnknownReason");
  ExpectNames<Certainty>("types.proto", "Certainty");
  ExpectNames<Cause>("types.proto", "Cause");
  ExpectNames<Layer>("types.proto", "Layer");
  ExpectNames<Departure>("types.proto", "Departure");
  ExpectNames<ConnectionEnd::How>("recording.proto", "How");
}

}  // namespace
}  // namespace phantomd
