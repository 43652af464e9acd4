#include "agent/cmd/ctl/agents.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <set>
#include <tuple>

#include "agent/base/server_address.h"
#include "agent/base/strings.h"
#include "agent/serve/pem.h"

namespace phantomd {
namespace {

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> TcpCredentials(
    const Agents::Options& options) {
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return absl::InvalidArgumentError("TLS needs both a certificate and its key");
  }
  if (options.tls_ca.empty()) {
    if (!options.tls_cert.empty()) {
      return absl::InvalidArgumentError("a certificate needs the CA of the agents as well");
    }
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions tls;
  const auto ca = ReadCertificates("TLS CA", options.tls_ca);
  if (!ca.ok()) return ca.status();
  tls.pem_root_certs = *ca;
  if (!options.tls_cert.empty()) {
    const auto identity = ReadIdentity(options.tls_cert, options.tls_key);
    if (!identity.ok()) return identity.status();
    tls.pem_cert_chain = identity->certificate;
    tls.pem_private_key = identity->key;
  }
  return grpc::SslCredentials(tls);
}

// "ip:port" of every address that the name has.
absl::StatusOr<std::set<std::string>> Resolve(const HostPort& where) {
  addrinfo hints{.ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  if (const int failed =
          getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &found);
      failed != 0) {
    return absl::UnavailableError(gai_strerror(failed));
  }
  std::set<std::string> out;
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getnameinfo(a->ai_addr, a->ai_addrlen, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
      continue;
    }
    out.insert(a->ai_family == AF_INET6 ? fmt::format("[{}]:{}", host, port)
                                        : fmt::format("{}:{}", host, port));
  }
  freeaddrinfo(found);
  return out;
}

Agents::Agent NewAgent(std::string address,
                       const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                       const std::string& tls_name) {
  grpc::ChannelArguments arguments;
  // The certificate is the name's, not that of one of its addresses.
  if (!tls_name.empty()) arguments.SetSslTargetNameOverride(tls_name);
  arguments.SetMaxReceiveMessageSize(-1);
  auto channel = grpc::CreateCustomChannel(address, credentials, arguments);
  return {.address = std::move(address),
          .stub = phantom::v1::PhantomService::NewStub(std::move(channel))};
}

}  // namespace

bool Answered(const grpc::Status& status) {
  return status.error_code() != grpc::StatusCode::UNAVAILABLE &&
         status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED &&
         status.error_code() != grpc::StatusCode::CANCELLED;
}

absl::StatusOr<Agents> Agents::Find(const Options& options) {
  // What goes wrong is said once, by us.
  gpr_set_log_function([](gpr_log_func_args*) {});
  const auto tcp = TcpCredentials(options);
  if (!tcp.ok()) return tcp.status();
  Agents out(options.timeout);
  std::set<std::string> taken;
  for (const std::string& address : options.addresses) {
    const auto where = ParseServerAddress(address);
    if (!where.ok()) {
      return absl::InvalidArgumentError(
          fmt::format("--address: {}", FromAbsl(where.status().message())));
    }
    if (where->is_unix()) {
      if (!taken.insert(address).second) continue;
      out.agents_.push_back(NewAgent(address, grpc::InsecureChannelCredentials(), ""));
      continue;
    }
    const auto found = Resolve(where->tcp);
    if (!found.ok()) {
      // The others can be asked all the same.
      out.agents_.push_back(
          {.address = address,
           .unreachable = {grpc::StatusCode::UNAVAILABLE, std::string(found.status().message())}});
      continue;
    }
    for (const std::string& one : *found) {
      if (!taken.insert(one).second) continue;
      out.agents_.push_back(NewAgent(one, *tcp, options.tls_ca.empty() ? "" : where->tcp.host));
    }
  }
  if (out.agents_.size() > 1) out.LeaveOutTheSame();
  return out;
}

void Agents::LeaveOutTheSame() {
  using phantom::v1::Status;
  const auto answers = Ask<Status>([](Stub& stub, const NewContext& new_context, Status* out) {
    return stub.GetStatus(new_context().get(), {}, out);
  });
  std::vector<Agent> kept;
  std::set<std::tuple<std::string, int64_t, int32_t>> known;
  for (size_t i = 0; i < answers.size(); ++i) {
    const auto& [address, status, answer] = answers[i];
    // One that did not answer is not waited for a second time.
    if (!Answered(status)) agents_[i].unreachable = status;
    if (status.ok() && answer.has_started() &&
        !known.emplace(answer.node_name(), answer.started().seconds(), answer.started().nanos())
             .second) {
      continue;
    }
    kept.push_back(std::move(agents_[i]));
  }
  agents_ = std::move(kept);
}

std::unique_ptr<grpc::ClientContext> Agents::ContextWithDeadline() const {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() +
                        std::chrono::duration_cast<std::chrono::milliseconds>(timeout_));
  return context;
}

}  // namespace phantomd
