#include "agent/kube/wire_fields.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kube/pb_writer.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "1=150", "2:hi", and at the end what is wrong, if anything is.
std::vector<std::string> Read(std::string_view message) {
  std::vector<std::string> out;
  WireFields fields(message);
  while (fields.Next()) {
    std::string word = std::to_string(fields.number());
    if (fields.type() == WireType::kVarint) {
      word += "=" + std::to_string(fields.varint());
    } else {
      word += ":" + std::string(fields.bytes());
    }
    out.push_back(word);
  }
  EXPECT_FALSE(fields.Next());
  if (fields.trouble() != WireTrouble::kNone) out.push_back(fields.TroubleText());
  return out;
}

std::string Bytes(std::initializer_list<int> bytes) {
  std::string out;
  for (const int byte : bytes) out += static_cast<char>(byte);
  return out;
}

TEST(WireFieldsTest, EveryTypeOfField) {
  EXPECT_THAT(Read(""), IsEmpty());
  EXPECT_THAT(Read(Bytes({0x08, 0x96, 0x01, 0x12, 0x02, 'h', 'i'})), ElementsAre("1=150", "2:hi"));
  EXPECT_THAT(Read(Bytes({0x19, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'})),
              ElementsAre("3:abcdefgh"));
  EXPECT_THAT(Read(Bytes({0x25, 'a', 'b', 'c', 'd', 0x12, 0x00})), ElementsAre("4:abcd", "2:"));
  // A negative number has ten bytes.
  EXPECT_THAT(Read(Bytes({0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})),
              ElementsAre("1=18446744073709551615"));
  EXPECT_THAT(Read(Bytes({0xf8, 255, 255, 255, 0x0f, 0x05})), ElementsAre("536870911=5"));
}

TEST(WireFieldsTest, GroupsAreSkipped) {
  EXPECT_THAT(Read(Bytes({0x0b, 0x0c, 0x10, 0x07})), ElementsAre("2=7"));
  EXPECT_THAT(Read(Bytes({0x0b, 0x10, 0x01, 0x13, 0x12, 0x01, 'x', 0x14, 0x0c, 0x10, 0x07})),
              ElementsAre("2=7"));
}

TEST(WireFieldsTest, TroubleIsNamedWithItsByte) {
  std::string deep(WireFields::kMaxGroups, 0x0b);
  deep.append(WireFields::kMaxGroups, 0x0c);
  EXPECT_THAT(Read(deep), IsEmpty());
  const std::pair<std::string, std::string> cases[] = {
      {Bytes({0x08}), "at byte 2: cut short"},
      {Bytes({0x08, 0x80}), "at byte 2: cut short"},
      {Bytes({0x12, 0x03, 'h', 'i'}), "at byte 2: cut short"},
      // The length would reach past the end of the address space.
      {Bytes({0x12, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}), "at byte 2: cut short"},
      {Bytes({0x19, 'a', 'b', 'c', 'd', 'e', 'f', 'g'}), "at byte 2: cut short"},
      {Bytes({0x08, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 1}),
       "at byte 2: a number of too many bytes"},
      {Bytes({0xf8, 255, 255, 255, 0x1f, 0x05}), "at byte 2: a number of too many bytes"},
      {Bytes({0x00, 0x01}), "at byte 2: a field number out of range"},
      {Bytes({0x0e}), "at byte 2: a wire type that does not exist"},
      {Bytes({0x0f}), "at byte 2: a wire type that does not exist"},
      {Bytes({0x0c}), "at byte 2: the end of a group that has not begun"},
      {Bytes({0x0b, 0x14}), "at byte 2: the end of a group that has not begun"},
      {Bytes({0x0b, 0x10, 0x01}), "at byte 2: cut short"},
      {"\x0b" + deep, "at byte 2: groups nested too deeply"},
  };
  for (const auto& [bytes, sentence] : cases) {
    EXPECT_THAT(Read(Bytes({0x10, 0x07}) + bytes), ElementsAre("2=7", sentence));
  }
}

TEST(WireFieldsTest, CutAnywhereIsTheFieldsBeforeOrTrouble) {
  std::string whole;
  testing::PutNumber(1, 300, whole);
  testing::PutBytes(2, "hello", whole);
  whole += Bytes({0x0b, 0x10, 0x01, 0x0c});
  testing::PutNumber(3, 1, whole);
  const std::vector<std::string> all = Read(whole);
  EXPECT_THAT(all, ElementsAre("1=300", "2:hello", "3=1"));
  const std::vector<size_t> ends = {0, 3, 10, 14, 16};  // where a field has just ended
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    std::vector<std::string> read = Read(std::string_view(whole).substr(0, cut));
    const bool at_end = std::find(ends.begin(), ends.end(), cut) != ends.end();
    if (!at_end) {
      ASSERT_FALSE(read.empty()) << cut;
      EXPECT_THAT(read.back(), ::testing::HasSubstr("cut short")) << cut;
      read.pop_back();
    }
    ASSERT_LE(read.size(), all.size());
    EXPECT_TRUE(std::equal(read.begin(), read.end(), all.begin())) << cut;
  }
}

}  // namespace
}  // namespace phantomd
