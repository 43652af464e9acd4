// How many random scenes a model test tries: a sanitizer's build is unoptimised and some twenty
// times as slow, so it tries a tenth; what it looks for does not hide in one seed of ten.
#pragma once

#include <cstdint>

namespace phantomd::testing {

constexpr uint64_t Seeds(uint64_t wanted) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return wanted / 10;
#else
  return wanted;
#endif
}

}  // namespace phantomd::testing
