// libFuzzer's entry to everything that reads an API server's bytes. The first byte says what the
// others are: a watch, a list, one object, in protobuf or JSON, or the body of a refusal. Whatever
// the bytes: no crash; how they are cut into pieces changes nothing; an object that is told has a
// name, and what is wrong with one is told as text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/check.h"
#include "agent/base/utf8.h"
#include "agent/kube/event_splitter.h"
#include "agent/kube/pb_streams.h"
#include "agent/kube/watch_event.h"

namespace phantomd::fuzz {
namespace {

void CheckEvent(const absl::StatusOr<WatchEvent>& event) {
  if (!event.ok()) {
    PHANTOMD_CHECK(!event.status().message().empty());
    return;
  }
  const bool has_object =
      event->type == WatchEvent::Type::kChanged || event->type == WatchEvent::Type::kDeleted;
  if (!has_object) return;
  PHANTOMD_CHECK(IsNamed(event->change));
  PHANTOMD_CHECK(FeedOf(event->change) == event->feed);
  PHANTOMD_CHECK(IsUtf8(KeyOf(event->change)));
  if (const auto* pod = std::get_if<PodChange>(&event->change)) {
    PHANTOMD_CHECK(IsUtf8(pod->pod.name) && IsUtf8(pod->pod.workload.name));
    PHANTOMD_CHECK(IsUtf8(pod->departure_reason));
  }
}

// What a splitter gives, its pieces as text and the error as the last.
template <typename Splitter, typename TextOf>
std::vector<std::string> Split(std::string_view bytes, size_t step, TextOf text_of) {
  Splitter splitter;
  std::vector<std::string> out;
  for (size_t at = 0; at <= bytes.size(); at += step) {
    splitter.Add(bytes.substr(at, step));
    while (true) {
      const auto piece = splitter.Next();
      if (!piece.ok()) {
        PHANTOMD_CHECK(splitter.Next().status() == piece.status());
        out.emplace_back(piece.status().message());
        return out;
      }
      if (!piece->has_value()) break;
      out.push_back(text_of(**piece));
    }
  }
  out.emplace_back(splitter.whole() ? "whole" : "more");
  return out;
}

void Watch(std::string_view bytes) {
  const auto text_of = [](std::string_view frame) { return std::string(frame); };
  const std::vector<std::string> frames = Split<PbFrameSplitter>(bytes, bytes.size() + 1, text_of);
  PHANTOMD_CHECK(Split<PbFrameSplitter>(bytes, 1, text_of) == frames);
  for (const std::string& frame : frames) CheckEvent(ParseWatchFrame(frame));
}

void List(std::string_view bytes) {
  const auto text_of = [](const PbListSplitter::Piece& piece) {
    if (piece.type == PbListSplitter::Piece::Type::kItem) DecodeObject(Feed::kPods, piece.message);
    return std::string(piece.message);
  };
  const std::vector<std::string> pieces = Split<PbListSplitter>(bytes, bytes.size() + 1, text_of);
  PHANTOMD_CHECK(Split<PbListSplitter>(bytes, 1, text_of) == pieces);
}

void Object(Feed feed, std::string_view bytes) {
  const DecodedObject object = DecodeObject(feed, bytes);
  PHANTOMD_CHECK(FeedOf(object.change) == feed);
  PHANTOMD_CHECK(IsNamed(object.change) || !object.trouble.empty());
}

void Json(std::string_view bytes) {
  EventSplitter splitter;
  WatchEventParser parser;
  splitter.Add(bytes);
  while (const auto piece = splitter.Next()) {
    if (piece->trouble.empty()) CheckEvent(parser.Parse(piece->text));
  }
}

}  // namespace
}  // namespace phantomd::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace phantomd;
  using namespace phantomd::fuzz;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'w':
      Watch(bytes);
      break;
    case 'l':
      List(bytes);
      break;
    case 'p':
      Object(Feed::kPods, bytes);
      break;
    case 's':
      Object(Feed::kSlices, bytes);
      break;
    case 'n':
      Object(Feed::kNodes, bytes);
      break;
    case 'j':
      Json(bytes);
      break;
    default:
      StatusOfBody(bytes);
  }
  return 0;
}
