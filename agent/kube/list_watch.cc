#include "agent/kube/list_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "agent/base/check.h"
#include "agent/base/strings.h"

namespace phantomd {
namespace {

constexpr size_t kMaxRefusal = 64 << 10;
constexpr char kProtobufOrJson[] = "application/vnd.kubernetes.protobuf, application/json";
constexpr char kJson[] = "application/json";

// Versions are decimal numbers, by the API's promise since Kubernetes 1.35 and by etcd's revisions
// before; what is none cannot be compared.
bool IsOlder(std::string_view version, std::string_view than) {
  uint64_t left = 0, right = 0;
  const auto number = [](std::string_view text, uint64_t& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size();
  };
  return number(version, left) && number(than, right) && left < right;
}

}  // namespace

ListWatch::ListWatch(ListWatchOptions options, std::string source, std::function<double()> random)
    : options_(std::move(options)),
      random_(std::move(random)),
      tracker_(options_.objects.feed),
      want_(options_.watch_list ? Want::kWatchList : Want::kList) {
  stats_.source = std::move(source);
  stats_.feed = options_.objects.feed;
  stats_.waiting = fmt::format("{}: not asked yet", stats_.source);
}

void ListWatch::Inherit(Inheritance inheritance) {
  tracker_.Inherit(std::move(inheritance));
  // A cache may be behind what the one before was told.
  quorum_ = true;
}

std::string ListWatch::Path() const {
  if (want_ == Want::kList && !continue_.empty()) return NextPagePath(options_.objects, continue_);
  if (want_ == Want::kList) {
    return ListPath(options_.objects, quorum_ ? "" : version_.empty() ? "0" : version_);
  }
  const Nanos at_most(
      static_cast<int64_t>(static_cast<double>(options_.shortest_watch.count()) * (1 + random_())));
  return want_ == Want::kWatch ? WatchPath(options_.objects, version_, at_most)
                               : WatchListPath(options_.objects, version_, at_most);
}

std::optional<ApiRequest> ListWatch::TakeRequest(BootTime now) {
  if (state_ != State::kIdle || now < next_) return std::nullopt;
  state_ = State::kAsked;
  asked_ = last_piece_ = now;
  answer_ = ApiAnswer();
  reader_.reset();
  refusal_.clear();
  return ApiRequest{.path = Path(),
                    .accept = json_only_ ? kJson : kProtobufOrJson,
                    .fresh_token = token_refused_};
}

void ListWatch::StartOver(bool quorum) {
  want_ = options_.watch_list && !quorum && !no_watch_list_ ? Want::kWatchList : Want::kList;
  quorum_ = quorum;
  if (quorum) version_.clear();
}

void ListWatch::Settle(BootTime now) {
  settling_ = true;
  settled_at_ = now + options_.settle;
}

bool ListWatch::WentBack(BootTime now, std::string_view to, std::vector<Input>& out) {
  if (!IsOlder(to, version_)) return false;
  const std::string why =
      fmt::format("the server's resourceVersion went back from {} to {}", version_, to);
  StartOver(true);
  Abandon(now, why, out);
  return true;
}

bool ListWatch::OnHead(BootTime now, const ApiAnswer& answer, std::vector<Input>& out) {
  if (state_ == State::kAbandoned) return false;
  PHANTOMD_CHECK(state_ == State::kAsked);
  answer_ = answer;
  last_piece_ = now;
  if (answer.status != 200) {
    state_ = State::kRefused;
    return true;
  }
  token_refused_ = false;
  auto reader = want_ == Want::kList ? ReaderOfList(options_.objects.feed, answer.content_type)
                                     : ReaderOfWatch(options_.objects.feed, answer.content_type);
  if (!reader.ok()) return Abandon(now, FromAbsl(reader.status().message()), out);
  reader_ = *std::move(reader);
  if (want_ != Want::kWatch) {
    state_ = State::kListing;
    if (!list_told_) {
      if (std::exchange(listed_, true)) ++stats_.relists;
      tracker_.BeginList();
    }
    list_told_ = true;
    return true;
  }
  state_ = State::kWatching;
  life_ = now;
  // What happened since the resourceVersion comes first.
  if (!tracker_.synced()) Settle(now);
  return true;
}

bool ListWatch::OnBody(BootTime now, std::string_view bytes, std::vector<Input>& out) {
  last_piece_ = now;
  if (state_ == State::kRefused) {
    refusal_ += bytes.substr(0, kMaxRefusal - std::min(kMaxRefusal, refusal_.size()));
    return true;
  }
  if (state_ == State::kAbandoned) return false;
  PHANTOMD_CHECK(state_ == State::kListing || state_ == State::kWatching);
  reader_->Add(bytes);
  if (!TakeEvents(now, out)) return false;
  if (state_ == State::kWatching) life_ = now;
  return true;
}

bool ListWatch::TakeEvents(BootTime now, std::vector<Input>& out) {
  while (true) {
    absl::StatusOr<std::optional<WatchEvent>> event = reader_->Next();
    if (!event.ok()) {
      TellLoss(now, fmt::format("{}_event", KindName(options_.objects.feed)), GoodUntil(), out);
      ++stats_.skipped;
      StartOver(false);
      return Abandon(now, FromAbsl(event.status().message()), out);
    }
    if (!event->has_value()) return true;
    if (!TakeEvent(now, **std::move(event), out)) return false;
  }
}

bool ListWatch::TakeEvent(BootTime now, WatchEvent event, std::vector<Input>& out) {
  if (event.type == WatchEvent::Type::kError) {
    const bool gone = event.error.code == 410;
    if (gone) StartOver(want_ == Want::kList);
    const std::string why = fmt::format("the server ended the watch: {}", ToString(event.error));
    state_ = State::kAbandoned;
    Failed(now, why, gone ? Nanos(0) : event.error.retry_after, out);
    return false;
  }
  // The items of a list, and the first events of a WatchList, come in the order of their names.
  if (state_ == State::kWatching && !event.resource_version.empty()) {
    if (WentBack(now, event.resource_version, out)) return false;
    version_ = event.resource_version;
  }
  if (event.type == WatchEvent::Type::kBookmark) {
    ++stats_.events;
    if (state_ == State::kListing && event.initial_events_end) {
      return TakeListEnd(now, {.resource_version = std::move(event.resource_version)}, out);
    }
    return true;
  }
  if (!event.trouble.empty()) {
    ++stats_.skipped;
    stats_.last_error = fmt::format("{}: an event was skipped: {}", stats_.source, event.trouble);
    TellLoss(now, fmt::format("{}_event", KindName(options_.objects.feed)), GoodUntil(), out);
    tracker_.NotUnderstood(now, event, out);
    return true;
  }
  ++stats_.events;
  if (event.type == WatchEvent::Type::kChanged) {
    tracker_.Changed(now, std::move(event.change), out);
  } else {
    tracker_.Deleted(now, std::move(event.change), out);
  }
  return true;
}

bool ListWatch::TakeListEnd(BootTime now, const ListEnd& end, std::vector<Input>& out) {
  continue_ = end.continue_token;
  if (!continue_.empty()) {
    next_ = now;
    return true;
  }
  if (end.resource_version.empty()) return Abandon(now, "the list has no resourceVersion", out);
  if (WentBack(now, end.resource_version, out)) return false;
  list_told_ = false;
  quorum_ = false;
  version_ = end.resource_version;
  if (want_ == Want::kWatchList) {
    // The watch runs already.
    state_ = State::kWatching;
    life_ = now;
    Settle(now);
  } else {
    next_ = now;
  }
  want_ = Want::kWatch;
  return true;
}

void ListWatch::OnEnd(BootTime now, std::string_view trouble, std::vector<Input>& out) {
  const State ended = std::exchange(state_, State::kIdle);
  switch (ended) {
    case State::kIdle:
    case State::kAbandoned:
      break;
    case State::kAsked:
      Failed(now, trouble.empty() ? "no answer" : trouble, Nanos(0), out);
      break;
    case State::kRefused:
      Refused(now, out);
      break;
    case State::kListing:
      state_ = State::kListing;
      if (!trouble.empty()) {
        Failed(now, trouble, Nanos(0), out);
      } else if (want_ == Want::kWatchList) {
        // A server that knows nothing of a WatchList sends what exists, and no word of its end.
        no_watch_list_ = true;
        want_ = Want::kList;
        Failed(now, "the first events had no end", Nanos(0), out);
      } else {
        const absl::StatusOr<ListEnd> end = reader_->Finish();
        if (!end.ok()) {
          Failed(now, FromAbsl(end.status().message()), Nanos(0), out);
        } else if (TakeEvents(now, out)) {
          TakeListEnd(now, *end, out);
        }
      }
      state_ = State::kIdle;
      break;
    case State::kWatching:
      if (trouble.empty()) {
        // A server that ends every watch at once is not asked again and again.
        const bool short_lived = now - asked_ < options_.settle;
        next_ = short_lived ? now + backoff_.Next(Nanos(0), random_()) : now;
        life_ = now;
      } else {
        Failed(now, trouble, Nanos(0), out);
      }
      break;
  }
  UpdateStats();
}

void ListWatch::Refused(BootTime now, std::vector<Input>& out) {
  const ApiStatus told = StatusOfBody(refusal_);
  const std::string why =
      fmt::format("the server refused: HTTP status {}: {}", answer_.status,
                  told.message.empty() ? "it does not say why" : ToString(told));
  const Nanos retry_after = std::max(answer_.retry_after, told.retry_after);
  switch (answer_.status) {
    case 401:
      // The token may have been replaced since it was read.
      if (!std::exchange(token_refused_, true)) {
        stats_.last_error = fmt::format("{}: {}", stats_.source, why);
        next_ = now;
        return;
      }
      break;
    case 406:
    case 415:
      if (!std::exchange(json_only_, true)) {
        next_ = now;
        return;
      }
      break;
    case 410:
      StartOver(want_ == Want::kList);
      break;
    case 400:
    case 422:
      if (want_ == Want::kWatchList) {
        no_watch_list_ = true;
        want_ = Want::kList;
        next_ = now;
        return;
      }
      break;
    case 504:
      // The server has not come so far, and may never: etcd was restored from an older state.
      if (told.message.find("Too large resource version") != std::string::npos) StartOver(true);
      break;
    default:
      break;
  }
  Failed(now, why, retry_after, out);
}

bool ListWatch::Abandon(BootTime now, std::string_view trouble, std::vector<Input>& out) {
  state_ = State::kAbandoned;
  Failed(now, trouble, Nanos(0), out);
  return false;
}

void ListWatch::Failed(BootTime now, std::string_view trouble, Nanos retry_after,
                       std::vector<Input>& out) {
  // A list that was cut short begins again.
  list_told_ = false;
  continue_.clear();
  settling_ = false;
  Break(now, trouble, out);
  next_ = now + backoff_.Next(retry_after, random_());
  UpdateStats();
}

void ListWatch::OnProbe(BootTime now, bool answered, std::vector<Input>& out) {
  if (state_ != State::kWatching) return;
  if (!answered) {
    settling_ = false;
    if (tracker_.synced()) Break(now, "no answer from the server", out);
  } else {
    life_ = now;
    // What the server held back while it stood still comes now.
    if (!tracker_.synced() && !settling_) Settle(now);
  }
  UpdateStats();
}

bool ListWatch::Tick(BootTime now, std::vector<Input>& out) {
  switch (state_) {
    case State::kIdle:
    case State::kAbandoned:
      BreakIfBehind(now, out);
      break;
    case State::kAsked:
    case State::kRefused:
    case State::kListing:
      BreakIfBehind(now, out);
      if (now - last_piece_ >= options_.answer_limit) {
        return Abandon(now, "the answer stands still", out);
      }
      break;
    case State::kWatching:
      if (now - last_piece_ >= options_.silence_limit) {
        TellLoss(now, fmt::format("{}_watch", KindName(options_.objects.feed)), last_piece_, out);
        life_ = last_piece_;
        return Abandon(now, "the watch is silent, even its bookmarks are missing", out);
      }
      if (settling_ && now >= settled_at_) {
        settling_ = false;
        backoff_.Reset();
        tracker_.ListComplete(now, out);
      }
      break;
  }
  UpdateStats();
  return true;
}

BootTime ListWatch::GoodUntil() const { return state_ == State::kWatching ? life_ : asked_; }

void ListWatch::BreakIfBehind(BootTime now, std::vector<Input>& out) {
  if (tracker_.synced() && now - life_ >= options_.settle) {
    Break(now, "no watch since the last one ended", out);
  }
}

void ListWatch::Break(BootTime now, std::string_view trouble, std::vector<Input>& out) {
  stats_.last_error = fmt::format("{}: {}", stats_.source, trouble);
  if (tracker_.synced()) tracker_.Break(now, life_, out);
}

void ListWatch::TellLoss(BootTime now, std::string what, BootTime from, std::vector<Input>& out) {
  out.push_back({now, Loss{.what = std::move(what), .count = 1, .from = from, .to = now}});
}

void ListWatch::UpdateStats() {
  stats_.synced = tracker_.synced();
  stats_.objects = tracker_.size();
  stats_.waiting = stats_.synced               ? ""
                   : stats_.last_error.empty() ? fmt::format("{}: being listed", stats_.source)
                                               : stats_.last_error;
}

}  // namespace phantomd
