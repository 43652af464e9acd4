// ApiExchange: one request to the API server and its answer, over a libcurl multi handle.
//
// It begins when it is made and is over when the multi handle says so; destroying it before hangs
// up. HTTP/2 where the server speaks it over TLS, else HTTP/1.1. The agent's own environment
// (https_proxy) has no say. For one thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/kube/kube_access.h"
#include "agent/kube/list_watch.h"

struct curl_slist;

namespace phantomd {

class ApiExchange {
 public:
  // Who is given the answer. False: enough, and what follows is not wanted.
  class Reader {
   public:
    virtual ~Reader() = default;
    virtual bool OnHead(const ApiAnswer& answer) = 0;
    virtual bool OnBody(std::string_view bytes) = 0;
  };

  // `multi` (a CURLM, to which the connections belong) and `reader` must outlive it.
  ApiExchange(void* multi, const KubeEndpoint& endpoint, const std::string& path,
              const std::string& accept, Reader& reader);
  ~ApiExchange();
  ApiExchange(const ApiExchange&) = delete;
  ApiExchange& operator=(const ApiExchange&) = delete;

  // Whose end a message of the multi handle tells.
  bool Is(const void* easy) const { return easy == easy_; }
  // What a CURLcode at its end means: one clause; empty: it ended as it should.
  std::string Trouble(int curl_code) const;
  // Whether the code says that a file which was read is of no use: the server is not the one whose
  // CA is known, or the client's certificate and its key are not one another's.
  static bool IsOfStaleFiles(int curl_code);

  int status() const;           // of HTTP; 0: no answer yet
  uint16_t local_port() const;  // of the connection; 0: none yet
  bool is_multiplexed() const;  // others may share its connection: HTTP/2

 private:
  static size_t TakeHeader(char* data, size_t size, size_t count, void* self);
  static size_t TakeBody(char* data, size_t size, size_t count, void* self);
  void SetSecurity(const KubeEndpoint& endpoint);
  bool TellHead();

  void* const multi_;
  void* const easy_;  // CURL
  Reader& reader_;
  curl_slist* headers_ = nullptr;
  curl_slist* connect_to_ = nullptr;
  bool head_told_ = false;
  std::array<char, 256> error_{};  // CURL_ERROR_SIZE
};

}  // namespace phantomd
