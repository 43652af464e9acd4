#include "agent/serve/server.h"

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <utility>

#include "agent/base/server_address.h"
#include "agent/serve/pem.h"
#include "agent/serve/unix_socket.h"

namespace phantomd {
namespace {

constexpr mode_t kSocketMask = 0117;  // sockets are made with mode 0660

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
  const auto identity = ReadIdentity(options.tls_cert, options.tls_key);
  if (!identity.ok()) return identity.status();
  grpc::SslServerCredentialsOptions tls;
  tls.pem_key_cert_pairs.push_back({identity->key, identity->certificate});
  if (!options.tls_client_ca.empty()) {
    const auto ca = ReadCertificates("TLS client CA", options.tls_client_ca);
    if (!ca.ok()) return ca.status();
    tls.pem_root_certs = *ca;
    tls.client_certificate_request = GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  }
  return grpc::SslServerCredentials(tls);
}

// The libraries' own lines are for their developers; what goes wrong is said by us, once.
void QuietLibraryLog() {
  gpr_set_log_function([](gpr_log_func_args* args) { spdlog::debug("grpc: {}", args->message); });
  google::protobuf::SetLogHandler(
      [](google::protobuf::LogLevel, const char*, int, const std::string& message) {
        spdlog::debug("protobuf: {}", message);
      });
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
  std::vector<ServerAddress> addresses;
  for (const std::string& text : options.listen) {
    absl::StatusOr<ServerAddress> address = ParseServerAddress(text);
    if (!address.ok()) return address.status();
    addresses.push_back(*std::move(address));
  }
  std::vector<int> selected(addresses.size(), 0);
  for (size_t i = 0; i < addresses.size(); ++i) {
    const bool is_unix = addresses[i].is_unix();
    if (is_unix) {
      if (absl::Status claimed = ClaimUnixSocket(addresses[i].unix_path); !claimed.ok()) {
        return claimed;
      }
    }
    builder.AddListeningPort(options.listen[i], is_unix ? grpc::InsecureServerCredentials() : *tcp,
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
    if (!addresses[i].is_unix()) out->ports_.push_back(selected[i]);
  }
  if (out->server_ == nullptr) return absl::InternalError("the gRPC server did not start");
  out->server_->GetHealthCheckService()->SetServingStatus(
      phantom::v1::PhantomService::service_full_name(), true);
  return out;
}

PhantomServer::~PhantomServer() {
  if (server_ == nullptr) return;
  // Watchers are told the reason; who does not read it is not waited for longer than this.
  service_.Stop();
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
}

}  // namespace phantomd
