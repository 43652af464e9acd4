// An ApiFeed that follows a FakeApiServer, and what it told as words ("u1", "-u1", "synced",
// "broken").
#pragma once

#include <poll.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "agent/kube/api_feed.h"
#include "gtest/gtest.h"
#include "tests/kube/api_json.h"
#include "tests/kube/fake_api_server.h"
#include "tests/kube/feed_fixture.h"

namespace phantomd {

using Words = std::vector<std::string>;

// An access that the test holds in its hands.
class HandedAccess : public KubeAccess {
 public:
  absl::StatusOr<std::optional<KubeEndpoint>> Get() override { return answer; }
  void Refused() override { ++refused; }
  const std::string& description() const override { return description_; }

  absl::StatusOr<std::optional<KubeEndpoint>> answer = std::optional<KubeEndpoint>();
  int refused = 0;

 private:
  const std::string description_ = "test";
};

inline bool IsWatch(const FakeApiRequest& request) {
  return request.path.find("watch=1") != std::string::npos;
}
inline bool IsProbe(const FakeApiRequest& request) { return request.path == "/livez"; }

class ApiFeedTest : public ::testing::Test {
 protected:
  // Without probes; a loaded machine answers none in time.
  static ApiFeedOptions Calm() {
    ApiFeedOptions options;
    options.list_watch.objects.feed = Feed::kPods;
    options.list_watch.watch_list = false;
    options.list_watch.settle = std::chrono::milliseconds(20);
    options.probe_interval = std::chrono::hours(1);
    options.patience = std::chrono::hours(1);
    return options;
  }
  // With many. Whoever asks for these may be told "broken" and "synced" at any time.
  static ApiFeedOptions Probing() {
    ApiFeedOptions options = Calm();
    options.probe_interval = std::chrono::milliseconds(100);
    return options;
  }
  void Start(FakeApiServer::Handler handler, ApiFeedOptions options = Calm()) {
    server_ = std::make_unique<FakeApiServer>(std::move(handler));
    access_.answer = KubeEndpoint{.server = server_->url()};
    Follow(std::move(options));
  }
  void Follow(ApiFeedOptions options = Calm()) {
    feed_ = std::make_unique<ApiFeed>(std::move(options), access_, clock_, [] { return 0.0; });
  }
  // An ordinary server: one pod, then a watch that stays open, and probes that are answered.
  static FakeApiAnswer Ordinary(const FakeApiRequest& request) {
    if (IsProbe(request)) return FakeApiAnswer::Json(200, "ok");
    if (IsWatch(request)) return FakeApiAnswer::Watch();
    return FakeApiAnswer::Json(200, testing::api::List(10, testing::api::Pod(1, 5)));
  }

  // Steps until it holds; false: it never did.
  template <typename Condition>
  bool Until(Condition holds) {
    // Only ever reached by a failure.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) {
        ADD_FAILURE() << "the last error: " << feed_->stats().last_error;
        return false;
      }
      std::vector<Input> out;
      const bool more = feed_->Step(out);
      for (const std::string& word : testing::Words(out)) {
        // When it was broken is a matter of the moment.
        told_.push_back(word.substr(0, word.find('@')));
      }
      if (!more) poll(nullptr, 0, 1);
    }
    return true;
  }
  bool UntilTold(const std::string& word) {
    return Until([&] { return !told_.empty() && told_.back() == word; });
  }
  int Asked(bool (*what)(const FakeApiRequest&)) const {
    int out = 0;
    for (const FakeApiRequest& request : server_->asked()) out += what(request);
    return out;
  }

  SystemClock clock_;
  HandedAccess access_;
  std::unique_ptr<FakeApiServer> server_;
  std::unique_ptr<ApiFeed> feed_;
  Words told_;
};

}  // namespace phantomd
