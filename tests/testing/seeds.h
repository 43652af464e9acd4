// How many random scenes a model test tries: as many as PHANTOMD_SEEDS says, for a long search,
// else as many as the test names.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace phantomd::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // as GCC says it
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)  // as clang does
inline constexpr bool kSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

inline uint64_t SeedsOr(uint64_t usual) {
  const char* wanted = std::getenv("PHANTOMD_SEEDS");
  return wanted == nullptr ? usual : std::strtoull(wanted, nullptr, 10);
}

// For scenes that are slow in a sanitizer's build, which is unoptimised and takes some twenty times
// as long: it tries a twentieth, and what it looks for does not hide in one seed of twenty.
inline uint64_t Seeds(uint64_t usual) { return SeedsOr(kSanitized ? usual / 20 : usual); }

}  // namespace phantomd::testing
