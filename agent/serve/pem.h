// What TLS needs from PEM files, read and checked before it is handed to gRPC, which takes anything
// and then says that an address cannot be had.
//
// Thread-compatible.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace phantomd {

// The text of a file that holds at least one certificate; `what` names it in the sentence.
absl::StatusOr<std::string> ReadCertificates(const char* what, const std::string& path);

struct TlsIdentity {
  std::string certificate, key;
};

// A certificate and the key that is its own.
absl::StatusOr<TlsIdentity> ReadIdentity(const std::string& cert_path, const std::string& key_path);

}  // namespace phantomd
