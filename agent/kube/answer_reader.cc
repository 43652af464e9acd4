#include "agent/kube/answer_reader.h"

#include <fmt/format.h>

#include <utility>

#include "agent/base/strings.h"
#include "agent/kube/event_splitter.h"
#include "agent/kube/json_object.h"
#include "agent/kube/pb_object.h"
#include "agent/kube/pb_streams.h"

namespace phantomd {
namespace {

// A list in JSON is held whole; it comes only from a server that cannot do protobuf.
constexpr size_t kMaxJsonList = size_t{512} << 20;

absl::Status Bad(std::string what) { return absl::InvalidArgumentError(what); }

absl::StatusOr<WatchEvent> Listed(Feed feed, DecodedObject object) {
  if (!IsNamed(object.change)) return Bad(std::move(object.trouble));
  return WatchEvent{.type = WatchEvent::Type::kChanged,
                    .feed = feed,
                    .change = std::move(object.change),
                    .trouble = std::move(object.trouble),
                    .resource_version = std::move(object.resource_version)};
}

// `event` itself, if a watch of `feed` may tell it.
absl::StatusOr<std::optional<WatchEvent>> Checked(Feed feed, absl::StatusOr<WatchEvent> event) {
  if (!event.ok()) return event.status();
  if (event->type == WatchEvent::Type::kError || event->feed == feed) return *std::move(event);
  return Bad(fmt::format("a {} in a watch of {}s", KindName(event->feed), KindName(feed)));
}

// "PodList" of kPods.
absl::Status CheckListKind(Feed feed, std::string_view kind) {
  constexpr std::string_view kList = "List";
  if (kind.ends_with(kList) && FeedOfKind(kind.substr(0, kind.size() - kList.size())) == feed) {
    return absl::OkStatus();
  }
  return Bad(fmt::format("a {} as a list of {}s", kind, KindName(feed)));
}

template <typename Object>
ListEnd EndOf(const Object& metadata) {
  return {.resource_version = std::string(metadata.Text(api::list_meta::kResourceVersion)),
          .continue_token = std::string(metadata.Text(api::list_meta::kContinue))};
}

class PbListReader final : public AnswerReader {
 public:
  explicit PbListReader(Feed feed) : feed_(feed) {}

  void Add(std::string_view bytes) override { splitter_.Add(bytes); }
  absl::StatusOr<std::optional<WatchEvent>> Next() override {
    while (true) {
      const auto piece = splitter_.Next();
      if (!piece.ok()) return piece.status();
      if (!piece->has_value()) return std::nullopt;
      if (const absl::Status kind = CheckListKind(feed_, splitter_.kind()); !kind.ok()) return kind;
      if ((*piece)->type == PbListSplitter::Piece::Type::kItem) {
        return Listed(feed_, DecodeObject(feed_, (*piece)->message));
      }
      absl::Status error;
      end_ = EndOf(PbObject((*piece)->message, &error));
      if (!error.ok()) return error;
    }
  }
  absl::StatusOr<ListEnd> Finish() override {
    if (!splitter_.whole()) return Bad("the list is cut short");
    if (end_.resource_version.empty()) return Bad("the list has no resourceVersion");
    return end_;
  }

 private:
  const Feed feed_;
  PbListSplitter splitter_;
  ListEnd end_;
};

class PbWatchReader final : public AnswerReader {
 public:
  explicit PbWatchReader(Feed feed) : feed_(feed) {}

  void Add(std::string_view bytes) override { splitter_.Add(bytes); }
  absl::StatusOr<std::optional<WatchEvent>> Next() override {
    const auto frame = splitter_.Next();
    if (!frame.ok()) return frame.status();
    if (!frame->has_value()) return std::nullopt;
    return Checked(feed_, ParseWatchFrame(**frame));
  }
  absl::StatusOr<ListEnd> Finish() override { return ListEnd(); }

 private:
  const Feed feed_;
  PbFrameSplitter splitter_;
};

class JsonListReader final : public AnswerReader {
 public:
  explicit JsonListReader(Feed feed) : feed_(feed) {}

  void Add(std::string_view bytes) override {
    too_long_ = too_long_ || body_.size() + bytes.size() > kMaxJsonList;
    if (!too_long_) body_ += bytes;
  }
  // An element is read only once the body is whole: see Finish().
  absl::StatusOr<std::optional<WatchEvent>> Next() override {
    if (too_long_) return Bad(fmt::format("a list in JSON of more than {} bytes", kMaxJsonList));
    if (!items_) return std::nullopt;
    if (at_ == items_->end()) return std::nullopt;
    const simdjson::dom::element item = *at_;
    ++at_;
    if (!item.is_object()) return Bad("an item of the list is no object");
    return Listed(feed_, DecodeObject(feed_, item));
  }
  absl::StatusOr<ListEnd> Finish() override {
    simdjson::dom::element root;
    if (const auto error = parser_.parse(body_.data(), body_.size()).get(root)) {
      return Bad(fmt::format("the list is not JSON: {}", simdjson::error_message(error)));
    }
    if (!root.is_object()) return Bad("the list is no object");
    absl::Status error;
    const JsonObject list(root, &error);
    const std::string_view kind = list.Text({"kind"});
    if (const absl::Status status = CheckListKind(feed_, kind); !status.ok()) return status;
    ListEnd end = EndOf(list.Object(api::object::kMetadata));
    if (!error.ok()) return error;
    if (end.resource_version.empty()) return Bad("the list has no resourceVersion");
    simdjson::dom::array items;
    // An empty list of Go is null.
    if (root.at_key("items").get(items) == simdjson::SUCCESS) {
      items_ = items;
      at_ = items_->begin();
    }
    return end;
  }

 private:
  const Feed feed_;
  std::string body_;
  bool too_long_ = false;
  simdjson::dom::parser parser_;
  std::optional<simdjson::dom::array> items_;
  simdjson::dom::array::iterator at_;
};

class JsonWatchReader final : public AnswerReader {
 public:
  explicit JsonWatchReader(Feed feed) : feed_(feed) {}

  void Add(std::string_view bytes) override { splitter_.Add(bytes); }
  absl::StatusOr<std::optional<WatchEvent>> Next() override {
    const std::optional<EventSplitter::Piece> piece = splitter_.Next();
    if (!piece) return std::nullopt;
    if (!piece->trouble.empty()) return Bad(piece->trouble);
    return Checked(feed_, parser_.Parse(piece->text));
  }
  absl::StatusOr<ListEnd> Finish() override { return ListEnd(); }

 private:
  const Feed feed_;
  EventSplitter splitter_;
  WatchEventParser parser_;
};

template <typename Pb, typename Json>
absl::StatusOr<std::unique_ptr<AnswerReader>> Make(Feed feed, std::string_view content_type) {
  const std::string_view media = content_type.substr(0, content_type.find_first_of("; "));
  if (media == "application/vnd.kubernetes.protobuf") return std::make_unique<Pb>(feed);
  if (media == "application/json") return std::make_unique<Json>(feed);
  return Bad(fmt::format("an answer of type {:?}", content_type));
}

}  // namespace

absl::StatusOr<std::unique_ptr<AnswerReader>> ReaderOfList(Feed feed,
                                                           std::string_view content_type) {
  return Make<PbListReader, JsonListReader>(feed, content_type);
}

absl::StatusOr<std::unique_ptr<AnswerReader>> ReaderOfWatch(Feed feed,
                                                            std::string_view content_type) {
  return Make<PbWatchReader, JsonWatchReader>(feed, content_type);
}

}  // namespace phantomd
