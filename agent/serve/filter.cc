#include "agent/serve/filter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "agent/base/strings.h"
#include "phantom/v1/types.pb.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;

// Takes one value of a key; the error is what is wrong with it.
using Take = std::function<absl::Status(const std::string& value)>;

absl::Status ParseTerms(std::string_view text, const std::map<std::string, Take>& keys) {
  for (const absl::string_view term :
       absl::StrSplit(ToAbsl(text), absl::ByAnyChar(" \t"), absl::SkipEmpty())) {
    const size_t equals = term.find('=');
    if (equals == absl::string_view::npos || equals + 1 == term.size()) {
      return absl::InvalidArgumentError(
          fmt::format("filter: \"{}\" is not of the form key=value", FromAbsl(term)));
    }
    const std::string key(term.substr(0, equals));
    const auto found = keys.find(key);
    if (found == keys.end()) {
      std::vector<std::string> known;
      for (const auto& [name, take] : keys) known.push_back(name);
      return absl::InvalidArgumentError(
          fmt::format("filter: unknown key \"{}\"; there are {}", key, fmt::join(known, ", ")));
    }
    if (absl::Status taken = found->second(std::string(term.substr(equals + 1))); !taken.ok()) {
      return taken;
    }
  }
  return absl::OkStatus();
}

Take TakeText(std::vector<std::string>* out) {
  return [out](const std::string& value) {
    out->push_back(value);
    return absl::OkStatus();
  };
}

// `parse` is the generated parser of the enum `Message`, whose numbers are those of `Value`; the
// unspecified value, number 0, is nothing to ask for.
template <typename Message, typename Value>
Take TakeEnum(const char* key, bool (*parse)(google::protobuf::ConstStringParam, Message*),
              const google::protobuf::EnumDescriptor* type, std::vector<Value>* out) {
  return [=](const std::string& value) -> absl::Status {
    Message message;
    if (!parse(absl::AsciiStrToUpper(value), &message) || static_cast<int>(message) == 0) {
      std::vector<std::string> known;
      for (int i = 0; i < type->value_count(); ++i) {
        if (type->value(i)->number() != 0) known.push_back(type->value(i)->name());
      }
      return absl::InvalidArgumentError(
          fmt::format("filter: \"{}\" is no {}; there are {}", value, key, fmt::join(known, ", ")));
    }
    out->push_back(static_cast<Value>(message));
    return absl::OkStatus();
  };
}

template <typename Value>
bool AnyOrNone(const std::vector<Value>& wanted, const Value& value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

}  // namespace

absl::StatusOr<ConnectionFilter> ConnectionFilter::Parse(std::string_view text) {
  ConnectionFilter out;
  const absl::Status parsed = ParseTerms(
      text, {{"class", TakeEnum("class", pb::DestinationClass_Parse,
                                pb::DestinationClass_descriptor(), &out.classes_)},
             {"proxy", TakeText(&out.proxies_)},
             {"rollout", TakeText(&out.rollouts_)},
             {"cause", TakeEnum("cause", pb::Cause_Parse, pb::Cause_descriptor(), &out.causes_)},
             {"layer", TakeEnum("layer", pb::Layer_Parse, pb::Layer_descriptor(), &out.layers_)},
             {"outcome",
              TakeEnum("outcome", pb::Outcome_Parse, pb::Outcome_descriptor(), &out.outcomes_)},
             {"initiator", TakeEnum("initiator", pb::Initiator_Parse, pb::Initiator_descriptor(),
                                    &out.initiators_)},
             {"certainty", TakeEnum("certainty", pb::Certainty_Parse, pb::Certainty_descriptor(),
                                    &out.certainties_)}});
  if (!parsed.ok()) return parsed;
  return out;
}

bool ConnectionFilter::Matches(const Connection& connection, const ReportEncoder& encoder) const {
  const auto is_proxy = [&](const std::string& wanted) {
    return wanted == connection.proxy_name || wanted == connection.proxy_id.value();
  };
  return AnyOrNone(classes_, connection.destination_class) &&
         AnyOrNone(causes_, connection.cause) && AnyOrNone(layers_, connection.layer) &&
         AnyOrNone(outcomes_, connection.outcome) && AnyOrNone(initiators_, connection.initiator) &&
         AnyOrNone(certainties_, connection.certainty) &&
         (proxies_.empty() || std::any_of(proxies_.begin(), proxies_.end(), is_proxy)) &&
         (rollouts_.empty() || AnyOrNone(rollouts_, encoder.RolloutOf(connection)));
}

absl::StatusOr<RolloutFilter> RolloutFilter::Parse(std::string_view text) {
  RolloutFilter out;
  const absl::Status parsed =
      ParseTerms(text, {{"namespace", TakeText(&out.namespaces_)},
                        {"workload", TakeText(&out.workloads_)},
                        {"kind", TakeText(&out.kinds_)},
                        {"departure", TakeEnum("departure", pb::Departure_Parse,
                                               pb::Departure_descriptor(), &out.departures_)}});
  if (!parsed.ok()) return parsed;
  return out;
}

bool RolloutFilter::Matches(const RolloutReport& rollout) const {
  return AnyOrNone(namespaces_, rollout.workload.ns) &&
         AnyOrNone(workloads_, rollout.workload.name) && AnyOrNone(kinds_, rollout.workload.kind) &&
         AnyOrNone(departures_, rollout.departure);
}

}  // namespace phantomd
