#include "agent/verdict/names.h"

#include <array>

namespace phantomd {
namespace {

// Names in the order of the values, which are those of proto/phantom/v1/types.proto.
template <size_t N, typename Enum>
std::string_view Pick(const std::array<std::string_view, N>& names, Enum value) {
  const auto index = static_cast<size_t>(value);
  return index < N ? names[index] : "UNRECOGNIZED";
}

}  // namespace

std::string_view NameOf(DestinationClass value) {
  static constexpr std::array<std::string_view, 7> kNames = {"DESTINATION_CLASS_UNSPECIFIED",
                                                             "LIVE",
                                                             "WITHDRAWN",
                                                             "DEAD",
                                                             "REUSED",
                                                             "EXTERNAL",
                                                             "UNKNOWN_DESTINATION"};
  return Pick(kNames, value);
}

std::string_view NameOf(Cause value) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "CAUSE_UNSPECIFIED", "STALE_EDS",     "HELD_BY_PROXY", "STALE_DNS",     "CLIENT_ADDRESS",
      "STATIC_CONFIG",     "AFTER_REMOVAL", "BYPASS",        "UNKNOWN_BELIEF"};
  return Pick(kNames, value);
}

std::string_view NameOf(Layer value) {
  static constexpr std::array<std::string_view, 4> kNames = {"LAYER_UNSPECIFIED", "L4", "L7",
                                                             "MIXED"};
  return Pick(kNames, value);
}

std::string_view NameOf(Outcome value) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "OUTCOME_UNSPECIFIED", "ESTABLISHED", "REFUSED",     "TIMED_OUT",  "ABANDONED",
      "UNREACHABLE",         "NO_ROUTE",    "LOCAL_ERROR", "OTHER_ERROR"};
  return Pick(kNames, value);
}

std::string_view NameOf(Initiator value) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "INITIATOR_UNSPECIFIED", "PROXY", "APPLICATION", "INTERCEPTED", "PROXY_CONTROL"};
  return Pick(kNames, value);
}

std::string_view NameOf(ConnectionEnd::How value) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "HOW_UNSPECIFIED", "CLOSED", "RESET", "ABORTED", "STALLED", "EXPIRED"};
  return Pick(kNames, value);
}

}  // namespace phantomd
