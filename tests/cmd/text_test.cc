// The two shapes that text takes: tables and YAML.

#include <gtest/gtest.h>

#include "agent/cmd/ctl/text_table.h"
#include "agent/cmd/ctl/wrap.h"
#include "agent/cmd/ctl/yaml.h"

namespace phantomd {
namespace {

TEST(TextTableTest, AlignsTextLeftAndNumbersRightAndEndsNoLineWithSpaces) {
  TextTable table({{"NAME"}, {"COUNT", TextTable::Column::kRight}, {"NOTE"}});
  table.Add({"a", "1", "first"});
  table.Add({"longer name", "1000000", ""});
  EXPECT_EQ(table.Text(),
            "NAME           COUNT  NOTE\n"
            "a                  1  first\n"
            "longer name  1000000\n");
}

TEST(TextTableTest, CountsCharactersNotBytes) {
  TextTable table({{"TIME", TextTable::Column::kRight}, {"X"}});
  table.Add({"350µs", "x"});
  table.Add({"1000ms", "x"});
  EXPECT_EQ(table.Text(2),
            "    TIME  X\n"
            "   350µs  x\n"
            "  1000ms  x\n");
}

TEST(TextTableTest, ColumnsThatMayShrinkLoseTheirMiddleNoFurtherThanTheirLeast) {
  TextTable table(
      {{"PROXY", TextTable::Column::kLeft, 0, 6}, {"STALE", TextTable::Column::kRight}});
  table.Add({"shop/webapp-1", "1"});
  table.Add({"shop/µ", "2"});
  const std::string whole =
      "PROXY          STALE\n"
      "shop/webapp-1      1\n"
      "shop/µ             2\n";
  EXPECT_EQ(table.Text(), whole);
  EXPECT_EQ(table.Text(0, 20), whole);
  const std::string ten =
      "PROXY       STALE\n"
      "shop/…pp-1      1\n"
      "shop/µ          2\n";
  EXPECT_EQ(table.Text(0, 17), ten);
  EXPECT_EQ(table.Text(0, 5),
            "PROXY   STALE\n"
            "sho…-1      1\n"
            "shop/µ      2\n");
  EXPECT_EQ(table.Text(2, 19).substr(0, 20), "  PROXY       STALE\n");

  TextTable other({{"NAME", TextTable::Column::kLeft, 0, 4}});
  other.Add({"µµµµµµ"});
  EXPECT_EQ(other.Text(0, 5), "NAME\nµµ…µµ\n");
}

TEST(TextTableTest, WithoutRowsThereIsNothing) { EXPECT_EQ(TextTable({{"NAME"}}).Text(), ""); }

TEST(TextTableTest, RowsThatComeLaterStandUnderTheSameTitles) {
  const std::vector<TextTable::Column> columns = {{"NAME", TextTable::Column::kLeft, 8}, {"X"}};
  TextTable row(columns);
  row.Add({"short", "1"});
  EXPECT_EQ(TextTable(columns).Titles() + row.Rows(),
            "NAME      X\n"
            "short     1\n");
}

TEST(TextTableTest, RowsThatComeLaterShrinkAsTablesDo) {
  TextTable row({{"PROXY", TextTable::Column::kLeft, 6, 4}, {"X"}});
  row.Add({"shop/webapp-1", "1"});
  EXPECT_EQ(row.Rows(), "shop/webapp-1  1\n");
  EXPECT_EQ(row.Rows(9), "sho…-1  1\n");
}

TEST(WrappedTest, BreaksAtSpacesAndKeepsThoseWithinALine) {
  const struct {
    const char* text;
    const char* lines;
  } kCases[] = {
      {"", "\n"},
      {"a", "a\n"},
      {"label     one two", "label     one\n  two\n"},
      {"   x one two three", "   x one two\n  three\n"},
      {"one two three four five", "one two three\n  four five\n"},
      {"µµµµµµ µµµµµµ x", "µµµµµµ µµµµµµ\n  x\n"},
      {"a word-that-is-longer-than-a-line b", "a\n  word-that-is-longer-than-a-line\n  b\n"},
  };
  for (const auto& c : kCases) EXPECT_EQ(Wrapped(c.text, 2, 13), c.lines) << c.text;
}

TEST(YamlTest, KeepsOrderAndNests) {
  EXPECT_EQ(JsonToYaml(R"({"z":"text","a":{"list":[1,2],"deep":{"k":true}},)"
                       R"("rows":[{"x":"1","y":[]},{"x":null,"o":{}}]})"),
            "z: text\n"
            "a:\n"
            "  list:\n"
            "  - 1\n"
            "  - 2\n"
            "  deep:\n"
            "    k: true\n"
            "rows:\n"
            "- x: \"1\"\n"
            "  y: []\n"
            "- x: null\n"
            "  o: {}\n");
}

TEST(YamlTest, TextThatYamlWouldMisreadIsQuoted) {
  EXPECT_EQ(JsonToYaml(R"({"a":"yes","b":"12","c":"a: b","d":"","e":"10.0.0.1:80","f":"No",)"
                       R"("g":"line\nbreak","h":"shop/webapp-1","i":"- x","j":"~"})"),
            "a: \"yes\"\n"
            "b: \"12\"\n"
            "c: \"a: b\"\n"
            "d: \"\"\n"
            "e: \"10.0.0.1:80\"\n"
            "f: \"No\"\n"
            "g: \"line\\nbreak\"\n"
            "h: shop/webapp-1\n"
            "i: \"- x\"\n"
            "j: \"~\"\n");
}

TEST(YamlTest, EmptyMessageIsAnEmptyMap) { EXPECT_EQ(JsonToYaml("{}"), "{}\n"); }

}  // namespace
}  // namespace phantomd
