#include "agent/serve/pem.h"

#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <fstream>
#include <iterator>
#include <memory>

namespace phantomd {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Bio Reader(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

Certificate FirstCertificate(const std::string& text) {
  return {PEM_read_bio_X509(Reader(text).get(), nullptr, nullptr, nullptr), &X509_free};
}

// A key that needs a password is none: nobody is there to be asked.
int NoPassword(char*, int, int, void*) { return -1; }

absl::StatusOr<std::string> ReadFile(const char* what, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string out{std::istreambuf_iterator<char>(file), {}};
  if (out.empty()) {
    return absl::FailedPreconditionError(fmt::format("{} {}: cannot be read", what, path));
  }
  return out;
}

}  // namespace

absl::StatusOr<std::string> ReadCertificates(const char* what, const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(what, path);
  if (text.ok() && FirstCertificate(*text) == nullptr) {
    return absl::FailedPreconditionError(fmt::format("{} {}: holds no certificate", what, path));
  }
  return text;
}

absl::StatusOr<TlsIdentity> ReadIdentity(const std::string& cert_path,
                                         const std::string& key_path) {
  const absl::StatusOr<std::string> certificate = ReadCertificates("TLS certificate", cert_path);
  if (!certificate.ok()) return certificate.status();
  const absl::StatusOr<std::string> text = ReadFile("TLS key", key_path);
  if (!text.ok()) return text.status();
  const Key key(PEM_read_bio_PrivateKey(Reader(*text).get(), nullptr, NoPassword, nullptr),
                &EVP_PKEY_free);
  if (key == nullptr) {
    return absl::FailedPreconditionError(
        fmt::format("TLS key {}: holds no private key without a password", key_path));
  }
  if (X509_check_private_key(FirstCertificate(*certificate).get(), key.get()) != 1) {
    return absl::FailedPreconditionError(
        fmt::format("TLS key {}: is not that of the certificate {}", key_path, cert_path));
  }
  return TlsIdentity{*certificate, *text};
}

}  // namespace phantomd
