// CredentialFile: a file with a token, a certificate or a key, read again from time to time.
//
// What was read last holds while the file cannot be read: it is being replaced, or the disk is in
// trouble, and the server decides whether it is still good. For one thread.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "agent/base/boot_time.h"

namespace phantomd {

class CredentialFile {
 public:
  enum class Kind {
    kToken,  // one line; the white space around it does not count
    kPem,    // holds at least one PEM block
  };
  static constexpr size_t kMaxBytes = 1 << 20;

  // `what`: "the token of the service account", for errors.
  CredentialFile(Kind kind, std::string what, std::string path)
      : kind_(kind), what_(std::move(what)), path_(std::move(path)) {}

  // Reads the file if that was `reread` ago or never.
  absl::StatusOr<std::string> Get(BootTime now, Nanos reread);
  // The next Get() reads it.
  void Forget() { read_ = BootTime(); }

 private:
  const Kind kind_;
  const std::string what_;
  const std::string path_;
  std::string content_;  // empty: never read
  BootTime read_;        // unset: read at the next Get()
};

// A whole file of at most kMaxBytes; the error is a clause.
absl::StatusOr<std::string> ReadCredentialFile(const std::string& path);

// The same checks for what came in another way; the error is a clause without the content.
absl::Status CheckToken(const std::string& token);
absl::Status CheckPem(const std::string& pem);

}  // namespace phantomd
