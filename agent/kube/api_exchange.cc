#include "agent/kube/api_exchange.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include "agent/base/check.h"
#include "agent/kube/api_status.h"

namespace phantomd {
namespace {

constexpr long kConnectTimeoutMs = 10'000;  // as long as the answer to a request may stand still

// libcurl copies it: tokens and keys are replaced while the exchange runs.
void SetBlob(CURL* easy, CURLoption option, const std::string& bytes) {
  curl_blob blob{const_cast<char*>(bytes.data()), bytes.size(), CURL_BLOB_COPY};
  PHANTOMD_CHECK(curl_easy_setopt(easy, option, &blob) == CURLE_OK);
}

// "10.96.0.1:443" of "https://10.96.0.1:443/prefix".
std::string_view AuthorityOf(std::string_view server) {
  const size_t scheme = server.find("://");
  PHANTOMD_CHECK(scheme != std::string_view::npos);  // as KubeEndpoint promises
  server.remove_prefix(scheme + 3);
  return server.substr(0, server.find('/'));
}

bool HasPort(std::string_view authority) {
  const size_t colon = authority.rfind(':');
  return colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos;
}

}  // namespace

ApiExchange::ApiExchange(void* multi, const KubeEndpoint& endpoint, const std::string& path,
                         const std::string& accept, Reader& reader)
    : multi_(multi), easy_(curl_easy_init()), reader_(reader) {
  PHANTOMD_CHECK(easy_ != nullptr);
  static_assert(CURL_ERROR_SIZE <= sizeof(error_));
  const auto add_header = [&](const std::string& line) {
    headers_ = curl_slist_append(headers_, line.c_str());
    PHANTOMD_CHECK(headers_ != nullptr);
  };
  add_header("Accept: " + accept);
  if (!endpoint.token.empty()) add_header("Authorization: Bearer " + endpoint.token.Reveal());
  std::string url = endpoint.server + path;
  if (!endpoint.tls_name.empty()) {
    // The certificate is held against the URL's host; where to connect is said apart.
    const std::string authority(AuthorityOf(endpoint.server));
    const std::string port =
        HasPort(authority) ? authority.substr(authority.rfind(':') + 1) : std::string("443");
    const std::string host =
        HasPort(authority) ? authority.substr(0, authority.rfind(':')) : authority;
    url.replace(url.find("://") + 3, authority.size(),
                fmt::format("{}:{}", endpoint.tls_name, port));
    connect_to_ = curl_slist_append(
        nullptr, fmt::format("{}:{}:{}:{}", endpoint.tls_name, port, host, port).c_str());
    PHANTOMD_CHECK(connect_to_ != nullptr);
    curl_easy_setopt(easy_, CURLOPT_CONNECT_TO, connect_to_);
    add_header("Host: " + authority);
  }
  curl_easy_setopt(easy_, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_.data());
  curl_easy_setopt(easy_, CURLOPT_USERAGENT, "phantomd/" PHANTOMD_VERSION);
  curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
  curl_easy_setopt(easy_, CURLOPT_PIPEWAIT, 1L);
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy_, CURLOPT_ACCEPT_ENCODING, "gzip");
  curl_easy_setopt(easy_, CURLOPT_PROXY, endpoint.proxy_url.c_str());
  curl_easy_setopt(easy_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &TakeHeader);
  curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &TakeBody);
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  SetSecurity(endpoint);
  PHANTOMD_CHECK(curl_multi_add_handle(multi_, easy_) == CURLM_OK);
}

ApiExchange::~ApiExchange() {
  curl_multi_remove_handle(multi_, easy_);
  curl_easy_cleanup(easy_);
  curl_slist_free_all(headers_);
  curl_slist_free_all(connect_to_);
}

void ApiExchange::SetSecurity(const KubeEndpoint& endpoint) {
  if (!endpoint.verify) {
    curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!endpoint.ca_pem.empty()) SetBlob(easy_, CURLOPT_CAINFO_BLOB, endpoint.ca_pem);
  if (!endpoint.client_cert_pem.empty()) {
    SetBlob(easy_, CURLOPT_SSLCERT_BLOB, endpoint.client_cert_pem);
    SetBlob(easy_, CURLOPT_SSLKEY_BLOB, endpoint.client_key_pem.Reveal());
  }
}

size_t ApiExchange::TakeHeader(char* data, size_t size, size_t count, void* self) {
  auto& exchange = *static_cast<ApiExchange*>(self);
  const size_t bytes = size * count;
  const bool is_last = std::string_view(data, bytes) == "\r\n";
  // Before the answer there may be another that only says that it is on its way (1xx); behind it,
  // trailers.
  if (!is_last || exchange.head_told_ || exchange.status() / 100 == 1) return bytes;
  return exchange.TellHead() ? bytes : 0;
}

bool ApiExchange::TellHead() {
  head_told_ = true;
  ApiAnswer answer{.status = status()};
  const char* type = nullptr;
  curl_easy_getinfo(easy_, CURLINFO_CONTENT_TYPE, &type);
  if (type != nullptr) answer.content_type = type;
  curl_off_t seconds = 0;
  curl_easy_getinfo(easy_, CURLINFO_RETRY_AFTER, &seconds);
  answer.retry_after = RetryAfterOfSeconds(seconds);
  return reader_.OnHead(answer);
}

size_t ApiExchange::TakeBody(char* data, size_t size, size_t count, void* self) {
  auto& exchange = *static_cast<ApiExchange*>(self);
  const size_t bytes = size * count;
  return exchange.reader_.OnBody(std::string_view(data, bytes)) ? bytes : 0;
}

std::string ApiExchange::Trouble(int curl_code) const {
  if (curl_code == CURLE_OK) return "";
  if (error_[0] != '\0') return error_.data();
  return curl_easy_strerror(static_cast<CURLcode>(curl_code));
}

bool ApiExchange::IsOfStaleFiles(int curl_code) {
  return curl_code == CURLE_PEER_FAILED_VERIFICATION || curl_code == CURLE_SSL_CERTPROBLEM;
}

int ApiExchange::status() const {
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

uint16_t ApiExchange::local_port() const {
  long port = 0;
  curl_easy_getinfo(easy_, CURLINFO_LOCAL_PORT, &port);
  return static_cast<uint16_t>(port);
}

bool ApiExchange::is_multiplexed() const {
  long version = 0;
  curl_easy_getinfo(easy_, CURLINFO_HTTP_VERSION, &version);
  return version >= CURL_HTTP_VERSION_2_0;
}

}  // namespace phantomd
