// The two bodies that come in pieces from an API server in protobuf, cut into messages as they
// come.
//
//   PbFrameSplitter: a watch; frames of a length of 4 bytes, big-endian, and a WatchEvent each.
//   PbListSplitter: a list ("k8s\0", runtime.Unknown, PodList), of which only one item at a time is
//   held: the list of a large cluster is hundreds of megabytes.
//
//   list.Add(the first half)  Next() -> metadata, item, item, nothing
//   list.Add(the rest)        Next() -> item, nothing     whole() -> true
//
// An error is one clause and stays: where messages begin is no longer known. What Next() gives is
// valid until the next call of Add() or Next(). Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "agent/kube/wire_fields.h"

namespace phantomd {

// A frame or an item longer than this is an error. etcd holds objects of at most 1.5 MiB.
inline constexpr size_t kMaxPbMessage = 16 << 20;

class PbFrameSplitter {
 public:
  void Add(std::string_view bytes);
  absl::StatusOr<std::optional<std::string_view>> Next();
  // No frame has begun that has not ended.
  bool whole() const { return at_ == buffer_.size(); }

 private:
  std::string buffer_;
  size_t at_ = 0;  // in `buffer_`: what is before is done with
  absl::Status error_;
};

class PbListSplitter {
 public:
  struct Piece {
    enum class Type { kMetadata, kItem };
    Type type = Type::kItem;
    std::string_view message;
  };

  void Add(std::string_view bytes);
  absl::StatusOr<std::optional<Piece>> Next();

  const std::string& kind() const { return kind_; }  // "PodList"; empty: not read yet
  // The list is complete: nothing may follow.
  bool whole() const;

 private:
  enum class State {
    kMagic,
    kEnvelope,  // the fields of the Unknown before the list
    kList,      // the list's own fields
    kTail,      // the fields of the Unknown behind it
  };
  // One field of the message that is read. `limit`: how many bytes of it are left.
  struct Field {
    WireHead head;
    std::string_view contents;
  };

  absl::Status ReadMagic();
  absl::Status ReadEnvelope();
  absl::StatusOr<std::optional<Piece>> ReadList();
  absl::Status ReadTail();
  absl::StatusOr<std::optional<Field>> TakeField(uint64_t limit);
  std::string_view rest() const { return std::string_view(buffer_).substr(at_); }

  std::string buffer_;
  size_t at_ = 0;  // in `buffer_`: what is before is done with
  State state_ = State::kMagic;
  uint64_t list_left_ = 0;  // bytes of the list that have not been taken
  std::string kind_;
  absl::Status error_;
};

}  // namespace phantomd
