#include "agent/kube/event_splitter.h"

#include <fmt/format.h>

#include <utility>

namespace phantomd {

void EventSplitter::Add(std::string_view bytes) {
  const size_t done = state_ == State::kObject ? begin_ : at_;
  buffer_.erase(0, done);
  at_ -= done;
  begin_ = 0;
  buffer_ += bytes;
}

std::optional<EventSplitter::Piece> EventSplitter::Next() {
  while (at_ < buffer_.size()) {
    const char c = buffer_[at_];
    std::optional<Piece> piece = state_ == State::kObject ? StepObject(c) : StepBetween(c);
    ++at_;
    line_start_ = c == '\n';
    if (line_start_) ++line_;
    if (piece) return piece;
  }
  return std::nullopt;
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
  if (c == '{' && line_start_) {
    Piece piece = Broken(fmt::format("the object has no end before line {}", line_));
    Begin();
    return piece;
  }
  if (at_ - begin_ >= kMaxObjectBytes) {
    return Broken(fmt::format("the object is longer than {} bytes", kMaxObjectBytes));
  }
  if (in_string_) {
    if (c == '\n') return Broken(fmt::format("a string has no end on line {}", line_));
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
    }
    return std::nullopt;
  }
  switch (c) {
    case '"':
      in_string_ = true;
      break;
    case '{':
      ++depth_;
      break;
    case '}':
      if (--depth_ == 0) {
        state_ = State::kBetween;
        return Piece{.line = begin_line_,
                     .text = std::string_view(buffer_).substr(begin_, at_ + 1 - begin_),
                     .trouble = {}};
      }
      break;
    default:
      break;
  }
  return std::nullopt;
}

}  // namespace phantomd
