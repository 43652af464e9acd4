#include "agent/serve/paging.h"

#include <gtest/gtest.h>

namespace phantomd {
namespace {

using Names = std::vector<std::string>;

// One page of `items`; `token` is the former page's token and becomes the next one's.
Names Next(const Names& items, int32_t size, std::string* token) {
  const auto request = ParsePageRequest(size, *token, "list");
  EXPECT_TRUE(request.ok()) << request.status();
  std::vector<const std::string*> pointers;
  for (const std::string& item : items) pointers.push_back(&item);
  Names shown;
  *token = ShowPage(
      pointers, *request, "list", [](const std::string& s) { return s; },
      [&](const std::string& s) { shown.push_back(s); });
  return shown;
}

TEST(PagingTest, PagesAreTheWholeListOnceInOrderOfKeys) {
  std::string token;
  const Names items = {"d", "b", "a", "e", "c"};
  EXPECT_EQ(Next(items, 2, &token), (Names{"a", "b"}));
  EXPECT_EQ(Next(items, 2, &token), (Names{"c", "d"}));
  EXPECT_EQ(Next(items, 2, &token), (Names{"e"}));
  EXPECT_EQ(token, "");
}

TEST(PagingTest, LastPageThatIsJustFullHasNoNext) {
  std::string token;
  EXPECT_EQ(Next({"a", "b"}, 2, &token), (Names{"a", "b"}));
  EXPECT_EQ(token, "");
}

TEST(PagingTest, ItemsThatComeAndGoBetweenPagesHideAndRepeatNoOther) {
  std::string token;
  EXPECT_EQ(Next({"a", "b", "c", "d"}, 2, &token), (Names{"a", "b"}));
  EXPECT_EQ(Next({"a", "aa", "bb", "c", "d"}, 2, &token), (Names{"bb", "c"}));
  EXPECT_EQ(Next({"d"}, 2, &token), (Names{"d"}));
}

TEST(PagingTest, SizeIsAHundredByDefaultAndAThousandAtMost) {
  EXPECT_EQ(ParsePageRequest(0, "", "list")->size, 100u);
  EXPECT_EQ(ParsePageRequest(7, "", "list")->size, 7u);
  EXPECT_EQ(ParsePageRequest(5000, "", "list")->size, 1000u);
  EXPECT_EQ(ParsePageRequest(-1, "", "list").status().message(), "page_size: -1 is negative");
}

TEST(PagingTest, TokenOfAnotherListOrRubbishIsRefused) {
  const std::string token = PageToken("key", "list");
  EXPECT_EQ(ParsePageRequest(0, token, "list")->after, "key");
  EXPECT_FALSE(ParsePageRequest(0, token, "list of DEAD").ok());
  for (const std::string rubbish : {"x", "!!", "AAAA", "AAAAAAAAAAA"}) {
    const auto request = ParsePageRequest(0, rubbish, "list");
    ASSERT_FALSE(request.ok()) << rubbish;
    EXPECT_EQ(request.status().message(),
              "page_token: \"" + rubbish + "\" was not given by this list with this filter");
  }
}

TEST(PagingTest, DescendingKeysRunFromTheLargestNumberToTheSmallest) {
  const uint64_t kNumbers[] = {~uint64_t{0}, uint64_t{1} << 40, 256, 255, 2, 1, 0};
  for (size_t i = 1; i < std::size(kNumbers); ++i) {
    EXPECT_LT(DescendingKey(kNumbers[i - 1]), DescendingKey(kNumbers[i])) << kNumbers[i];
  }
}

}  // namespace
}  // namespace phantomd
