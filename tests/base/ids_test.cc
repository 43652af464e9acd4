#include "agent/base/ids.h"

#include <type_traits>

#include "absl/hash/hash_testing.h"
#include "agent/base/nouns.h"
#include "gtest/gtest.h"

namespace phantomd {
namespace {

TEST(StringIdTest, IdentifiersOfDifferentThingsDoNotMix) {
  static_assert(!std::is_constructible_v<PodUid, ProxyId>);
  static_assert(!std::is_convertible_v<std::string, PodUid>);
}

TEST(StringIdTest, EmptyIsNone) {
  EXPECT_TRUE(PodUid().empty());
  EXPECT_FALSE(PodUid("u").empty());
  EXPECT_EQ(PodUid("u").value(), "u");
}

TEST(StringIdTest, EqualIdentifiersHashAlikeAndOrderByText) {
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly({PodUid(), PodUid("a"), PodUid("b")}));
  EXPECT_LT(PodUid("a"), PodUid("b"));
}

TEST(WorkloadRefTest, EveryPartTellsWorkloadsApart) {
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(
      {WorkloadRef{}, WorkloadRef{"n", "", ""}, WorkloadRef{"", "n", ""}, WorkloadRef{"", "", "n"},
       WorkloadRef{"shop", "Deployment", "catalog"}}));
}

}  // namespace
}  // namespace phantomd
