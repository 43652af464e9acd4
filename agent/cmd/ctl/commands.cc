#include "agent/cmd/ctl/commands.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <utility>

#include "agent/cmd/ctl/human.h"
#include "agent/cmd/ctl/merge.h"
#include "agent/cmd/ctl/output.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;
using google::protobuf::util::TimeUtil;
using Stub = Agents::Stub;
using NewContext = Agents::NewContext;

constexpr int kPageSize = 1000;

// Asks all agents and prints their answers as one.
template <typename Response>
int AskAndPrint(const CommandOptions& options,
                const std::function<grpc::Status(Stub&, const NewContext&, Response*)>& call,
                const std::function<Response(std::vector<Response>)>& merge) {
  const auto agents = Agents::Find(options.agents);
  if (!agents.ok()) {
    PrintError(FromAbsl(agents.status().message()));
    return kUsage;
  }
  auto collected = Collect(agents->Ask<Response>(call));
  if (!collected.answers.empty()) {
    PrintOut(Render(merge(std::move(collected.answers)), options.format));
  }
  return collected.code;
}

// Every page of a list, or as many as hold `limit` items (0: all). `method` calls the list method,
// `items` gives the list in a response.
template <typename Request, typename Response, typename Method, typename Items>
grpc::Status AllPages(Stub& stub, const NewContext& new_context, Request request, size_t limit,
                      Method method, Items items, Response* out) {
  while (true) {
    const size_t have = items(out)->size();
    request.set_page_size(limit == 0 ? kPageSize
                                     : static_cast<int>(std::min<size_t>(kPageSize, limit - have)));
    Response page;
    const auto context = new_context();
    if (grpc::Status status = (stub.*method)(context.get(), request, &page); !status.ok()) {
      return status;
    }
    items(out)->MergeFrom(*items(&page));
    if (page.next_page_token().empty()) return grpc::Status::OK;
    if (limit != 0 && static_cast<size_t>(items(out)->size()) >= limit) {
      out->set_next_page_token(page.next_page_token());
      return grpc::Status::OK;
    }
    request.set_page_token(page.next_page_token());
  }
}

template <typename Response>
Response MergeAll(std::vector<Response> answers) {
  return Merge(std::move(answers));
}

google::protobuf::Timestamp Now() { return TimeUtil::GetCurrentTime(); }

// False: said so.
bool ReadTime(const char* flag, const std::string& text, google::protobuf::Timestamp* out) {
  const auto time = ParseTime(text, Now());
  if (!time.ok()) {
    PrintError(fmt::format("{}: {}", flag, FromAbsl(time.status().message())));
    return false;
  }
  *out = *time;
  return true;
}

}  // namespace

int CommandStatus(const CommandOptions& options) {
  const auto agents = Agents::Find(options.agents);
  if (!agents.ok()) {
    PrintError(FromAbsl(agents.status().message()));
    return kUsage;
  }
  auto collected = Collect(
      agents->Ask<pb::Status>([](Stub& stub, const NewContext& new_context, pb::Status* out) {
        return stub.GetStatus(new_context().get(), {}, out);
      }));
  // Each agent has a state of its own: nothing to merge. JSON of several is an array.
  const bool array = agents->agents().size() > 1 && options.format == Format::kJson;
  if (array) PrintOut("[\n");
  for (size_t i = 0; i < collected.answers.size(); ++i) {
    if (i > 0) PrintOut(array ? ",\n" : options.format == Format::kYaml ? "---\n" : "\n");
    PrintOut(Render(collected.answers[i], options.format));
  }
  if (array) PrintOut("]\n");
  return collected.code;
}

int CommandProxies(const CommandOptions& options) {
  return AskAndPrint<pb::ListProxiesResponse>(
      options,
      [](Stub& stub, const NewContext& new_context, pb::ListProxiesResponse* out) {
        return AllPages(
            stub, new_context, pb::ListProxiesRequest(), 0, &Stub::ListProxies,
            [](auto* list) { return list->mutable_proxies(); }, out);
      },
      MergeAll<pb::ListProxiesResponse>);
}

int CommandRollouts(const CommandOptions& options) {
  pb::ListRolloutsRequest request;
  request.set_filter(options.filter);
  return AskAndPrint<pb::ListRolloutsResponse>(
      options,
      [&](Stub& stub, const NewContext& new_context, pb::ListRolloutsResponse* out) {
        return AllPages(
            stub, new_context, request, 0, &Stub::ListRollouts,
            [](auto* list) { return list->mutable_rollouts(); }, out);
      },
      MergeAll<pb::ListRolloutsResponse>);
}

int CommandRollout(const CommandOptions& options) {
  pb::GetRolloutRequest request;
  request.set_name(options.rollout);
  return AskAndPrint<pb::Rollout>(
      options,
      [&](Stub& stub, const NewContext& new_context, pb::Rollout* out) {
        return stub.GetRollout(new_context().get(), request, out);
      },
      MergeAll<pb::Rollout>);
}

int CommandConnections(const CommandOptions& options) {
  pb::ListConnectionsRequest request;
  request.set_filter(options.filter);
  if (!options.since.empty() && !ReadTime("--since", options.since, request.mutable_start_time())) {
    return kUsage;
  }
  if (!options.until.empty() && !ReadTime("--until", options.until, request.mutable_end_time())) {
    return kUsage;
  }
  return AskAndPrint<pb::ListConnectionsResponse>(
      options,
      [&](Stub& stub, const NewContext& new_context, pb::ListConnectionsResponse* out) {
        return AllPages(
            stub, new_context, request, options.limit, &Stub::ListConnections,
            [](auto* list) { return list->mutable_connections(); }, out);
      },
      [&](std::vector<pb::ListConnectionsResponse> answers) {
        bool cut = std::any_of(answers.begin(), answers.end(),
                               [](const auto& a) { return !a.next_page_token().empty(); });
        pb::ListConnectionsResponse all = Merge(std::move(answers));
        all.clear_next_page_token();  // one agent's word, which means nothing to the next command
        const int limit = static_cast<int>(options.limit);
        if (limit != 0 && all.connections_size() > limit) {
          all.mutable_connections()->DeleteSubrange(limit, all.connections_size() - limit);
          cut = true;
        }
        if (cut) PrintError(fmt::format("these are the newest {}; --limit=0 shows all", limit));
        return all;
      });
}

int CommandStale(const CommandOptions& options) {
  return AskAndPrint<pb::ListStaleEndpointsResponse>(
      options,
      [](Stub& stub, const NewContext& new_context, pb::ListStaleEndpointsResponse* out) {
        return AllPages(
            stub, new_context, pb::ListStaleEndpointsRequest(), 0, &Stub::ListStaleEndpoints,
            [](auto* list) { return list->mutable_endpoints(); }, out);
      },
      MergeAll<pb::ListStaleEndpointsResponse>);
}

int CommandExplain(const CommandOptions& options) {
  pb::ExplainAddressRequest request;
  request.set_address(options.address);
  if (!options.at.empty() && !ReadTime("--at", options.at, request.mutable_time())) return kUsage;
  return AskAndPrint<pb::AddressExplanation>(
      options,
      [&](Stub& stub, const NewContext& new_context, pb::AddressExplanation* out) {
        return stub.ExplainAddress(new_context().get(), request, out);
      },
      MergeAll<pb::AddressExplanation>);
}

}  // namespace phantomd
