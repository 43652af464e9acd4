#include "agent/kube/event_splitter.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace phantomd {
namespace {

constexpr std::array<bool, 256> BytesOf(std::string_view bytes) {
  std::array<bool, 256> out{};
  for (const char c : bytes) out[static_cast<uint8_t>(c)] = true;
  return out;
}

// The bytes that matter inside a string, and outside.
constexpr std::array<bool, 256> kInString = BytesOf("\"\\\n");
constexpr std::array<bool, 256> kOutside = BytesOf("\"{}\n");

}  // namespace

void EventSplitter::Add(std::string_view bytes) {
  const size_t done = state_ == State::kObject ? begin_ : at_;
  buffer_.erase(0, done);
  at_ -= done;
  begin_ = 0;
  buffer_ += bytes;
}

std::optional<EventSplitter::Piece> EventSplitter::Next() {
  while (true) {
    if (state_ == State::kObject) SkipInside();
    if (state_ == State::kObject && at_ - begin_ >= kMaxObjectBytes) {
      return Broken(fmt::format("the object is longer than {} bytes", kMaxObjectBytes));
    }
    if (at_ == buffer_.size()) return std::nullopt;
    const char c = buffer_[at_];
    std::optional<Piece> piece = state_ == State::kObject ? StepObject(c) : StepBetween(c);
    ++at_;
    line_start_ = c == '\n';
    if (line_start_) ++line_;
    if (piece) return piece;
  }
}

void EventSplitter::SkipInside() {
  // Most of the time of a large feed is spent here, so the state is in registers. The byte before
  // `p` is in the buffer too: the object's own '{' at the least.
  const char* const begin = buffer_.data();
  const char* const end = begin + buffer_.size();
  const char* p = begin + at_;
  int depth = depth_;
  bool in_string = in_string_;
  bool escaped = escaped_;
  for (; p < end; ++p) {
    if (in_string) {
      if (escaped && *p != '\n') {
        escaped = false;
        continue;
      }
      while (p < end && !kInString[static_cast<uint8_t>(*p)]) ++p;
      if (p == end || *p == '\n') break;
      if (*p == '\\') {
        escaped = true;
      } else {
        in_string = false;
      }
      continue;
    }
    while (p < end && !kOutside[static_cast<uint8_t>(*p)]) ++p;
    if (p == end) break;
    if (*p == '"') {
      in_string = true;
    } else if (*p == '\n') {
      ++line_;
    } else if (*p == '{') {
      if (p[-1] == '\n') break;
      ++depth;
    } else {
      if (depth == 1) break;
      --depth;
    }
  }
  at_ = static_cast<size_t>(p - begin);
  line_start_ = p[-1] == '\n';
  depth_ = depth;
  in_string_ = in_string;
  escaped_ = escaped;
}

void EventSplitter::Begin() {
  state_ = State::kObject;
  begin_ = at_;
  begin_line_ = line_;
  depth_ = 1;
  in_string_ = false;
  escaped_ = false;
}

EventSplitter::Piece EventSplitter::Broken(std::string trouble) {
  state_ = State::kRubbish;
  return {.line = begin_line_, .text = {}, .trouble = std::move(trouble)};
}

std::optional<EventSplitter::Piece> EventSplitter::StepBetween(char c) {
  if (c == '{' && (state_ == State::kBetween || line_start_)) {
    Begin();
    return std::nullopt;
  }
  if (state_ == State::kRubbish || c == ' ' || c == '\t' || c == '\r' || c == '\n') {
    return std::nullopt;
  }
  begin_line_ = line_;
  return Broken("not the beginning of an object");
}

std::optional<EventSplitter::Piece> EventSplitter::StepObject(char c) {
  if (c == '\n') return Broken(fmt::format("a string has no end on line {}", line_));
  if (c == '{') {
    Piece piece = Broken(fmt::format("the object has no end before line {}", line_));
    Begin();
    return piece;
  }
  state_ = State::kBetween;
  return Piece{.line = begin_line_,
               .text = std::string_view(buffer_).substr(begin_, at_ + 1 - begin_),
               .trouble = {}};
}

}  // namespace phantomd
