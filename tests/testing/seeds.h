// How many random scenes a model test tries. A sanitizer's build is unoptimised and some twenty
// times as slow, so it tries a tenth; what it looks for does not hide in one seed of ten.
// PHANTOMD_SEEDS_TIMES=20 in the environment: twenty times as many, for a long search.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace phantomd::testing {

inline uint64_t Seeds(uint64_t wanted) {
  const char* times = std::getenv("PHANTOMD_SEEDS_TIMES");
  if (times != nullptr) wanted *= std::strtoull(times, nullptr, 10);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return wanted / 10;
#else
  return wanted;
#endif
}

}  // namespace phantomd::testing
