#include "tests/testing/allocation_count.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

constexpr size_t kHeader = 8;
std::atomic<uint64_t> g_allocations = 0;
std::atomic<size_t> g_bytes = 0;

void* Counted(void* block) noexcept {
  if (block == nullptr) return nullptr;
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  g_bytes.fetch_add(malloc_usable_size(block) + kHeader, std::memory_order_relaxed);
  return block;
}

void* CountedOrThrow(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  return Counted(block);
}

void Uncounted(void* block) noexcept {
  if (block == nullptr) return;
  g_bytes.fetch_sub(malloc_usable_size(block) + kHeader, std::memory_order_relaxed);
  std::free(block);
}

}  // namespace

void* operator new(size_t size) { return CountedOrThrow(std::malloc(size)); }
void* operator new[](size_t size) { return CountedOrThrow(std::malloc(size)); }
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return Counted(std::malloc(size));
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return Counted(std::malloc(size));
}
void operator delete(void* block) noexcept { Uncounted(block); }
void operator delete[](void* block) noexcept { Uncounted(block); }
void operator delete(void* block, size_t) noexcept { Uncounted(block); }
void operator delete[](void* block, size_t) noexcept { Uncounted(block); }

namespace phantomd::testing {

uint64_t Allocations() { return g_allocations.load(std::memory_order_relaxed); }
size_t BytesInUse() { return g_bytes.load(std::memory_order_relaxed); }

}  // namespace phantomd::testing
