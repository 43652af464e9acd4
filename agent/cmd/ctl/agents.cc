#include "agent/cmd/ctl/agents.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <fstream>
#include <iterator>
#include <set>

namespace phantomd {
namespace {

constexpr char kUnix[] = "unix:";

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  std::string out{std::istreambuf_iterator<char>(file), {}};
  if (out.empty()) {
    return absl::FailedPreconditionError(fmt::format("{}: cannot be read", path));
  }
  return out;
}

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
  const auto ca = ReadPem(options.tls_ca);
  if (!ca.ok()) return ca.status();
  tls.pem_root_certs = *ca;
  const auto cert = ReadPem(options.tls_cert);
  if (!cert.ok()) return cert.status();
  tls.pem_cert_chain = *cert;
  const auto key = ReadPem(options.tls_key);
  if (!key.ok()) return key.status();
  tls.pem_private_key = *key;
  return grpc::SslCredentials(tls);
}

struct HostPort {
  std::string host;  // without brackets
  std::string port;
};

absl::StatusOr<HostPort> Split(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: an agent's address is unix:/PATH or HOST:PORT", address));
  }
  HostPort out{address.substr(0, colon), address.substr(colon + 1)};
  if (out.host.starts_with('[') && out.host.ends_with(']')) {
    out.host = out.host.substr(1, out.host.size() - 2);
  }
  return out;
}

// "ip:port" of every address that the name has.
absl::StatusOr<std::set<std::string>> Resolve(const std::string& address, const HostPort& where) {
  addrinfo hints{.ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  if (const int failed = getaddrinfo(where.host.c_str(), where.port.c_str(), &hints, &found);
      failed != 0) {
    return absl::NotFoundError(fmt::format("{}: {}", address, gai_strerror(failed)));
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
  for (const std::string& address : options.addresses) {
    if (address.starts_with(kUnix)) {
      out.agents_.push_back(NewAgent(address, grpc::InsecureChannelCredentials(), ""));
      continue;
    }
    const auto where = Split(address);
    if (!where.ok()) return where.status();
    const auto found = Resolve(address, *where);
    if (!found.ok()) return found.status();
    for (const std::string& one : *found) {
      out.agents_.push_back(NewAgent(one, *tcp, options.tls_ca.empty() ? "" : where->host));
    }
  }
  return out;
}

std::unique_ptr<grpc::ClientContext> Agents::ContextWithDeadline() const {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() +
                        std::chrono::duration_cast<std::chrono::milliseconds>(timeout_));
  return context;
}

}  // namespace phantomd
