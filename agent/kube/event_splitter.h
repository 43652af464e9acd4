// EventSplitter cuts a growing stream of JSON objects into objects, without understanding them:
// it counts braces outside strings.
//
// The stream is what kubectl prints: objects one after the other, each over many indented lines or
// on one line. Whatever is not part of an object is rubbish. Two rules find the way out of a broken
// object, and hold for every JSON printer: no string contains a line break, and a '{' at the very
// beginning of a line opens a new object. A piece that is broken is reported once, with the line on
// which it begins, and the objects after it are unharmed.
//
//   line 1  {"type": "ADDED", "object": {"kind": "Po        <- cut by a crash of the writer
//   line 2  {"type": "ADDED", "object": {}}
//     -> {1, trouble: "..."}, {2, text: the object}
//
// An object whose end has not come yet is neither broken nor given out. Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace phantomd {

class EventSplitter {
 public:
  // An object longer than this is rubbish. etcd holds objects of at most 1.5 MiB.
  static constexpr size_t kMaxObjectBytes = 16 << 20;

  struct Piece {
    int64_t line = 0;       // on which it begins; the first is 1
    std::string_view text;  // an object, brace to brace; valid until the next call
    std::string trouble;    // not empty: no object, and why
  };

  void Add(std::string_view bytes);
  // The next piece that is complete.
  std::optional<Piece> Next();

  // The line of an object that has begun and not ended; 0: there is none.
  int64_t incomplete_line() const { return state_ == State::kObject ? begin_line_ : 0; }

 private:
  enum class State {
    kBetween,  // after an object
    kObject,
    kRubbish,  // reported; up to the next '{' at the beginning of a line
  };

  void Begin();
  Piece Broken(std::string trouble);
  // Inside an object: goes on to the next byte that ends or breaks it.
  void SkipInside();
  // What the byte `c` at `at_` means.
  std::optional<Piece> StepBetween(char c);
  std::optional<Piece> StepObject(char c);

  std::string buffer_;
  size_t at_ = 0;     // in `buffer_`: the next byte to look at
  size_t begin_ = 0;  // in `buffer_`: the first byte of the object; what is before is done with
  State state_ = State::kBetween;
  int depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;  // the byte before was a backslash in a string
  bool line_start_ = true;
  int64_t line_ = 1;
  int64_t begin_line_ = 0;
};

}  // namespace phantomd
