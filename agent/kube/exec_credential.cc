#include "agent/kube/exec_credential.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "absl/strings/escaping.h"
#include "agent/base/strings.h"
#include "agent/kube/credential_file.h"
#include "agent/kube/json_object.h"
#include "agent/kube/rfc3339.h"

namespace phantomd {
namespace {

// A text in JSON.
std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

constexpr ApiField kApiVersion{"apiVersion"};
constexpr ApiField kKind{"kind"};
constexpr ApiField kStatus{"status"};
constexpr ApiField kToken{"token"};
constexpr ApiField kCertificate{"clientCertificateData"};
constexpr ApiField kKey{"clientKeyData"};
constexpr ApiField kExpires{"expirationTimestamp"};

absl::Status Bad(std::string_view what) { return absl::InvalidArgumentError(ToAbsl(what)); }

}  // namespace

std::string ExecInfo(const KubeconfigExec& exec, const Kubeconfig& config,
                     const std::string& ca_pem) {
  std::string cluster;
  if (exec.provide_cluster_info) {
    cluster = fmt::format(",\"cluster\":{{\"server\":{}", Quoted(config.server));
    if (!config.tls_server_name.empty()) {
      cluster += fmt::format(",\"tls-server-name\":{}", Quoted(config.tls_server_name));
    }
    if (config.insecure_skip_tls_verify) cluster += ",\"insecure-skip-tls-verify\":true";
    if (!ca_pem.empty()) {
      cluster +=
          fmt::format(",\"certificate-authority-data\":\"{}\"", absl::Base64Escape(ToAbsl(ca_pem)));
    }
    if (!config.proxy_url.empty()) {
      cluster += fmt::format(",\"proxy-url\":{}", Quoted(config.proxy_url));
    }
    cluster += '}';
  }
  return fmt::format(
      R"({{"apiVersion":{},"kind":"ExecCredential","spec":{{"interactive":false{}}}}})",
      Quoted(exec.api_version), cluster);
}

absl::StatusOr<ExecCredential> ParseExecCredential(std::string_view output,
                                                   const std::string& api_version) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  if (parser.parse(output.data(), output.size()).get(element) != simdjson::SUCCESS ||
      !element.is_object()) {
    return Bad("what it printed is no JSON object");
  }
  absl::Status error;
  const JsonObject root(element, &error);
  if (root.Text(kKind) != "ExecCredential") return Bad("what it printed is no ExecCredential");
  if (root.Text(kApiVersion) != api_version) {
    return Bad(
        fmt::format("its ExecCredential is not of {}, which the kubeconfig asks for", api_version));
  }
  const JsonObject status = root.Object(kStatus);
  ExecCredential out;
  out.token = Secret(std::string(status.Text(kToken)));
  out.client_cert_pem = status.Text(kCertificate);
  out.client_key_pem = Secret(std::string(status.Text(kKey)));
  if (status.Has(kExpires)) {
    // The time may not be quoted: nothing that a plugin printed is.
    const absl::StatusOr<WallTime> expires = ParseRfc3339(status.Text(kExpires));
    if (!expires.ok()) return Bad("its expirationTimestamp is no time in RFC 3339");
    out.expires = *expires;
  }
  if (!error.ok()) return error;
  if (out.token.empty() && out.client_cert_pem.empty()) {
    return Bad("its ExecCredential holds neither a token nor a client certificate");
  }
  if (!out.token.empty()) {
    const absl::Status token = CheckToken(out.token.Reveal());
    if (!token.ok()) return Bad(fmt::format("its token: {}", FromAbsl(token.message())));
  }
  if (out.client_cert_pem.empty() != out.client_key_pem.empty()) {
    return Bad("its ExecCredential holds a client certificate or a key without the other");
  }
  if (!out.client_cert_pem.empty() &&
      !(CheckPem(out.client_cert_pem).ok() && CheckPem(out.client_key_pem.Reveal()).ok())) {
    return Bad("its client certificate or key is not in PEM form");
  }
  return out;
}

}  // namespace phantomd
