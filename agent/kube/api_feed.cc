#include "agent/kube/api_feed.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/select.h>

#include <algorithm>
#include <random>
#include <utility>

#include "agent/base/check.h"
#include "agent/base/strings.h"
#include "agent/kube/object_decoder.h"

namespace phantomd {
namespace {

constexpr Nanos kSocketLook = std::chrono::milliseconds(20);

void* NewMulti() {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);  // once a process
  PHANTOMD_CHECK(initialised == CURLE_OK);
  CURLM* multi = curl_multi_init();
  PHANTOMD_CHECK(multi != nullptr);
  return multi;
}

std::string NameOf(const ApiObjects& objects, const KubeAccess& access) {
  return fmt::format("{}s{}{} by {}", KindName(objects.feed),
                     objects.field_selector.empty() ? "" : " with ", objects.field_selector,
                     access.description());
}

// Any answer but that of something in between which has not reached the server.
bool IsOfTheServer(int status) {
  return status != 0 && status != 502 && status != 503 && status != 504;
}

}  // namespace

ApiFeed::ApiFeed(ApiFeedOptions options, KubeAccess& access, const Clock& clock,
                 std::function<double()> random)
    : options_(std::move(options)),
      access_(access),
      clock_(clock),
      watch_(options_.list_watch, NameOf(options_.list_watch.objects, access), std::move(random)) {}

void ApiFeed::CloseConnections::operator()(void* multi) const { curl_multi_cleanup(multi); }

void ApiFeed::Disconnect() {
  probe_.reset();
  exchange_.reset();
  // An old connection may be of use to the server still, and curl would send probes over it: they
  // would tell nothing about the watch's own.
  multi_.reset();
}

bool ApiFeed::Step(std::vector<Input>& out) {
  out_ = &out;
  has_read_ = false;
  Ask();
  Perform();
  Probe();
  if (!watch_.Tick(clock_.Now(), out)) HangUp("");
  out_ = nullptr;
  return has_read_;
}

void ApiFeed::AddWaits(Waits& waits) const {
  if (multi_ == nullptr) return;
  fd_set reading, writing, failing;
  FD_ZERO(&reading);
  FD_ZERO(&writing);
  FD_ZERO(&failing);
  int most = -1;
  long millis = -1;
  PHANTOMD_CHECK(curl_multi_fdset(multi_.get(), &reading, &writing, &failing, &most) == CURLM_OK);
  PHANTOMD_CHECK(curl_multi_timeout(multi_.get(), &millis) == CURLM_OK);
  if (millis >= 0)
    waits.at_most = std::min<Nanos>(waits.at_most, std::chrono::milliseconds(millis));
  // Under way without a socket to tell of: a name is looked up, or its number is beyond an fd_set.
  if (most < 0 && exchange_ != nullptr) waits.at_most = std::min(waits.at_most, kSocketLook);
  for (int fd = 0; fd <= most; ++fd) {
    const int events =
        (FD_ISSET(fd, &reading) ? POLLIN : 0) | (FD_ISSET(fd, &writing) ? POLLOUT : 0);
    if (events != 0) waits.sockets.push_back({.fd = fd, .events = static_cast<short>(events)});
  }
}

void ApiFeed::Ask() {
  if (exchange_ != nullptr) return;
  if (!request_.has_value()) {
    request_ = watch_.TakeRequest(clock_.Now());
    if (request_.has_value() && request_->fresh_token) access_.Refused();
  }
  if (!request_.has_value()) return;
  absl::StatusOr<std::optional<KubeEndpoint>> endpoint = access_.Get();
  if (!endpoint.ok()) {
    HangUp(FromAbsl(endpoint.status().message()));
    return;
  }
  if (!endpoint->has_value()) return;
  endpoint_ = **std::move(endpoint);
  if (multi_ == nullptr) multi_.reset(NewMulti());
  ApiExchange::Reader& reader = *this;
  exchange_ = std::make_unique<ApiExchange>(multi_.get(), endpoint_, request_->path,
                                            request_->accept, reader);
  request_.reset();
}

