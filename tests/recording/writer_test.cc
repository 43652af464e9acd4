// The writer, also when the disk is full, and the sink that feeds it.

#include "agent/recording/writer.h"

#include "agent/recording/reader.h"
#include "agent/recording/recording_sink.h"
#include "gmock/gmock.h"
#include "tests/base/temporary_folder.h"
#include "tests/testing/file_size_limit.h"
#include "tests/wire/sample_inputs.h"

namespace phantomd {
namespace {

using ::testing::HasSubstr;

Input Tick(int64_t at) { return {BootTime::FromNanos(at), ClockChange{WallOffset(Nanos(at))}}; }

class RecordWriterTest : public testing::TemporaryFolder {
 protected:
  static std::vector<Input> ReadAll(const std::string& path) {
    std::vector<Input> out;
    const auto reader = *RecordingReader::Open(path);
    while (true) {
      const auto input = reader->Next();
      EXPECT_TRUE(input.ok()) << input.status().ToString();
      if (!input.ok() || !*input) break;
      out.push_back(**input);
    }
    EXPECT_FALSE(reader->truncated()) << reader->truncation();
    return out;
  }
};

TEST_F(RecordWriterTest, FlushedInputsAreInTheFile) {
  const std::string path = PathOf("r");
  auto writer = *RecordWriter::Create(path);
  const std::vector<Input> inputs = testing::EveryInput();
  for (const Input& input : inputs) writer->Append(input);
  EXPECT_EQ(writer->written(), 0u);
  writer->Flush();
  EXPECT_EQ(writer->written(), inputs.size());
  EXPECT_EQ(ReadAll(path), inputs);
}

TEST_F(RecordWriterTest, CreateEmptiesAnOldFile) {
  const std::string path = Write("r", std::string(100'000, 'x'));
  (*RecordWriter::Create(path))->Append(testing::EveryInput()[0]);
  EXPECT_EQ(ReadAll(path).size(), 1u);
}

TEST_F(RecordWriterTest, SecondWriterOfAFileIsTurnedAwayAndTouchesNothing) {
  const std::string path = PathOf("r");
  auto first = *RecordWriter::Create(path);
  first->Append(testing::EveryInput()[0]);
  first->Flush();
  const auto second = RecordWriter::Create(path);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(std::string(second.status().message()),
            "cannot write the recording " + path + ": another agent records to it");
  EXPECT_EQ(ReadAll(path).size(), 1u);
  first.reset();
  EXPECT_TRUE(RecordWriter::Create(path).ok());
}

TEST_F(RecordWriterTest, DeviceIsNobodysAlone) {
  const auto first = RecordWriter::Create("/dev/null");
  EXPECT_TRUE(RecordWriter::Create("/dev/null").ok());
}

TEST_F(RecordWriterTest, FolderThatDoesNotExistIsOneSentence) {
  const auto writer = RecordWriter::Create(PathOf("none/r"));
  EXPECT_THAT(std::string(writer.status().message()),
              HasSubstr("cannot write the recording " + PathOf("none/r")));
}

TEST_F(RecordWriterTest, FullDiskEndsTheRecordingAtAWholeRecordAndCountsTheRest) {
  const std::string path = PathOf("r");
  auto writer = *RecordWriter::Create(path);
  writer->Append(testing::EveryInput()[0]);
  writer->Append(Tick(1));
  writer->Flush();
  const size_t whole = ReadBytes(path).size();
  {
    const testing::FileSizeLimit limit(whole + 7);  // the next flush fails after 7 bytes
    writer->Append(Tick(2));
    writer->Append(Tick(3));
    writer->Flush();
  }
  EXPECT_FALSE(writer->status().ok());
  EXPECT_THAT(std::string(writer->status().message()),
              HasSubstr("ends after 2 inputs: File too large"));
  writer->Append(Tick(4));  // there is room again, but a hole would be a lie
  writer->Flush();
  EXPECT_EQ(writer->written(), 2u);
  EXPECT_EQ(writer->lost(), 3u);
  EXPECT_EQ(ReadBytes(path).size(), whole);
  EXPECT_EQ(ReadAll(path), (std::vector<Input>{testing::EveryInput()[0], Tick(1)}));
}

TEST_F(RecordWriterTest, FullDeviceIsSaidAsSuch) {
  RecordWriter writer(open("/dev/full", O_WRONLY | O_CLOEXEC), "/dev/full");
  writer.Append(testing::EveryInput()[0]);
  writer.Flush();
  EXPECT_EQ(std::string(writer.status().message()),
            "the recording /dev/full ends after 0 inputs: No space left on device");
  EXPECT_EQ(writer.lost(), 1u);
}

TEST_F(RecordWriterTest, FirstInputMustBeTheHeader) {
  EXPECT_DEATH((*RecordWriter::Create(PathOf("r")))->Append(Tick(1)), "check failed");
}

TEST_F(RecordWriterTest, SinkWritesAndTellsHowItStands) {
  const std::string path = PathOf("r");
  RecordingSink sink(*RecordWriter::Create(path));
  const std::vector<Input> inputs = {testing::EveryInput()[0], Tick(1), Tick(2)};
  for (const Input& input : inputs) sink.Write(input);
  sink.Flush();
  EXPECT_EQ(ReadAll(path), inputs);
  EXPECT_EQ(sink.stats().written, 3u);
  EXPECT_EQ(sink.stats().lost, 0u);
  EXPECT_EQ(sink.stats().error, "");
}

TEST_F(RecordWriterTest, SinkTakesTheFirstExportAndPassesOverTheOthers) {
  const std::string path = PathOf("r");
  RecordingSink sink(*RecordWriter::Create(path));
  for (int i = 0; i < 2; ++i) {
    sink.BeginExport();
    sink.Write(testing::EveryInput()[0]);
    sink.Write(Tick(1 + i));
    sink.EndExport();
    sink.Write(Tick(5 + i));
  }
  sink.Flush();
  EXPECT_EQ(ReadAll(path),
            (std::vector<Input>{testing::EveryInput()[0], Tick(1), Tick(5), Tick(6)}));
}

TEST_F(RecordWriterTest, SinkTellsThatTheDiskIsFull) {
  RecordingSink sink(std::make_unique<RecordWriter>(open("/dev/full", O_WRONLY), "/dev/full"));
  sink.Write(testing::EveryInput()[0]);
  for (int i = 1; i <= 9; ++i) sink.Write(Tick(i));
  sink.Flush();
  EXPECT_EQ(sink.stats().written, 0u);
  EXPECT_EQ(sink.stats().lost, 10u);
  EXPECT_THAT(sink.stats().error, HasSubstr("No space left on device"));
}

}  // namespace
}  // namespace phantomd
