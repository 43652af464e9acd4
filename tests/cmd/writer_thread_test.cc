#include "agent/cmd/daemon/writer_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace phantomd {
namespace {

constexpr std::chrono::seconds kLong{30};

Input Tick(int64_t at) { return {BootTime::FromNanos(at), ClockChange{WallOffset(Nanos(at))}}; }

// Notes what a sink is asked to do.
class Notes : public InputSink {
 public:
  void BeginExport() override { out.Post("begin"); }
  void EndExport() override { out.Post("end"); }
  void Write(const Input& input) override {
    out.Post("write " + std::to_string(input.observed.nanos()));
  }
  void Flush() override { out.Post("flush"); }
  void Commit() override {
    shown_at_commit = shown == nullptr ? "" : shown->Get()->status.node_name;
    out.Post("commit");
  }

  Mailbox<std::string> out{10'000};
  Published<Report>* shown = nullptr;
  std::string shown_at_commit;
};

std::shared_ptr<const Report> ReportOf(const std::string& node) {
  Report report;
  report.status.node_name = node;
  return std::make_shared<const Report>(std::move(report));
}

class WriterThreadTest : public ::testing::Test {
 protected:
  std::string Next(Notes& notes) { return notes.out.Take(kLong).value_or("nothing"); }

  Published<Report> shown_;
  Notes sink_;
};

TEST_F(WriterThreadTest, SinksAreFlushedAsSoonAsTheInboxIsEmpty) {
  WriterThread thread(16, {&sink_}, shown_);
  thread.inbox().Post(Tick(1));
  // The thread is not stopped: the flush comes by itself.
  EXPECT_EQ(Next(sink_), "write 1");
  EXPECT_EQ(Next(sink_), "flush");
}

TEST_F(WriterThreadTest, EverySinkGetsEverything) {
  Notes other;
  WriterThread thread(16, {&sink_, &other}, shown_);
  thread.inbox().Post(ExportMark::kBegin);
  thread.inbox().Post(Tick(7));
  thread.inbox().Post(ExportMark::kEnd);
  thread.Stop();
  for (Notes* notes : {&sink_, &other}) {
    std::vector<std::string> told;
    for (std::string& note : notes->out.TakeAll()) {
      if (note != "flush") told.push_back(std::move(note));
    }
    EXPECT_THAT(told, ::testing::ElementsAre("begin", "write 7", "end"));
  }
}

TEST_F(WriterThreadTest, AReportIsShownOnceWhatCameBeforeItIsKept) {
  sink_.shown = &shown_;
  {
    WriterThread thread(16, {&sink_}, shown_);
    thread.inbox().Post(Tick(1));
    thread.inbox().Post(ReportOf("n1"));
  }
  EXPECT_EQ(Next(sink_), "write 1");
  EXPECT_THAT(sink_.out.TakeAll(), ::testing::Contains("commit"));
  EXPECT_EQ(sink_.shown_at_commit, "") << "nobody sees what is not kept";
  EXPECT_EQ(shown_.Get()->status.node_name, "n1");
}

// A sink whose first input waits for the test.
class SlowNotes : public Notes {
 public:
  void Write(const Input& input) override {
    if (!std::exchange(begun_, true)) go_on.Take(kLong);
    Notes::Write(input);
  }
  Mailbox<int> go_on{1};

 private:
  bool begun_ = false;
};

TEST_F(WriterThreadTest, WhatStandsBehindAReportIsNotKeptWithIt) {
  SlowNotes slow;
  WriterThread thread(16, {&slow}, shown_);
  thread.inbox().Post(Tick(1));
  // All of these are taken in one burst.
  thread.inbox().Post(ReportOf("n1"));
  thread.inbox().Post(ExportMark::kBegin);
  thread.inbox().Post(Tick(2));
  slow.go_on.Post(0);
  thread.Stop();
  std::vector<std::string> told;
  for (std::string& note : slow.out.TakeAll()) {
    if (note != "flush") told.push_back(std::move(note));
  }
  EXPECT_THAT(told, ::testing::ElementsAre("write 1", "commit", "begin", "write 2"));
}

TEST_F(WriterThreadTest, AllThatWasPostedBeforeStopIsWritten) {
  WriterThread thread(16, {&sink_}, shown_);
  for (int i = 1; i <= 1'000; ++i) ASSERT_TRUE(thread.inbox().Post(Tick(i)));
  thread.Stop();
  EXPECT_FALSE(thread.inbox().Post(Tick(9)));
  int next = 1;
  for (const std::string& note : sink_.out.TakeAll()) {
    if (note != "flush") {
      EXPECT_EQ(note, "write " + std::to_string(next++));
    }
  }
  EXPECT_EQ(next, 1'001);
}

}  // namespace
}  // namespace phantomd
