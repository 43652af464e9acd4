#include "agent/cmd/daemon/predecessor.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "agent/base/strings.h"

namespace phantomd {
namespace {

// Tells an engine what is kept, header first.
class Heir {
 public:
  explicit Heir(const StateRequest& request) : request_(request) {}

  absl::Status Tell(const Input& input) {
    until_ = input.observed;
    if (engine_ == nullptr) {
      const auto* header = std::get_if<Header>(&input.value);
      if (header == nullptr) return absl::DataLossError("it does not begin with a header");
      Begin(*header, input.observed);
      return absl::OkStatus();
    }
    feeds_.Learn(input);
    if (const auto* change = std::get_if<ProxyChange>(&input.value)) Learn(*change);
    return engine_->Replay(input);
  }

  bool has_begun() const { return engine_ != nullptr; }

  absl::StatusOr<Predecessor> Finish() {
    if (other_settings_) {
      if (absl::Status status = ChangeSettings(); !status.ok()) return status;
    }
    if (until_ > request_.clock->Now()) {
      return absl::DataLossError(
          fmt::format("it ends at {} ns, which is still to come", until_.nanos()));
    }
    for (const Input& broken : feeds_.Break(request_.notice)) {
      if (absl::Status status = engine_->Replay(broken); !status.ok()) return status;
    }
    return Predecessor{.engine = std::move(engine_),
                       .feeds = std::move(feeds_),
                       .proxies = std::move(proxies_),
                       .until = until_};
  }

 private:
  void Begin(const Header& kept, BootTime started) {
    other_settings_ = kept.settings != request_.header.settings;
    // What was judged already was judged by the settings of then.
    engine_ = other_settings_
                  ? std::make_unique<Engine>(kept, started, Engine::Options(),
                                             Engine::AppliedSink(), Engine::JudgedSink())
                  : request_.make_engine(HeaderWith(kept.offset), started);
  }

  Header HeaderWith(WallOffset offset) const {
    Header header = request_.header;
    header.offset = offset;
    return header;
  }

  absl::Status ChangeSettings() {
    std::unique_ptr<Engine> next;
    absl::Status status;
    engine_->Export([&](const Input& input) {
      if (const auto* header = std::get_if<Header>(&input.value)) {
        next = request_.make_engine(HeaderWith(header->offset), input.observed);
      } else if (status.ok()) {
        status = next->Replay(input);
      }
    });
    engine_ = std::move(next);
    return status;
  }

  void Learn(const ProxyChange& change) {
    if (change.gone) {
      proxies_.erase(change.proxy.id);
    } else {
      proxies_.insert(change.proxy.id);
    }
  }

  const StateRequest& request_;
  std::unique_ptr<Engine> engine_;
  bool other_settings_ = false;
  InheritedFeeds feeds_;
  std::set<ProxyId> proxies_;
  BootTime until_;
};

absl::StatusOr<OpenedState> TryOpen(const StateRequest& request) {
  auto file = StateFile::Open(request.folder, request.owner);
  if (!file.ok()) return file.status();
  // What the file holds is whole, and yet no engine can have been told it.
  const auto unusable = [path = (*file)->path()](const absl::Status& why) {
    return absl::DataLossError(
        fmt::format("the state in {} is damaged: {}", path, FromAbsl(why.message())));
  };
  Heir heir(request);
  absl::Status refused;
  const absl::Status read =
      (*file)->Read([&](const Input& input) { return refused = heir.Tell(input); });
  if (!refused.ok()) return unusable(refused);
  if (!read.ok()) return read;
  // From here on it is not known any more that nothing is missing.
  const bool ended = (*file)->ended();
  if (absl::Status status = (*file)->Commit(/*ended=*/false); !status.ok()) return status;
  OpenedState out{.file = *std::move(file), .predecessor = {}};
  if (!heir.has_begun()) return out;
  absl::StatusOr<Predecessor> predecessor = heir.Finish();
  if (!predecessor.ok()) return unusable(predecessor.status());
  predecessor->ended = ended;
  out.predecessor = *std::move(predecessor);
  return out;
}

}  // namespace

absl::StatusOr<OpenedState> OpenState(const StateRequest& request) {
  absl::StatusOr<OpenedState> opened = TryOpen(request);
  if (!absl::IsDataLoss(opened.status())) return opened;
  spdlog::warn("{}; it is set aside, and what it told is not known",
               FromAbsl(opened.status().message()));
  if (absl::Status status = StateFile::SetAside(request.folder); !status.ok()) return status;
  return TryOpen(request);
}

}  // namespace phantomd
