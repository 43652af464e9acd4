#include "agent/kube/kubeconfig.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <string_view>

#include "absl/strings/escaping.h"
#include "agent/base/strings.h"
#include "agent/kube/credential_file.h"

namespace phantomd {
namespace {

// Reads one named entry and keeps the first thing that is wrong, as a sentence with the path.
class EntryReader {
 public:
  EntryReader(const std::string& path, std::string what) : path_(path), what_(std::move(what)) {}

  void Fail(std::string_view why) {
    if (error_.ok()) {
      error_ = absl::InvalidArgumentError(fmt::format("{}: {}: {}", path_, what_, why));
    }
  }
  std::string Text(const YAML::Node& node, const char* key) {
    const YAML::Node value = Find(node, key);
    if (!value) return "";
    if (value.IsScalar()) return value.Scalar();
    Fail(fmt::format("{} is no text", key));
    return "";
  }
  bool Bool(const YAML::Node& node, const char* key) {
    const std::string text = Text(node, key);
    if (text.empty() || text == "false") return false;
    if (text != "true") Fail(fmt::format("{} is neither true nor false", key));
    return text == "true";
  }
  // A text in base64; PEM once it is decoded.
  std::string Pem(const YAML::Node& node, const char* key) {
    const std::string text = Text(node, key);
    std::string out;
    if (text.empty()) return out;
    if (!absl::Base64Unescape(ToAbsl(text), &out)) {
      Fail(fmt::format("{} is not base64", key));
    } else if (const absl::Status pem = CheckPem(out); !pem.ok()) {
      Fail(fmt::format("{} cannot be used: {}", key, FromAbsl(pem.message())));
    }
    return out;
  }
  // A path, which may be relative to the kubeconfig's folder.
  std::string Path(const YAML::Node& node, const char* key) {
    const std::string text = Text(node, key);
    return text.empty() ? text : (std::filesystem::path(path_).parent_path() / text).string();
  }
  YAML::Node List(const YAML::Node& node, const char* key) {
    const YAML::Node value = Find(node, key);
    if (!value || value.IsSequence()) return value;
    Fail(fmt::format("{} is no list", key));
    return YAML::Node(YAML::NodeType::Undefined);
  }
  static YAML::Node Find(const YAML::Node& node, const char* key) {
    if (!node.IsDefined() || !node.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
    const YAML::Node value = node[key];
    if (value.IsDefined() && value.IsNull()) return YAML::Node(YAML::NodeType::Undefined);
    return value;
  }
  const absl::Status& status() const { return error_; }

 private:
  const std::string& path_;
  const std::string what_;
  absl::Status error_;
};

absl::Status Missing(const std::string& path, std::string_view what) {
  return absl::NotFoundError(fmt::format("{}: {}", path, what));
}

// The entry called `name` of the list `list`, and in it the map `inner`.
absl::StatusOr<YAML::Node> Entry(const YAML::Node& root, const std::string& path, const char* list,
                                 const char* inner, const std::string& name) {
  const YAML::Node entries = EntryReader::Find(root, list);
  if (entries.IsDefined() && entries.IsSequence()) {
    for (const YAML::Node& entry : entries) {
      const YAML::Node entry_name = EntryReader::Find(entry, "name");
      if (!entry_name.IsDefined() || !entry_name.IsScalar() || entry_name.Scalar() != name)
        continue;
      return EntryReader::Find(entry, inner);
    }
  }
  return Missing(path, fmt::format("there is no {} {:?} among its {}", inner, name, list));
}

void TakeCluster(const YAML::Node& cluster, EntryReader& read, Kubeconfig& out) {
  out.server = read.Text(cluster, "server");
  while (out.server.ends_with('/')) out.server.pop_back();
  if (out.server.empty()) {
    read.Fail("server is missing");
  } else if (!out.server.starts_with("https://") && !out.server.starts_with("http://")) {
    read.Fail("server is no URL that begins with https:// or http://");
  }
  out.ca_pem = read.Pem(cluster, "certificate-authority-data");
  out.ca_file = read.Path(cluster, "certificate-authority");
  out.insecure_skip_tls_verify = read.Bool(cluster, "insecure-skip-tls-verify");
  if (out.insecure_skip_tls_verify && !(out.ca_pem.empty() && out.ca_file.empty())) {
    read.Fail("insecure-skip-tls-verify contradicts its certificate-authority");
  }
  out.tls_server_name = read.Text(cluster, "tls-server-name");
  out.proxy_url = read.Text(cluster, "proxy-url");
  const bool known = out.proxy_url.empty() || out.proxy_url.starts_with("http://") ||
                     out.proxy_url.starts_with("https://") ||
                     out.proxy_url.starts_with("socks5://");
  if (!known) read.Fail("proxy-url does not begin with http://, https:// or socks5://");
}

void TakeExec(const YAML::Node& exec, EntryReader& read, Kubeconfig& out) {
  KubeconfigExec& plugin = out.exec.emplace();
  plugin.command = read.Text(exec, "command");
  if (plugin.command.empty()) read.Fail("exec: command is missing");
  // As client-go: a command with a slash that is no absolute path is beside the kubeconfig.
  if (plugin.command.find('/') != std::string::npos) plugin.command = read.Path(exec, "command");
  plugin.api_version = read.Text(exec, "apiVersion");
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    read.Fail(fmt::format(
        "exec: apiVersion {:?} is neither client.authentication.k8s.io/v1 nor .../v1beta1",
        plugin.api_version));
  }
  plugin.install_hint = read.Text(exec, "installHint");
  plugin.provide_cluster_info = read.Bool(exec, "provideClusterInfo");
  if (read.Text(exec, "interactiveMode") == "Always") {
    read.Fail("exec: interactiveMode Always needs a terminal, which the agent has not");
  }
  for (const YAML::Node& arg : read.List(exec, "args")) {
    if (!arg.IsScalar()) {
      read.Fail("exec: args holds what is no text");
      continue;
    }
    plugin.args.push_back(arg.Scalar());
  }
  for (const YAML::Node& entry : read.List(exec, "env")) {
    plugin.env.emplace_back(read.Text(entry, "name"), read.Text(entry, "value"));
  }
}

void TakeUser(const YAML::Node& user, EntryReader& read, Kubeconfig& out) {
  for (const char* refused :
       {"auth-provider", "username", "password", "as", "as-uid", "as-groups", "as-user-extra"}) {
    if (EntryReader::Find(user, refused).IsDefined()) {
      read.Fail(fmt::format("{} is not supported", refused));
    }
  }
  out.token = Secret(read.Text(user, "token"));
  if (!out.token.empty()) {
    if (const absl::Status token = CheckToken(out.token.Reveal()); !token.ok()) {
      read.Fail(fmt::format("token cannot be used: {}", FromAbsl(token.message())));
    }
  }
  out.token_file = read.Path(user, "tokenFile");
  out.client_cert_pem = read.Pem(user, "client-certificate-data");
  out.client_cert_file = read.Path(user, "client-certificate");
  out.client_key_pem = Secret(read.Pem(user, "client-key-data"));
  out.client_key_file = read.Path(user, "client-key");
  const bool has_cert = !out.client_cert_pem.empty() || !out.client_cert_file.empty();
  const bool has_key = !out.client_key_pem.empty() || !out.client_key_file.empty();
  if (has_cert && !has_key) read.Fail("client-key is missing beside the client-certificate");
  if (has_key && !has_cert) read.Fail("client-certificate is missing beside the client-key");
  if (const YAML::Node exec = EntryReader::Find(user, "exec"); exec.IsDefined()) {
    TakeExec(exec, read, out);
  }
}

absl::StatusOr<Kubeconfig> Parse(const YAML::Node& root, const std::string& path,
                                 const std::string& context_name) {
  EntryReader top(path, "the file");
  Kubeconfig out;
  out.context = context_name.empty() ? top.Text(root, "current-context") : context_name;
  if (!top.status().ok()) return top.status();
  if (out.context.empty()) {
    return Missing(path, "it has no current-context, and no context was asked for");
  }
  const absl::StatusOr<YAML::Node> context = Entry(root, path, "contexts", "context", out.context);
  if (!context.ok()) return context.status();
  EntryReader read_context(path, fmt::format("context {:?}", out.context));
  const std::string cluster_name = read_context.Text(*context, "cluster");
  if (cluster_name.empty()) read_context.Fail("cluster is missing");
  const std::string user_name = read_context.Text(*context, "user");
  if (!read_context.status().ok()) return read_context.status();

  const absl::StatusOr<YAML::Node> cluster = Entry(root, path, "clusters", "cluster", cluster_name);
  if (!cluster.ok()) return cluster.status();
  EntryReader read_cluster(path, fmt::format("cluster {:?}", cluster_name));
  TakeCluster(*cluster, read_cluster, out);
  if (!read_cluster.status().ok()) return read_cluster.status();

  if (user_name.empty()) return out;  // anonymous
  const absl::StatusOr<YAML::Node> user = Entry(root, path, "users", "user", user_name);
  if (!user.ok()) return user.status();
  EntryReader read_user(path, fmt::format("user {:?}", user_name));
  TakeUser(*user, read_user, out);
  if (!read_user.status().ok()) return read_user.status();
  return out;
}

}  // namespace

absl::StatusOr<Kubeconfig> ParseKubeconfig(const std::string& yaml, const std::string& path,
                                           const std::string& context) {
  try {
    return Parse(YAML::Load(yaml), path, context);
  } catch (const YAML::Exception& error) {
    // Its own message may quote the text.
    return absl::InvalidArgumentError(
        fmt::format("{}:{}: it is not YAML", path, error.mark.line + 1));
  }
}

}  // namespace phantomd
