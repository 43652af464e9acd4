#include "agent/base/published.h"

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace phantomd {
namespace {

TEST(PublishedTest, BeforeTheFirstVersionThereIsADefaultOne) {
  const Published<int> published;
  ASSERT_NE(published.Get(), nullptr);
  EXPECT_EQ(*published.Get(), 0);
}

TEST(PublishedTest, ReaderKeepsTheVersionItGot) {
  Published<int> published;
  published.Set(std::make_shared<const int>(1));
  const std::shared_ptr<const int> kept = published.Get();
  published.Set(std::make_shared<const int>(2));
  EXPECT_EQ(*kept, 1);
  EXPECT_EQ(*published.Get(), 2);
}

TEST(PublishedTest, OldVersionIsFreedWithItsLastReader) {
  Published<int> published;
  published.Set(std::make_shared<const int>(1));
  std::shared_ptr<const int> kept = published.Get();
  const std::weak_ptr<const int> watch = kept;
  published.Set(std::make_shared<const int>(2));
  EXPECT_FALSE(watch.expired());
  kept.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(PublishedTest, ReadersNeverSeeHalfAVersionNorAnOlderOneAgain) {
  using Version = std::array<int, 16>;  // all elements the same
  Published<Version> published;
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&] {
      int last = 0;
      while (!done) {
        const std::shared_ptr<const Version> version = published.Get();
        for (const int element : *version) ASSERT_EQ(element, version->front());
        ASSERT_GE(version->front(), last);
        last = version->front();
      }
    });
  }
  for (int i = 1; i <= 3'000; ++i) {
    Version next;
    next.fill(i);
    published.Set(std::make_shared<const Version>(next));
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(published.Get()->front(), 3'000);
}

}  // namespace
}  // namespace phantomd
