#include "agent/store/state_sink.h"

#include <gmock/gmock.h>

#include "tests/base/temporary_folder.h"
#include "tests/store/state_inputs.h"
#include "tests/testing/file_size_limit.h"

namespace phantomd {
namespace {

using testing::FileSizeLimit;
using ::testing::HasSubstr;
using testing::Kept;
using testing::kOwner;
using testing::Tick;

class HandClock : public Clock {
 public:
  BootTime Now() const override { return now; }
  WallOffset Offset() const override { return {}; }
  BootTime now = BootTime::FromNanos(1);
};

class StateSinkTest : public testing::TemporaryFolder {
 protected:
  void Begin() {
    sink_.emplace(StateSinkOptions{.folder = path(), .owner = kOwner, .least_tail = 1'000},
                  *StateFile::Open(path(), kOwner), clock_);
  }
  void Export(int64_t from, int64_t to) {
    sink_->BeginExport();
    for (int64_t t = from; t <= to; ++t) sink_->Write(Tick(t));
    sink_->EndExport();
  }
  // Gives up the file, as a killed agent does.
  std::vector<Input> KeptAfterwards() {
    sink_.reset();
    return Kept(path());
  }

  HandClock clock_;
  std::optional<StateSink> sink_;
};

std::vector<Input> Ticks(int64_t from, int64_t to) {
  std::vector<Input> out;
  for (int64_t t = from; t <= to; ++t) out.push_back(Tick(t));
  return out;
}

TEST_F(StateSinkTest, KeepsAnExportAndWhatFollows) {
  Begin();
  Export(1, 3);
  for (int64_t t = 4; t <= 6; ++t) sink_->Write(Tick(t));
  sink_->Commit();
  sink_->Write(Tick(7));
  sink_->Commit();
  sink_->Write(Tick(8));  // not committed
  EXPECT_EQ(KeptAfterwards(), Ticks(1, 7));
}

TEST_F(StateSinkTest, ALaterExportStandsInPlaceOfAll) {
  Begin();
  Export(1, 3);
  sink_->Write(Tick(4));
  sink_->Commit();
  sink_->Write(Tick(5));  // it is in the export
  Export(10, 12);
  sink_->Write(Tick(13));
  sink_->Commit();
  EXPECT_EQ(KeptAfterwards(), Ticks(10, 13));
}

TEST_F(StateSinkTest, HalfAnExportIsNeverKept) {
  Begin();
  Export(1, 3);
  sink_->Commit();
  sink_->BeginExport();
  sink_->Write(Tick(10));
  sink_->Commit();
  sink_->End();
  EXPECT_EQ(KeptAfterwards(), Ticks(1, 3));
}

TEST_F(StateSinkTest, WithoutAnExportNothingIsWritten) {
  Begin();
  Export(1, 3);
  sink_->Commit();
  sink_.reset();
  Begin();
  sink_->Write(Tick(9));
  sink_->Commit();
  EXPECT_EQ(KeptAfterwards(), Ticks(1, 3));
}

TEST_F(StateSinkTest, LongListsOfInputsAreCutIntoChunks) {
  Begin();
  Export(1, 200'000);
  sink_->Commit();
  EXPECT_EQ(KeptAfterwards(), Ticks(1, 200'000));
}

TEST_F(StateSinkTest, WishesForAnExportOnceTheTailIsLong) {
  Begin();
  Export(1, 500);  // some 15 bytes each: twice that is more than least_tail
  sink_->Commit();
  int64_t written = 500;
  const auto write_until_wish = [&](int64_t most) {
    const int64_t begin = written;
    while (written - begin < most) {
      sink_->Write(Tick(++written));
      sink_->Commit();
      if (sink_->TakeWish()) return written - begin;
    }
    return most;
  };
  const int64_t first = write_until_wish(3'000);
  EXPECT_GT(first, 900);
  EXPECT_LT(first, 1'100);
  EXPECT_FALSE(sink_->TakeWish()) << "one wish is enough";
  Export(1, 2);  // least_tail counts now
  EXPECT_LT(write_until_wish(3'000), 200);
}

TEST_F(StateSinkTest, TheEndIsToldToTheNext) {
  Begin();
  Export(1, 2);
  sink_->Commit();
  sink_->Write(Tick(3));
  sink_->End();
  sink_.reset();
  EXPECT_TRUE((*StateFile::Open(path(), kOwner))->ended());
  EXPECT_EQ(Kept(path()), Ticks(1, 3));
}

TEST_F(StateSinkTest, AFullDiskKeepsWhatWasKeptSaysSoAndGoesOnLater) {
  Begin();
  Export(1, 3);
  sink_->Commit();
  EXPECT_EQ(sink_->stats().error, "");
  {
    const FileSizeLimit full(100'000);
    for (int64_t t = 4; t <= 50'000; ++t) sink_->Write(Tick(t));
    sink_->Commit();
    EXPECT_THAT(sink_->stats().error, HasSubstr("cannot keep the state in " + PathOf("state.db")));
    sink_->Write(Tick(60'000));
    Export(70'000, 70'001);
    sink_->Commit();
  }
  EXPECT_FALSE(sink_->TakeWish());
  EXPECT_EQ(Kept(path()), Ticks(1, 3)) << "no hole, and nothing lost of what was kept";
  clock_.now = clock_.now + std::chrono::seconds(59);
  sink_->Commit();
  EXPECT_FALSE(sink_->TakeWish());
  clock_.now = clock_.now + std::chrono::seconds(1);
  sink_->Commit();
  EXPECT_TRUE(sink_->TakeWish());
  EXPECT_NE(sink_->stats().error, "") << "nothing is kept yet";
  sink_->Write(Tick(70'005));  // it is in the export
  Export(70'010, 70'012);
  sink_->Write(Tick(70'013));
  sink_->Commit();
  EXPECT_EQ(sink_->stats().error, "");
  EXPECT_EQ(KeptAfterwards(), Ticks(70'010, 70'013));
}

TEST_F(StateSinkTest, WithoutRoomForAFileItBeginsLater) {
  {
    const FileSizeLimit full(10);
    const auto file = StateFile::Open(path(), kOwner);
    ASSERT_EQ(file.status().code(), absl::StatusCode::kResourceExhausted)
        << file.status().ToString();
    sink_.emplace(StateSinkOptions{.folder = path(), .owner = kOwner}, file.status(), clock_);
    Export(1, 2);
    sink_->Commit();
    EXPECT_THAT(sink_->stats().error, HasSubstr("cannot keep the state in " + PathOf("state.db")));
  }
  clock_.now = clock_.now + std::chrono::seconds(60);
  sink_->Commit();
  ASSERT_TRUE(sink_->TakeWish());
  Export(3, 4);
  sink_->Commit();
  EXPECT_EQ(sink_->stats().error, "");
  EXPECT_EQ(KeptAfterwards(), Ticks(3, 4));
}

TEST_F(StateSinkTest, DamageFoundWhenItTriesAgainIsSetAside) {
  Begin();
  Export(1, 3);
  sink_->Commit();
  {
    const FileSizeLimit full(100'000);
    for (int64_t t = 4; t <= 50'000; ++t) sink_->Write(Tick(t));
    sink_->Commit();
  }
  Write("state.db", std::string(5'000, 'x'));
  clock_.now = clock_.now + std::chrono::seconds(60);
  sink_->Commit();
  EXPECT_TRUE(sink_->TakeWish());
  Export(7, 9);
  sink_->Commit();
  EXPECT_EQ(KeptAfterwards(), Ticks(7, 9));
  EXPECT_EQ(ReadBytes(PathOf("state.db.unusable")), std::string(5'000, 'x'));
}

}  // namespace
}  // namespace phantomd