bool ApiFeed::OnHead(const ApiAnswer& answer) {
  has_read_ = true;
  return watch_.OnHead(clock_.Now(), answer, *out_);
}

bool ApiFeed::OnBody(std::string_view bytes) {
  has_read_ = true;
  return watch_.OnBody(clock_.Now(), bytes, *out_);
}

void ApiFeed::Perform() {
  if (multi_ == nullptr) return;
  int running = 0;
  PHANTOMD_CHECK(curl_multi_perform(multi_.get(), &running) == CURLM_OK);
  int left = 0;
  while (multi_ != nullptr) {
    const CURLMsg* message = curl_multi_info_read(multi_.get(), &left);
    if (message == nullptr) break;
    if (message->msg != CURLMSG_DONE) continue;
    const int code = message->data.result;  // the message does not outlive the handle
    if (exchange_ != nullptr && exchange_->Is(message->easy_handle)) {
      Ended(code);
    } else {
      ProbeEnded(code);
    }
  }
}

void ApiFeed::Ended(int curl_code) {
  const std::string trouble = exchange_->Trouble(curl_code);
  if (ApiExchange::IsOfStaleFiles(curl_code)) access_.Refused();
  has_read_ = true;
  exchange_.reset();
  if (!trouble.empty()) Disconnect();
  watch_.OnEnd(clock_.Now(), trouble, *out_);
}

void ApiFeed::HangUp(std::string_view trouble) {
  Disconnect();
  request_.reset();
  watch_.OnEnd(clock_.Now(), trouble, *out_);
}

void ApiFeed::ProbeEnded(int curl_code) {
  const bool answered = curl_code == CURLE_OK && IsOfTheServer(probe_->status());
  const bool elsewhere = exchange_ != nullptr && exchange_->is_multiplexed() &&
                         exchange_->local_port() != probe_->local_port();
  probe_.reset();
  if (elsewhere) {
    // GOAWAY: whoever is at its end wants to be rid of it, though the watch may run on for minutes.
    HangUp("the watch's connection takes no further requests");
  } else {
    watch_.OnProbe(clock_.Now(), answered, *out_);
  }
}

void ApiFeed::Probe() {
  if (!watch_.watching()) {
    probe_.reset();
    return;
  }
  const BootTime now = clock_.Now();
  const Nanos since = now - probe_begun_;
  if (probe_ == nullptr) {
    if (since < options_.probe_interval) return;
    probe_ = std::make_unique<ApiExchange>(multi_.get(), endpoint_, "/livez", "*/*", ignore_);
    probe_begun_ = now;
    probe_is_late_ = false;
  } else if (since >= options_.patience) {
    HangUp(fmt::format("the server has not answered for {} s",
                       std::chrono::floor<std::chrono::seconds>(since).count()));
  } else if (since >= options_.probe_interval && !std::exchange(probe_is_late_, true)) {
    watch_.OnProbe(now, false, *out_);
  }
}

std::vector<std::unique_ptr<WatchSource>> ApiFeeds(const std::string& node_name,
                                                   Nanos probe_interval, KubeAccess& access,
                                                   const Clock& clock, InheritedFeeds inherited) {
  std::vector<std::unique_ptr<WatchSource>> out;
  for (const Feed feed : {Feed::kPods, Feed::kSlices, Feed::kNodes}) {
    ApiFeedOptions options;
    options.probe_interval = probe_interval;
    options.list_watch.objects.feed = feed;
    if (feed == Feed::kPods && !node_name.empty()) {
      options.list_watch.objects.field_selector = "spec.nodeName=" + node_name;
    }
    auto random = [engine = std::mt19937(std::random_device()())]() mutable {
      return std::uniform_real_distribution<double>(0, 1)(engine);
    };
    auto source = std::make_unique<ApiFeed>(std::move(options), access, clock, std::move(random));
    if (Inheritance known = inherited.Take(feed); known.good_until.is_set()) {
      source->Inherit(std::move(known));
    }
    out.push_back(std::move(source));
  }
  return out;
}

}  // namespace phantomd
