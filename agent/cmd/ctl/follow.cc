// connections -f: every agent's stream on a thread of its own, printed by one.

#include <fmt/format.h>

#include <thread>
#include <variant>
#include <vector>

#include "agent/base/mailbox.h"
#include "agent/cmd/ctl/commands.h"
#include "agent/cmd/ctl/output.h"
#include "agent/serve/watch_begun.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;

constexpr size_t kRoom = 1000;

struct Ended {
  grpc::Status status;
  bool begun = false;  // the agent had accepted the call
};
struct FromAgent {
  std::string address;
  std::variant<pb::WatchConnectionsResponse, Ended> value;
};

void ReadStream(const Agents::Agent& agent, const std::string& filter, Mailbox<FromAgent>* out) {
  if (!agent.unreachable.ok()) {
    out->Post({agent.address, Ended{agent.unreachable}});
    return;
  }
  grpc::ClientContext context;  // without a deadline: until somebody stops
  pb::WatchConnectionsRequest request;
  request.set_filter(filter);
  const auto reader = agent.stub->WatchConnections(&context, request);
  pb::WatchConnectionsResponse event;
  while (reader->Read(&event)) out->Post({agent.address, event});
  const grpc::Status status = reader->Finish();
  const bool begun = context.GetServerInitialMetadata().contains(kWatchBegun);
  out->Post({agent.address, Ended{status, begun}});
}

void PrintEvent(const std::string& address, const pb::WatchConnectionsResponse& event,
                Format format) {
  if (format == Format::kJson) {
    PrintOut(MessageToJson(event, JsonStyle::kLine) + "\n");
  } else if (format == Format::kYaml) {
    PrintOut("---\n" + JsonToYaml(MessageToJson(event, JsonStyle::kLine)));
  } else if (event.has_missed()) {
    PrintError(fmt::format("{}: {} connections were missed: this reader is too slow", address,
                           event.missed()));
  } else {
    PrintOut(ShowConnectionLine(event.connection(),
                                format == Format::kWide ? Detail::kWide : Detail::kTable));
  }
}

}  // namespace

int CommandFollowConnections(const CommandOptions& options) {
  const auto agents = Agents::Find(options.agents);
  if (!agents.ok()) {
    PrintError(FromAbsl(agents.status().message()));
    return kUsage;
  }
  Mailbox<FromAgent> events(kRoom);
  std::vector<std::thread> readers;
  for (const Agents::Agent& agent : agents->agents()) {
    readers.emplace_back(ReadStream, std::cref(agent), options.filter, &events);
  }
  if (options.format == Format::kTable || options.format == Format::kWide) {
    PrintOut(
        ShowConnectionTitles(options.format == Format::kWide ? Detail::kWide : Detail::kTable));
  }
  int code = kDone;
  for (size_t open = readers.size(); open > 0;) {
    const auto event = events.Take(std::chrono::hours(1));
    if (!event.has_value()) continue;
    if (const auto* ended = std::get_if<Ended>(&event->value)) {
      --open;
      if (ended->begun && !Answered(ended->status)) {
        PrintError(fmt::format("{}: the stream has ended: {}", event->address,
                               ended->status.error_message()));
        if (code == kDone) code = kSomeDidNotAnswer;
        continue;
      }
      std::vector<AgentAnswer<pb::WatchConnectionsResponse>> end(1);
      end[0].address = event->address;
      end[0].status = ended->status;
      const int ending = Collect(std::move(end)).code;
      if (code != kAnswerIsAnError && ending != kDone) code = ending;
    } else {
      PrintEvent(event->address, std::get<pb::WatchConnectionsResponse>(event->value),
                 options.format);
    }
  }
  for (std::thread& reader : readers) reader.join();
  return code;
}

}  // namespace phantomd
