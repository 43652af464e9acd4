#include "agent/serve/server.h"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "agent/serve/unix_socket.h"

namespace phantomd {
namespace {

constexpr char kUnix[] = "unix:";
constexpr mode_t kSocketMask = 0117;  // sockets are made with mode 0660

absl::StatusOr<std::string> ReadPem(const char* what, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string out{std::istreambuf_iterator<char>(file), {}};
  if (!file.good() && !file.eof()) out.clear();
  if (out.empty()) {
    return absl::FailedPreconditionError(fmt::format("{} {}: cannot be read", what, path));
  }
  return out;
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> TcpCredentials(
    const PhantomServer::Options& options) {
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return absl::InvalidArgumentError("TLS needs both a certificate and its key");
  }
  if (options.tls_cert.empty()) {
    if (!options.tls_client_ca.empty()) {
      return absl::InvalidArgumentError("a client CA needs a certificate and its key");
    }
    return grpc::InsecureServerCredentials();
  }
  const auto cert = ReadPem("TLS certificate", options.tls_cert);
  if (!cert.ok()) return cert.status();
  const auto key = ReadPem("TLS key", options.tls_key);
  if (!key.ok()) return key.status();
  grpc::SslServerCredentialsOptions tls;
  tls.pem_key_cert_pairs.push_back({*key, *cert});
  if (!options.tls_client_ca.empty()) {
    const auto ca = ReadPem("TLS client CA", options.tls_client_ca);
    if (!ca.ok()) return ca.status();
    tls.pem_root_certs = *ca;
    tls.client_certificate_request = GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  }
  return grpc::SslServerCredentials(tls);
}

// gRPC's own lines are for its developers; what goes wrong is said by us, once.
void QuietLibraryLog() {
  gpr_set_log_function([](gpr_log_func_args* args) { spdlog::debug("grpc: {}", args->message); });
}

}  // namespace

PhantomServer::PhantomServer(AnswerSources sources, Nanos explain_deadline)
    : service_(sources, explain_deadline) {}

absl::StatusOr<std::unique_ptr<PhantomServer>> PhantomServer::Start(const Options& options,
                                                                    AnswerSources sources) {
  const auto tcp = TcpCredentials(options);
  if (!tcp.ok()) return tcp.status();
  QuietLibraryLog();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  std::unique_ptr<PhantomServer> out(new PhantomServer(sources, options.explain_deadline));
  grpc::ServerBuilder builder;
  // Two agents on one TCP port would share its connections at random.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterService(&out->service_);
  std::vector<int> selected(options.listen.size(), 0);
  for (size_t i = 0; i < options.listen.size(); ++i) {
    const std::string& address = options.listen[i];
    const bool is_unix = address.starts_with(kUnix);
    if (is_unix) {
      if (absl::Status claimed = ClaimUnixSocket(address.substr(sizeof(kUnix) - 1));
          !claimed.ok()) {
        return claimed;
      }
    }
    builder.AddListeningPort(address, is_unix ? grpc::InsecureServerCredentials() : *tcp,
                             &selected[i]);
  }
  const mode_t former = umask(kSocketMask);
  out->server_ = builder.BuildAndStart();
  umask(former);
  // The builder takes the addresses in their order and gives up at the first that it cannot have.
  for (size_t i = 0; i < options.listen.size(); ++i) {
    if (selected[i] == 0) {
      return absl::FailedPreconditionError(fmt::format(
          "{}: cannot listen there: the address is in use, not of this machine or not allowed",
          options.listen[i]));
    }
    if (!options.listen[i].starts_with(kUnix)) out->ports_.push_back(selected[i]);
  }
  if (out->server_ == nullptr) return absl::InternalError("the gRPC server did not start");
  out->server_->GetHealthCheckService()->SetServingStatus(
      phantom::v1::PhantomService::service_full_name(), true);
  return out;
}

PhantomServer::~PhantomServer() {
  // Watchers see the cancellation; nothing is worth waiting for.
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
}

}  // namespace phantomd
