// Through an ORIGINAL_DST cluster a client may go on to who held the address half a minute ago,
// though the cluster that lists it means the present one.
#include <gtest/gtest.h>

#include "tests/verdict/evidence_builder.h"

namespace phantomd::testing {
namespace {

struct FreshRow {
  const char* rule;
  bool original_dst = true;
  double ended = 20;  // the earlier holder's end, not before; the SYN is at 50
  int64_t connects = -1;
  bool unused = false;
  double withdrawn = kNever;  // the present one's, surely
  Certainty certainty = kGuess;
  bool wants_poll = false;
};

EvidenceBuilder FreshHolder(const FreshRow& row) {
  EvidenceBuilder known;
  known.has_original_dst = row.original_dst;
  known.original_dst_unused = row.unused;
  known.answered_after = false;
  known.Held({.pod = 1, .released = {row.ended, row.ended + 0.5}});
  known.Held({.pod = 2, .acquired = {30, 31}, .withdrawn = {row.withdrawn, row.withdrawn}});
  known.facts.last.pod = static_cast<PodHandle>(1);
  known.facts.last.released = {At(row.ended), At(row.ended + 0.5)};
  known.Listed({.name = "c",
                .service = "shop/catalog",
                .means = {{2, Meaning::kMeant}},
                .connects = row.connects});
  return known;
}

TEST(OriginalDstTest, AFreshHolderIsCertainOnlyIfNoClientCanHaveMeantTheLast) {
  const FreshRow rows[] = {
      {.rule = "nothing tells that it was not used", .wants_poll = true},
      {.rule = "the last one is forgotten", .ended = 19.9, .certainty = kSure},
      {.rule = "no such cluster", .original_dst = false, .certainty = kSure},
      {.rule = "another counted a connect", .connects = 1, .certainty = kSure},
      {.rule = "another counted none", .connects = 0, .wants_poll = true},
      {.rule = "a poll soon after did not show it", .unused = true, .certainty = kSure},
      {.rule = "on its way out itself", .withdrawn = 40, .wants_poll = true},
      {.rule = "on its way out itself, not shown",
       .unused = true,
       .withdrawn = 40,
       .certainty = kSure},
  };
  for (const FreshRow& row : rows) {
    const Judgement judged = Decide(FreshHolder(row), {.syn = 50});
    EXPECT_EQ(judged.verdict.destination, row.withdrawn == kNever ? kLive : kWithdrawn) << row.rule;
    EXPECT_EQ(judged.verdict.certainty, row.certainty) << row.rule;
    EXPECT_EQ(judged.wants.poll, row.wants_poll) << row.rule;
  }
}

TEST(OriginalDstTest, TheFirstHolderIsCertain) {
  EvidenceBuilder known;
  known.has_original_dst = true;
  known.Held({.pod = 2});
  EXPECT_EQ(Decide(known, {.syn = 10}).verdict.certainty, kSure);
}

// It may have ended by the SYN, had it not answered.
TEST(OriginalDstTest, TheHolderItselfIsNoOther) {
  EvidenceBuilder known;
  known.has_original_dst = true;
  known.Held({.pod = 2, .released = {9, 12}});
  known.facts.last.pod = static_cast<PodHandle>(2);
  known.facts.last.released = {At(9), At(12)};
  EXPECT_EQ(Decide(known, {.syn = 10}).verdict.destination, kLive);
  EXPECT_EQ(Decide(known, {.syn = 10}).verdict.certainty, kSure);
}

TEST(OriginalDstTest, TheApplicationsOwnConnectionWaitsForNoPoll) {
  EXPECT_FALSE(
      Decide(FreshHolder({}), {.syn = 50, .initiator = Initiator::kApplication}).wants.poll);
}

}  // namespace
}  // namespace phantomd::testing
