#include "agent/envoy/admin_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "agent/base/check.h"
#include "agent/base/strings.h"

namespace phantomd {
namespace {

constexpr size_t kShownOfAnError = 120;  // bytes of an error's body

int64_t Millis(Nanos time) {
  return std::max<int64_t>(1, std::chrono::ceil<std::chrono::milliseconds>(time).count());
}

// An error page may hold anything; a log line should not.
std::string FirstLine(std::string_view body) {
  std::string line(body.substr(0, std::min(body.find_first_of("\r\n"), kShownOfAnError)));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return line;
}

}  // namespace

struct AdminClient::Transfer {
  uint64_t token = 0;
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  AdminSockets* sockets = nullptr;
  std::string url;
  std::string body;
  size_t max_bytes = 0;
  bool too_large = false;
  absl::Status socket_error;
  BootTime requested;
  std::array<char, CURL_ERROR_SIZE> error{};

  ~Transfer() {
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
  }

  static size_t Write(char* data, size_t size, size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const size_t bytes = size * count;
    if (transfer.body.size() + bytes > transfer.max_bytes) {
      transfer.too_large = true;
      return 0;
    }
    transfer.body.append(data, bytes);
    return bytes;
  }

  static curl_socket_t OpenSocket(void* self, curlsocktype, curl_sockaddr* address) {
    auto& transfer = *static_cast<Transfer*>(self);
    auto fd = transfer.sockets->Open(address->family, address->socktype, address->protocol);
    if (fd.ok()) return *fd;
    transfer.socket_error = fd.status();
    return CURL_SOCKET_BAD;
  }
};

AdminClient::AdminClient(AdminClientOptions options, const Clock& clock)
    : options_(options), clock_(clock) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);  // once a process
  PHANTOMD_CHECK(initialised == CURLE_OK);
  multi_ = curl_multi_init();
  PHANTOMD_CHECK(multi_ != nullptr);
}

AdminClient::~AdminClient() {
  while (!transfers_.empty()) Cancel(transfers_.begin()->first);
  curl_multi_cleanup(multi_);
}

void AdminClient::Get(uint64_t token, AdminSockets& sockets, const SocketAddr& at,
                      const std::string& path) {
  auto [it, is_new] = transfers_.try_emplace(token, std::make_unique<Transfer>());
  PHANTOMD_CHECK(is_new);
  Transfer& transfer = *it->second;
  transfer.token = token;
  transfer.sockets = &sockets;
  transfer.url = fmt::format("http://{}{}", at.ToString(), path);
  transfer.max_bytes = options_.max_bytes;
  transfer.easy = curl_easy_init();
  PHANTOMD_CHECK(transfer.easy != nullptr);
  // Envoy closes first, so that the waiting ends of closed connections are not the agent's.
  transfer.headers = curl_slist_append(nullptr, "Connection: close");
  CURL* easy = transfer.easy;
  curl_easy_setopt(easy, CURLOPT_URL, transfer.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.error.data());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "phantomd/" PHANTOMD_VERSION);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");
  // The agent's own environment (http_proxy) has no say in how a proxy's loopback is reached.
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
  curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, Millis(options_.timeout));
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 256L << 10);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::Write);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &Transfer::OpenSocket);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, &transfer);
  transfer.requested = clock_.Now();
  PHANTOMD_CHECK(curl_multi_add_handle(multi_, easy) == CURLM_OK);
  Perform();
}

void AdminClient::Cancel(uint64_t token) {
  const auto it = transfers_.find(token);
  if (it == transfers_.end()) return;
  curl_multi_remove_handle(multi_, it->second->easy);
  transfers_.erase(it);
}

void AdminClient::Perform() {
  int running = 0;
  PHANTOMD_CHECK(curl_multi_perform(multi_, &running) == CURLM_OK);
}

std::vector<AdminReply> AdminClient::Wait(Nanos timeout) {
  std::vector<AdminReply> replies;
  const auto collect = [&] {
    Perform();
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      void* private_data = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private_data);
      auto& transfer = *static_cast<Transfer*>(private_data);
      const int code = message->data.result;  // the message does not outlive the handle
      replies.push_back(Finish(transfer, code));
    }
  };
  collect();
  if (!replies.empty()) return replies;
  // Rounded up: what is rounded down is waited for in a loop that does nothing else.
  const int64_t millis = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  PHANTOMD_CHECK(curl_multi_poll(multi_, nullptr, 0, static_cast<int>(std::max<int64_t>(0, millis)),
                                 nullptr) == CURLM_OK);
  collect();
  return replies;
}

void AdminClient::Wake() { curl_multi_wakeup(multi_); }

AdminReply AdminClient::Finish(Transfer& transfer, int curl_code) {
  AdminReply reply;
  reply.token = transfer.token;
  reply.requested = transfer.requested;
  reply.received = clock_.Now();
  curl_off_t sent_at = 0;
  curl_off_t ended_at = 0;
  long http_status = 0;
  curl_easy_getinfo(transfer.easy, CURLINFO_PRETRANSFER_TIME_T, &sent_at);
  curl_easy_getinfo(transfer.easy, CURLINFO_TOTAL_TIME_T, &ended_at);
  curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &http_status);
  if (sent_at > 0 && ended_at > sent_at) {
    reply.served = std::chrono::microseconds(ended_at - sent_at);
  }
  const std::string detail = transfer.error[0] != '\0'
                                 ? std::string(transfer.error.data())
                                 : curl_easy_strerror(static_cast<CURLcode>(curl_code));
  const std::string sentence = fmt::format("GET {}: {}", transfer.url, detail);
  if (!transfer.socket_error.ok()) {
    reply.body = absl::Status(
        transfer.socket_error.code(),
        fmt::format("GET {}: {}", transfer.url, FromAbsl(transfer.socket_error.message())));
  } else if (transfer.too_large) {
    reply.body = absl::ResourceExhaustedError(fmt::format(
        "GET {}: the answer is larger than {} bytes", transfer.url, transfer.max_bytes));
  } else if (curl_code == CURLE_OPERATION_TIMEDOUT) {
    reply.body = absl::DeadlineExceededError(sentence);
  } else if (curl_code == CURLE_PARTIAL_FILE || curl_code == CURLE_GOT_NOTHING ||
             curl_code == CURLE_UNSUPPORTED_PROTOCOL || curl_code == CURLE_WEIRD_SERVER_REPLY ||
             curl_code == CURLE_BAD_CONTENT_ENCODING) {
    reply.body = absl::DataLossError(sentence);
  } else if (curl_code != CURLE_OK) {
    reply.body = absl::UnavailableError(sentence);
  } else if (http_status != 200) {
    reply.body = absl::FailedPreconditionError(fmt::format(
        "GET {}: HTTP status {}: {}", transfer.url, http_status, FirstLine(transfer.body)));
  } else {
    reply.body = std::move(transfer.body);
  }
  Cancel(transfer.token);
  return reply;
}

std::string_view AdminErrorKind(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
      return "namespace";
    case absl::StatusCode::kUnavailable:
      return "connect";
    case absl::StatusCode::kDeadlineExceeded:
      return "timeout";
    case absl::StatusCode::kFailedPrecondition:
      return "http";
    case absl::StatusCode::kResourceExhausted:
      return "too_large";
    case absl::StatusCode::kDataLoss:
      return "half_answer";
    case absl::StatusCode::kAborted:
      return "refused";
    default:
      return "rubbish";
  }
}

}  // namespace phantomd
