// The recorded event streams of tests/data/kube/, and small hand-made events.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "agent/base/check.h"
#include "agent/kube/event_splitter.h"

namespace phantomd::testing {

inline std::string KubeData(const std::string& name) {
  const char* root = std::getenv("PHANTOMD_SOURCE_DIR");
  std::ifstream in(std::string(root == nullptr ? "." : root) + "/tests/data/kube/" + name);
  PHANTOMD_CHECK(in.good());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The events of a stream that holds nothing else.
inline std::vector<std::string> EventTexts(const std::string& stream) {
  EventSplitter splitter;
  splitter.Add(stream);
  std::vector<std::string> out;
  while (const auto piece = splitter.Next()) {
    PHANTOMD_CHECK(piece->trouble.empty());
    out.emplace_back(piece->text);
  }
  return out;
}

// One line with an event of a pod whose UID, name and address follow from `n`.
inline std::string PodLine(const std::string& type, int n, const std::string& phase = "Running") {
  return fmt::format(
      R"({{"type":"{}","object":{{"kind":"Pod","metadata":{{"name":"p{}","namespace":"shop",)"
      R"("uid":"u{}"}},"status":{{"phase":"{}","podIPs":[{{"ip":"10.0.{}.{}"}}]}}}}}})"
      "\n",
      type, n, n, phase, n / 256, n % 256);
}

inline std::string NodeLine(const std::string& type, const std::string& name) {
  return fmt::format(R"({{"type":"{}","object":{{"kind":"Node","metadata":{{"name":"{}"}}}}}})"
                     "\n",
                     type, name);
}

}  // namespace phantomd::testing
