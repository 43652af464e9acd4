// What an API server answers about pods, as JSON.
#pragma once

#include <fmt/format.h>

#include <string>

namespace phantomd::testing::api {

inline std::string Pod(int n, int version) {
  return fmt::format(R"({{"kind":"Pod","metadata":{{"name":"p{}","uid":"u{}","namespace":"shop",)"
                     R"("resourceVersion":"{}"}}}})",
                     n, n, version);
}
inline std::string Event(const std::string& type, const std::string& object) {
  return fmt::format(R"({{"type":"{}","object":{}}})"
                     "\n",
                     type, object);
}
inline std::string Added(int n, int version) { return Event("ADDED", Pod(n, version)); }
inline std::string Deleted(int n, int version) { return Event("DELETED", Pod(n, version)); }
inline std::string Bookmark(int version, bool end = false) {
  return Event("BOOKMARK",
               fmt::format(R"({{"kind":"Pod","metadata":{{"resourceVersion":"{}"{}}}}})", version,
                           end ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : ""));
}
inline std::string List(int version, const std::string& items, const std::string& token = "") {
  return fmt::format(
      R"({{"kind":"PodList","metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})",
      version, token, items);
}
inline std::string Status(int code, const std::string& reason, const std::string& message) {
  return fmt::format(R"({{"kind":"Status","code":{},"reason":"{}","message":"{}"}})", code, reason,
                     message);
}

}  // namespace phantomd::testing::api
