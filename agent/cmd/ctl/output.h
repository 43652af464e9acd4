// What a command prints: answers on standard output in the format asked for, one sentence about
// each thing that went wrong on standard error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/base/strings.h"
#include "agent/cmd/ctl/agents.h"
#include "agent/cmd/ctl/commands.h"
#include "agent/cmd/ctl/show.h"
#include "agent/cmd/ctl/yaml.h"
#include "agent/wire/message_json.h"

namespace phantomd {

void PrintOut(std::string_view text);  // a reader that is gone ends the process quietly
void PrintError(std::string_view sentence);

// An error's own words; where it has none, what gRPC's code of it means.
std::string ReasonOf(const grpc::Status& status);

template <typename Message>
std::string Render(const Message& message, Format format) {
  switch (format) {
    case Format::kJson:
      return MessageToJson(message, JsonStyle::kPretty);
    case Format::kYaml:
      return JsonToYaml(MessageToJson(message, JsonStyle::kLine));
    case Format::kWide:
      return Show(message, Detail::kWide);
    case Format::kTable:
      break;
  }
  return Show(message, Detail::kTable);
}

// What several agents answered. The exit code is kAnswerIsAnError before kSomeDidNotAnswer.
template <typename Response>
struct Collected {
  std::vector<Response> answers;
  int code = kDone;
};

// Says what went wrong, agent by agent. Where one agent has the thing asked for, it is no error
// that another has not.
template <typename Response>
Collected<Response> Collect(std::vector<AgentAnswer<Response>> answers) {
  Collected<Response> out;
  bool any = false;
  for (const auto& answer : answers) any = any || answer.status.ok();
  for (auto& answer : answers) {
    if (answer.status.ok()) {
      out.answers.push_back(std::move(answer.response));
      continue;
    }
    if (any && answer.status.error_code() == grpc::StatusCode::NOT_FOUND) continue;
    if (Answered(answer.status)) {
      PrintError(answer.address + ": " + ReasonOf(answer.status));
      out.code = kAnswerIsAnError;
    } else {
      PrintError(answer.address + ": did not answer: " + ReasonOf(answer.status));
      if (out.code == kDone) out.code = kSomeDidNotAnswer;
    }
  }
  return out;
}

}  // namespace phantomd
