#include "agent/base/ip_addr.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>

#include "absl/status/status.h"

namespace phantomd {
namespace {

constexpr std::array<uint8_t, 12> kV4Prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

absl::Status BadAddress(std::string_view what, std::string_view text) {
  return absl::InvalidArgumentError(fmt::format("not {}: \"{}\"", what, text));
}

// Decimal digits only, at most `max`.
bool ParseNumber(std::string_view text, uint32_t max, uint32_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && *out <= max;
}

}  // namespace

IpAddr IpAddr::FromBytes(const uint8_t bytes[16]) {
  IpAddr out;
  std::memcpy(out.bytes_.data(), bytes, 16);
  return out;
}

absl::StatusOr<IpAddr> IpAddr::FromBytes(std::string_view bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  if (bytes.size() == 16) return FromBytes(data);
  if (bytes.size() == 4) return V4(data[0], data[1], data[2], data[3]);
  return absl::InvalidArgumentError(
      fmt::format("an IP address has 4 or 16 bytes, not {}", bytes.size()));
}

IpAddr IpAddr::V4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  IpAddr out;
  std::memcpy(out.bytes_.data(), kV4Prefix.data(), kV4Prefix.size());
  out.bytes_[12] = a;
  out.bytes_[13] = b;
  out.bytes_[14] = c;
  out.bytes_[15] = d;
  return out;
}

absl::StatusOr<IpAddr> IpAddr::Parse(std::string_view text) {
  const std::string copy(text);
  uint8_t v4[4];
  if (inet_pton(AF_INET, copy.c_str(), v4) == 1) return V4(v4[0], v4[1], v4[2], v4[3]);
  uint8_t v6[16];
  if (inet_pton(AF_INET6, copy.c_str(), v6) == 1) return FromBytes(v6);
  return BadAddress("an IP address", text);
}

bool IpAddr::is_v4() const {
  return std::memcmp(bytes_.data(), kV4Prefix.data(), kV4Prefix.size()) == 0;
}

bool IpAddr::is_loopback() const {
  if (is_v4()) return bytes_[12] == 127;
  static constexpr std::array<uint8_t, 16> kV6Loopback = {0, 0, 0, 0, 0, 0, 0, 0,
                                                          0, 0, 0, 0, 0, 0, 0, 1};
  return bytes_ == kV6Loopback;
}

std::string IpAddr::ToString() const {
  char buffer[INET6_ADDRSTRLEN];
  if (is_v4()) {
    inet_ntop(AF_INET, bytes_.data() + 12, buffer, sizeof(buffer));
  } else {
    inet_ntop(AF_INET6, bytes_.data(), buffer, sizeof(buffer));
  }
  return buffer;
}

absl::StatusOr<SocketAddr> SocketAddr::Parse(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return BadAddress("an address with a port", text);
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && host.find(':') != std::string_view::npos) {
    return BadAddress("an address with a port (IPv6 needs brackets)", text);
  }
  uint32_t port = 0;
  if (!ParseNumber(text.substr(colon + 1), 65535, &port)) {
    return BadAddress("an address with a port", text);
  }
  absl::StatusOr<IpAddr> ip = IpAddr::Parse(host);
  if (!ip.ok()) return ip.status();
  return SocketAddr{*ip, static_cast<uint16_t>(port)};
}

std::string SocketAddr::ToString() const {
  return ip.is_v4() ? fmt::format("{}:{}", ip.ToString(), port)
                    : fmt::format("[{}]:{}", ip.ToString(), port);
}

absl::StatusOr<IpPrefix> IpPrefix::Parse(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return BadAddress("an address range", text);
  absl::StatusOr<IpAddr> ip = IpAddr::Parse(text.substr(0, slash));
  uint32_t bits = 0;
  if (!ip.ok() || !ParseNumber(text.substr(slash + 1), ip->is_v4() ? 32 : 128, &bits)) {
    return BadAddress("an address range", text);
  }
  IpPrefix out;
  out.bits_ = static_cast<uint8_t>(ip->is_v4() ? bits + 96 : bits);
  std::array<uint8_t, 16> base = ip->bytes();
  for (int bit = out.bits_; bit < 128; ++bit) base[bit / 8] &= ~(0x80 >> (bit % 8));
  out.base_ = IpAddr::FromBytes(base.data());
  return out;
}

bool IpPrefix::Contains(const IpAddr& ip) const {
  const int whole = bits_ / 8;
  if (std::memcmp(base_.bytes().data(), ip.bytes().data(), whole) != 0) return false;
  if (bits_ % 8 == 0) return true;
  const uint8_t mask = static_cast<uint8_t>(0xff00 >> (bits_ % 8));
  return (base_.bytes()[whole] & mask) == (ip.bytes()[whole] & mask);
}

std::string IpPrefix::ToString() const {
  return fmt::format("{}/{}", base_.ToString(), base_.is_v4() ? bits_ - 96 : bits_);
}

}  // namespace phantomd
