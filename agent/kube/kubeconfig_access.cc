#include <fmt/format.h>

#include <utility>

#include "agent/base/strings.h"
#include "agent/kube/credential_file.h"
#include "agent/kube/exec_credential.h"
#include "agent/kube/exec_plugin.h"
#include "agent/kube/kube_access.h"
#include "agent/kube/kubeconfig.h"

namespace phantomd {
namespace {

// A plugin is not started again before; until then its last error holds.
constexpr Nanos kExecPause = std::chrono::seconds(10);
// A credential that expires so soon is replaced first.
constexpr Nanos kExecLeeway = std::chrono::seconds(30);

// A value that stands in the kubeconfig itself or in a file that it names.
class Source {
 public:
  Source(CredentialFile::Kind kind, std::string what, const std::string& path, std::string fixed)
      : fixed_(std::move(fixed)) {
    if (!path.empty()) file_.emplace(kind, std::move(what), path);
  }

  absl::StatusOr<std::string> Get(BootTime now) {
    return file_ ? file_->Get(now, KubeAccess::kReread) : fixed_;
  }
  void Forget() {
    if (file_) file_->Forget();
  }

 private:
  const std::string fixed_;  // may be empty: there is none
  std::optional<CredentialFile> file_;
};

// The file is of no account where the data stands in the kubeconfig.
const std::string& Unless(const std::string& data, const std::string& file) {
  static const std::string none;
  return data.empty() ? file : none;
}

class KubeconfigUser final : public KubeAccess {
 public:
  KubeconfigUser(Kubeconfig config, const std::string& path, const Clock& clock)
      : config_(std::move(config)),
        description_(fmt::format("context {} of {}", config_.context, path)),
        clock_(clock),
        ca_(CredentialFile::Kind::kPem, Of("certificate-authority"),
            Unless(config_.ca_pem, config_.ca_file), config_.ca_pem),
        token_(CredentialFile::Kind::kToken, Of("tokenFile"), config_.token_file,
               config_.token.Reveal()),
        cert_(CredentialFile::Kind::kPem, Of("client-certificate"),
              Unless(config_.client_cert_pem, config_.client_cert_file), config_.client_cert_pem),
        key_(CredentialFile::Kind::kPem, Of("client-key"),
             Unless(config_.client_key_pem.Reveal(), config_.client_key_file),
             config_.client_key_pem.Reveal()) {
    if (config_.exec) plugin_.emplace(*config_.exec);
  }

  absl::StatusOr<std::optional<KubeEndpoint>> Get() override {
    const BootTime now = clock_.Now();
    KubeEndpoint out{.server = config_.server,
                     .verify = !config_.insecure_skip_tls_verify,
                     .tls_name = config_.tls_server_name,
                     .proxy_url = config_.proxy_url};
    std::string token, key;
    for (auto& [source, value] :
         {std::pair(&ca_, &out.ca_pem), std::pair(&token_, &token),
          std::pair(&cert_, &out.client_cert_pem), std::pair(&key_, &key)}) {
      absl::StatusOr<std::string> text = source->Get(now);
      if (!text.ok()) return text.status();
      *value = *std::move(text);
    }
    out.token = Secret(std::move(token));
    out.client_key_pem = Secret(std::move(key));
    if (!plugin_) return out;

    if (absl::Status status = RunPlugin(out.ca_pem, now); !status.ok()) return status;
    if (!credential_) return std::nullopt;
    if (!credential_->token.empty()) out.token = credential_->token;
    if (!credential_->client_cert_pem.empty()) {
      out.client_cert_pem = credential_->client_cert_pem;
      out.client_key_pem = credential_->client_key_pem;
    }
    return out;
  }
  void Refused() override {
    for (Source* source : {&ca_, &token_, &cert_, &key_}) source->Forget();
    credential_.reset();
  }
  const std::string& description() const override { return description_; }

 private:
  std::string Of(const char* what) const { return fmt::format("the {} of {}", what, description_); }

  bool Expires(BootTime now) const {
    return credential_->expires.is_set() &&
           clock_.Offset().ToWall(now) + kExecLeeway >= credential_->expires;
  }

  // Sees to it that there is a credential, or that the plugin runs; or tells why neither can be.
  absl::Status RunPlugin(const std::string& ca_pem, BootTime now) {
    if (plugin_->running()) {
      const std::optional<absl::StatusOr<std::string>> printed = plugin_->Poll(now);
      if (printed) Take(*printed);
      return credential_ || !printed ? absl::OkStatus() : last_;
    }
    const bool pausing = started_.is_set() && now - started_ < kExecPause;
    if (credential_ && (!Expires(now) || pausing)) return absl::OkStatus();
    if (pausing) return last_;
    started_ = now;
    last_ = plugin_->Start(ExecInfo(*config_.exec, config_, ca_pem), now);
    // While the new one is got, the old one may still do.
    return credential_ ? absl::OkStatus() : last_;
  }
  void Take(const absl::StatusOr<std::string>& printed) {
    last_ = printed.status();
    if (!printed.ok()) return;
    absl::StatusOr<ExecCredential> credential =
        ParseExecCredential(*printed, config_.exec->api_version);
    if (credential.ok()) {
      credential_ = *std::move(credential);
    } else {
      last_ =
          absl::InvalidArgumentError(fmt::format("the exec plugin {}: {}", config_.exec->command,
                                                 FromAbsl(credential.status().message())));
    }
  }

  const Kubeconfig config_;
  const std::string description_;
  const Clock& clock_;
  Source ca_, token_, cert_, key_;
  std::optional<ExecPlugin> plugin_;
  std::optional<ExecCredential> credential_;
  BootTime started_;   // when the plugin was last started; unset: never
  absl::Status last_;  // how the plugin's last run ended; OK: well, or it runs
};

}  // namespace

absl::StatusOr<std::unique_ptr<KubeAccess>> KubeconfigAccess(const std::string& path,
                                                             const std::string& context,
                                                             const Clock& clock) {
  const absl::StatusOr<std::string> yaml = ReadCredentialFile(path);
  if (!yaml.ok()) {
    return absl::Status(yaml.status().code(), fmt::format("the kubeconfig {} cannot be read: {}",
                                                          path, FromAbsl(yaml.status().message())));
  }
  absl::StatusOr<Kubeconfig> config = ParseKubeconfig(*yaml, path, context);
  if (!config.ok()) return config.status();
  std::unique_ptr<KubeAccess> access =
      std::make_unique<KubeconfigUser>(*std::move(config), path, clock);
  if (const auto first = access->Get(); !first.ok()) return first.status();
  return access;
}

}  // namespace phantomd
