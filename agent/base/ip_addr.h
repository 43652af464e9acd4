// IpAddr is one address as 16 bytes in network order; IPv4 is held as ::ffff:a.b.c.d, so that an
// IPv4 socket and an IPv4-mapped IPv6 socket to the same pod are the same key. SocketAddr adds a
// port. IpPrefix is an address range.
//
// Plain values, hashable and ordered.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace phantomd {

class IpAddr {
 public:
  constexpr IpAddr() = default;  // ::, "no address"
  static IpAddr FromBytes(const uint8_t bytes[16]);
  // 16 bytes, or 4 for IPv4; anything else is an error.
  static absl::StatusOr<IpAddr> FromBytes(std::string_view bytes);
  static IpAddr V4(uint8_t a, uint8_t b, uint8_t c, uint8_t d);
  // "10.0.0.1", "fd00::1", "::ffff:10.0.0.1"; no brackets, no zone.
  static absl::StatusOr<IpAddr> Parse(std::string_view text);

  const std::array<uint8_t, 16>& bytes() const { return bytes_; }
  std::string_view AsBytes() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  bool is_v4() const;
  bool is_unset() const { return bytes_ == std::array<uint8_t, 16>{}; }
  bool is_loopback() const;      // 127.0.0.0/8 or ::1
  std::string ToString() const;  // IPv4 dotted, IPv6 as RFC 5952

  // As two words each: std::array would call memcmp, which shows in every look-up.
  friend bool operator==(const IpAddr& a, const IpAddr& b) {
    return a.Word(0) == b.Word(0) && a.Word(1) == b.Word(1);
  }
  friend std::strong_ordering operator<=>(const IpAddr& a, const IpAddr& b) {
    static_assert(std::endian::native == std::endian::little);
    const uint64_t high_a = __builtin_bswap64(a.Word(0)), high_b = __builtin_bswap64(b.Word(0));
    if (high_a != high_b) return high_a <=> high_b;
    return __builtin_bswap64(a.Word(1)) <=> __builtin_bswap64(b.Word(1));
  }
  template <typename H>
  friend H AbslHashValue(H h, const IpAddr& a) {
    return H::combine(std::move(h), a.Word(0), a.Word(1));
  }

 private:
  uint64_t Word(size_t at) const {
    uint64_t word = 0;
    std::memcpy(&word, bytes_.data() + 8 * at, sizeof(word));
    return word;
  }

  std::array<uint8_t, 16> bytes_{};
};

struct SocketAddr {
  IpAddr ip;
  uint16_t port = 0;

  // "10.0.0.1:80", "[fd00::1]:80".
  static absl::StatusOr<SocketAddr> Parse(std::string_view text);
  std::string ToString() const;

  friend auto operator<=>(const SocketAddr&, const SocketAddr&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const SocketAddr& a) {
    return H::combine(std::move(h), a.ip, a.port);
  }
};

class IpPrefix {
 public:
  // "10.0.0.0/16", "fd00::/64"; host bits are cleared.
  static absl::StatusOr<IpPrefix> Parse(std::string_view text);

  bool Contains(const IpAddr& ip) const;
  const IpAddr& base() const { return base_; }
  int bits() const { return bits_; }  // of the 128: an IPv4 /24 has 120
  std::string ToString() const;
  friend auto operator<=>(const IpPrefix&, const IpPrefix&) = default;

 private:
  IpAddr base_;
  uint8_t bits_ = 0;  // of the 128
};

}  // namespace phantomd
