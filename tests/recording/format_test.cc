// What the writer wrote, the reader reads: whole, cut at every byte, and damaged.

#include "agent/recording/format.h"

#include <fmt/format.h>

#include <thread>

#include "agent/recording/reader.h"
#include "agent/recording/writer.h"
#include "agent/wire/input_wire.h"
#include "gmock/gmock.h"
#include "tests/base/temporary_folder.h"
#include "tests/wire/sample_inputs.h"

namespace phantomd {
namespace {

using ::testing::HasSubstr;

class RecordingTest : public testing::TemporaryFolder {
 protected:
  std::string Recorded(const std::vector<Input>& inputs) const {
    const std::string path = PathOf("whole");
    {
      auto writer = RecordWriter::Create(path);
      for (const Input& input : inputs) (*writer)->Append(input);
    }
    return ReadBytes(path);
  }

  struct Read {
    std::vector<Input> inputs;
    absl::Status status;
    bool truncated = false;
    std::string truncation;
  };
  static Read ReadAll(RecordingReader& reader) {
    Read out;
    while (true) {
      absl::StatusOr<std::optional<Input>> input = reader.Next();
      out.status = input.status();
      if (!input.ok() || !*input) break;
      out.inputs.push_back(**input);
    }
    out.truncated = reader.truncated();
    out.truncation = reader.truncation();
    return out;
  }
  Read ReadBack(const std::string& bytes) const {
    return ReadAll(**RecordingReader::Open(Write("r", bytes)));
  }

