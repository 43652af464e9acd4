#include "agent/kube/api_paths.h"

#include <fmt/format.h>

#include <initializer_list>
#include <utility>

#include "agent/base/check.h"

namespace phantomd {
namespace {

std::string_view ResourceOf(Feed feed) {
  PHANTOMD_CHECK(feed != Feed::kUnspecified);
  if (feed == Feed::kPods) return "/api/v1/pods";
  if (feed == Feed::kNodes) return "/api/v1/nodes";
  return "/apis/discovery.k8s.io/v1/endpointslices";
}

// As RFC 3986 wants it in a query.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

// Parameters without a value are left out.
std::string Path(const ApiObjects& objects,
                 std::initializer_list<std::pair<std::string_view, std::string_view>> parameters) {
  std::string out(ResourceOf(objects.feed));
  char before = '?';
  const auto add = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    out += fmt::format("{}{}={}", std::exchange(before, '&'), name, Escaped(value));
  };
  for (const auto& [name, value] : parameters) add(name, value);
  add("fieldSelector", objects.field_selector);
  return out;
}

std::string Seconds(Nanos time) {
  return fmt::format("{}", std::chrono::ceil<std::chrono::seconds>(time).count());
}

}  // namespace

std::string ListPath(const ApiObjects& objects, std::string_view version) {
  return Path(objects, {{"resourceVersion", version}});
}

std::string NextPagePath(const ApiObjects& objects, std::string_view continue_token) {
  return Path(objects, {{"continue", continue_token}});
}

std::string WatchPath(const ApiObjects& objects, std::string_view version, Nanos at_most) {
  return Path(objects, {{"watch", "1"},
                        {"allowWatchBookmarks", "true"},
                        {"timeoutSeconds", Seconds(at_most)},
                        {"resourceVersion", version}});
}

std::string WatchListPath(const ApiObjects& objects, std::string_view version, Nanos at_most) {
  return Path(objects, {{"watch", "1"},
                        {"allowWatchBookmarks", "true"},
                        {"timeoutSeconds", Seconds(at_most)},
                        {"sendInitialEvents", "true"},
                        {"resourceVersionMatch", "NotOlderThan"},
                        {"resourceVersion", version}});
}

}  // namespace phantomd
