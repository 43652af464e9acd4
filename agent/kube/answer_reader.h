// AnswerReader turns the body of a list or a watch into events, as it comes, in the form in which
// the server sends it.
//
// Of a list each item is a kChanged event; Finish() tells where a watch goes on from it. An error
// is one clause and ends the answer: an event that cannot be read might be a death. An object that
// tells which one it is but is otherwise not understood is an event with trouble.
// Thread-compatible.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "agent/kube/watch_event.h"

namespace phantomd {

struct ListEnd {
  std::string resource_version;
  std::string continue_token;  // empty: the list is complete
};

class AnswerReader {
 public:
  virtual ~AnswerReader() = default;
  virtual void Add(std::string_view bytes) = 0;
  // Nothing: more must come first.
  virtual absl::StatusOr<std::optional<WatchEvent>> Next() = 0;
  // The body has ended; Next() then gives what is left. A list that is cut short is an error; a
  // watch may end anywhere, and its ListEnd is empty.
  virtual absl::StatusOr<ListEnd> Finish() = 0;
};

// `content_type` of the answer, as "application/vnd.kubernetes.protobuf;stream=watch"; one that is
// neither protobuf nor JSON is an error.
absl::StatusOr<std::unique_ptr<AnswerReader>> ReaderOfList(Feed feed,
                                                           std::string_view content_type);
absl::StatusOr<std::unique_ptr<AnswerReader>> ReaderOfWatch(Feed feed,
                                                            std::string_view content_type);

}  // namespace phantomd
