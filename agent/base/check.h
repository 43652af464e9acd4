// PHANTOMD_CHECK ends the process with the failed condition when it is false: for what only a bug
// of ours can do. What the world may do is an absl::Status.
#pragma once

#include <cstdio>
#include <cstdlib>

#define PHANTOMD_CHECK(condition)                                                        \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