  static std::string Record(const std::string& message) {
    EXPECT_LT(message.size(), 128u);
    return std::string(1, static_cast<char>(message.size())) + message;
  }
  static std::string Record(const Input& input) {
    phantom::v1::Input message;
    EncodeInput(input, &message);
    return Record(message.SerializeAsString());
  }
  static Input MinimalHeader() { return {BootTime::FromNanos(1), Header{}}; }
};

TEST_F(RecordingTest, WhatIsWrittenIsReadInOrder) {
  const std::vector<Input> inputs = testing::EveryInput();
  const Read read = ReadBack(Recorded(inputs));
  EXPECT_TRUE(read.status.ok()) << read.status.ToString();
  EXPECT_FALSE(read.truncated);
  EXPECT_EQ(read.inputs, inputs);
}

TEST_F(RecordingTest, LayoutIsTheOneDescribed) {
  const std::string header = Recorded({MinimalHeader()});
  const std::string both = Recorded({MinimalHeader(), {BootTime::FromNanos(5), ClockChange{}}});
  EXPECT_EQ(both.substr(header.size()), std::string("\x04\x08\x05\x6a\x00", 5));
}

TEST_F(RecordingTest, CutAtEveryByteYieldsAllBeforeTheCut) {
  const std::vector<Input> inputs = testing::EveryInput();
  const std::string bytes = Recorded(inputs);
  std::vector<size_t> ends;  // of the records
  for (size_t n = 1; n <= inputs.size(); ++n) {
    ends.push_back(Recorded({inputs.begin(), inputs.begin() + n}).size());
  }
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    SCOPED_TRACE(cut);
    const Read read = ReadBack(bytes.substr(0, cut));
    const size_t whole = std::upper_bound(ends.begin(), ends.end(), cut) - ends.begin();
    ASSERT_EQ(read.inputs, std::vector<Input>(inputs.begin(), inputs.begin() + whole));
    const bool at_boundary = whole > 0 && ends[whole - 1] == cut;
    ASSERT_EQ(read.truncated, !at_boundary);
    if (whole == 0) {
      EXPECT_THAT(std::string(read.status.message()),
                  HasSubstr(fmt::format("ends at byte {}, before the end of its Header", cut)));
    } else {
      EXPECT_TRUE(read.status.ok()) << read.status.ToString();
    }
    if (!at_boundary) {
      EXPECT_THAT(read.truncation,
                  HasSubstr(fmt::format("cut off at byte {}, inside the record that begins at byte "
                                        "{}: {} inputs",
                                        cut, whole == 0 ? 0 : ends[whole - 1], whole)));
    }
  }
}

TEST_F(RecordingTest, DamageIsNamedWithTheOffsetOfItsRecord) {
  const std::string header = Record(MinimalHeader());
  const std::string clock = Record(Input{BootTime::FromNanos(5), ClockChange{}});
  phantom::v1::Input future;
  future.mutable_header()->set_format_version(7);
  future.mutable_header()->mutable_settings()->set_pod_scope("cluster");
  phantom::v1::Input bad_port;
  bad_port.mutable_attempt()->set_source_port(70000);
  const struct {
    std::string bytes;
    size_t whole;
    size_t offset;
    const char* what;
  } cases[] = {
      {clock, 0, 0, "the first input is not a Header"},
      {header + clock + header, 2, header.size() + clock.size(), "a second Header"},
      {Record(future.SerializeAsString()), 0, 0,
       "its format_version is 7, and this program reads 1"},
      {header + Record(std::string("\xff\xff", 2)), 1, header.size(), "not an Input"},
      {header + Record(std::string()), 1, header.size(), "input: none of the kinds"},
      {header + Record(bad_port.SerializeAsString()), 1, header.size(),
       "attempt.source_port: 70000 is more than 65535"},
      {header + "\xff\xff\xff\xff\x01", 1, header.size(), "its length has too many bytes"},
      {header + "\x81\x80\x80\x20" + clock, 1, header.size(),
       "its length is 67108865, and the longest is 67108864"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const Read read = ReadBack(c.bytes);
    EXPECT_EQ(read.inputs.size(), c.whole);
    EXPECT_EQ(read.status.code(), absl::StatusCode::kDataLoss);
    EXPECT_FALSE(read.truncated);
    EXPECT_THAT(std::string(read.status.message()),
                HasSubstr(fmt::format("damaged at byte {} (record {})", c.offset, c.whole + 1)));
    EXPECT_THAT(std::string(read.status.message()), HasSubstr(c.what));
  }
}

TEST_F(RecordingTest, TextFileIsNoRecording) {
  const Read read = ReadBack("this is a text file, not a recording");
  EXPECT_EQ(read.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(read.status.message()),
              ::testing::EndsWith(" is not a recording: no Header can begin as at byte 1"));
}

TEST_F(RecordingTest, ErrorRepeats) {
  const auto reader = *RecordingReader::Open(Write("r", std::string("\x02\xff\xff", 3)));
  const absl::Status first = reader->Next().status();
  EXPECT_FALSE(first.ok());
  EXPECT_EQ(reader->Next().status(), first);
}

TEST_F(RecordingTest, MissingFileIsOneSentence) {
  const auto reader = RecordingReader::Open(PathOf("none"));
  EXPECT_THAT(std::string(reader.status().message()),
              HasSubstr(PathOf("none") + ": No such file or directory"));
}

TEST_F(RecordingTest, FolderIsAnErrorNotAnEmptyRecording) {
  const auto reader = *RecordingReader::Open(PathOf("."));
  EXPECT_THAT(std::string(reader->Next().status().message()), HasSubstr("Is a directory"));
}

TEST_F(RecordingTest, RecordLongerThanOneReadIsWhole) {
  BeliefSnapshot belief{.proxy_id = ProxyId("p"), .complete = true};
  belief.clusters.push_back({.name = "big"});
  for (int i = 0; i < 40'000; ++i) {
    belief.clusters[0].endpoints.push_back(
        {.address = {IpAddr::V4(10, 0, uint8_t(i >> 8), uint8_t(i)), 80}, .connects = uint64_t(i)});
  }
  const std::vector<Input> inputs = {
      MinimalHeader(), {BootTime::FromNanos(2), belief}, {BootTime::FromNanos(3), ClockChange{}}};
  const std::string bytes = Recorded(inputs);
  ASSERT_GT(bytes.size(), size_t{1} << 19);
  EXPECT_EQ(ReadBack(bytes).inputs, inputs);
}

TEST_F(RecordingTest, PipeThatGivesOneByteAtATimeIsRead) {
  const std::vector<Input> inputs = testing::EveryInput();
  const std::string bytes = Recorded(inputs);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread feeder([&] {
    for (const char byte : bytes) ASSERT_EQ(write(ends[1], &byte, 1), 1);
    close(ends[1]);
  });
  RecordingReader reader(ends[0], "standard input");
  const Read read = ReadAll(reader);
  feeder.join();
  EXPECT_EQ(read.inputs, inputs);
  EXPECT_FALSE(read.truncated);
}

}  // namespace
}  // namespace phantomd
