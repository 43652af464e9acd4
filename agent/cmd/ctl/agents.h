// Agents: the agents that one phantomctl command asks, all at the same time.
//
// An address is "unix:/path" or "host:port"; a host name with several addresses, as a headless
// Service has them, is as many agents. What an agent answers and whether it answered are two
// things: an error is an answer, an agent that cannot be reached or stays silent gave none, nor
// does a name without an address. Two addresses of one agent (the same node, started at the same
// nanosecond) are one agent: what it counts is not counted twice.
//
// Thread-compatible; Ask() uses a thread per agent while it runs.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/base/boot_time.h"
#include "phantom/v1/query.grpc.pb.h"

namespace phantomd {

template <typename Response>
struct AgentAnswer {
  std::string address;
  grpc::Status status;
  Response response;
};

// UNAVAILABLE and the like: the connection's state, not the agent's word.
bool Answered(const grpc::Status& status);

class Agents {
 public:
  struct Options {
    std::vector<std::string> addresses;
    // PEM files. A CA: TLS on host:port addresses; certificate and key: shown to the agents.
    std::string tls_ca, tls_cert, tls_key;
    Nanos timeout = std::chrono::seconds(10);  // for each call
  };
  using Stub = phantom::v1::PhantomService::Stub;

  // What is no address and a file that holds no certificate are errors. Several agents are asked
  // for their status first, which tells them apart.
  static absl::StatusOr<Agents> Find(const Options& options);

  struct Agent {
    std::string address;
    std::unique_ptr<Stub> stub;
    grpc::Status unreachable;  // not OK: it is known not to answer
  };
  const std::vector<Agent>& agents() const { return agents_; }

  // Calls every agent with a fresh request: call(stub, new_context, response).
  using NewContext = std::function<std::unique_ptr<grpc::ClientContext>()>;
  template <typename Response>
  std::vector<AgentAnswer<Response>> Ask(
      const std::function<grpc::Status(Stub&, const NewContext&, Response*)>& call) const {
    std::vector<std::future<AgentAnswer<Response>>> pending;
    for (const Agent& agent : agents_) {
      pending.push_back(std::async(std::launch::async, [&] {
        AgentAnswer<Response> answer{.address = agent.address, .status = agent.unreachable};
        if (!answer.status.ok()) return answer;
        answer.status = call(
            *agent.stub, [this] { return ContextWithDeadline(); }, &answer.response);
        return answer;
      }));
    }
    std::vector<AgentAnswer<Response>> answers;
    for (auto& answer : pending) answers.push_back(answer.get());
    return answers;
  }

 private:
  explicit Agents(Nanos timeout) : timeout_(timeout) {}
  void LeaveOutTheSame();
  std::unique_ptr<grpc::ClientContext> ContextWithDeadline() const;

  Nanos timeout_;
  std::vector<Agent> agents_;
};

}  // namespace phantomd
