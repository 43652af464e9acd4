#include "agent/cmd/daemon/news_marks.h"

#include <gtest/gtest.h>

namespace phantomd {
namespace {

EdgePost News(Edge edge) { return {edge, Input{BootTime::FromNanos(5), ClockChange()}}; }
EdgePost Mark(Edge edge) { return {edge, BootTime::FromNanos(6)}; }

TEST(NewsMarksTest, TheMarkBehindNewsIsUrgentAndNoOther) {
  NewsMarks marks;
  EXPECT_FALSE(marks.IsUrgent(Mark(Edge::kKube)));
  EXPECT_FALSE(marks.IsUrgent(News(Edge::kKube))) << "it cannot be applied yet";
  EXPECT_FALSE(marks.IsUrgent(News(Edge::kKube)));
  EXPECT_FALSE(marks.IsUrgent(Mark(Edge::kEnvoy))) << "that is another's";
  EXPECT_TRUE(marks.IsUrgent(Mark(Edge::kKube)));
  EXPECT_FALSE(marks.IsUrgent(Mark(Edge::kKube)));
}

TEST(NewsMarksTest, AMarkThatIsAwaitedIsUrgentOnce) {
  NewsMarks marks;
  marks.Await(Edge::kEnvoy);
  EXPECT_FALSE(marks.IsUrgent(Mark(Edge::kKube)));
  EXPECT_TRUE(marks.IsUrgent(Mark(Edge::kEnvoy)));
  EXPECT_FALSE(marks.IsUrgent(Mark(Edge::kEnvoy)));
}

}  // namespace
}  // namespace phantomd
