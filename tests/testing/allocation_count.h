// What the program has allocated: operator new is replaced in every program that links this.
//
// Bytes are those of live blocks, with glibc's own rounding and its header of 8 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace phantomd::testing {

uint64_t Allocations();  // ever made, by this program
size_t BytesInUse();

}  // namespace phantomd::testing
