// Inputs from a fuzzer's bytes: arbitrary in what they say and in which order, but well-formed as
// the edges promise (stamps are near each other, enumerators exist, an outcome follows its SYN).
//
// A small world, so that names meet again: 6 pods, 4 addresses, 3 Services, 2 Nodes, 3 proxies.
// Time moves on by 0 to some 60 s an input, and what is told may lie before or after it.
#pragma once

#include "agent/engine/edge_post.h"
#include "agent/engine/input.h"
#include "tests/fuzz/byte_source.h"

namespace phantomd::fuzz {

inline constexpr int64_t kSecond = 1'000'000'000;
inline constexpr int64_t kStart = 1000 * kSecond;

Header SomeHeader(ByteSource& bytes);

class RandomInputs {
 public:
  explicit RandomInputs(ByteSource& bytes) : bytes_(bytes) {}

  // The next one, and the edge that would post it. Stamps never decrease.
  EdgePost Next();
  BootTime now() const { return BootTime::FromNanos(now_); }

 private:
  // Some instant around now, at times a far one.
  BootTime Around();
  WallTime AroundWall();
  IpAddr Address();
  PodUid Pod();
  ProxyId SomeProxy();

  PodChange Change();
  SliceChange Slice();
  NodeChange Node();
  BeliefSnapshot Belief();
  Attempt Connect();
  ConnectionEnd End();
  ProxyChange Proxy();
  FeedChange Feed();
  PodEnd Ended();
  phantomd::Loss Loss();

  ByteSource& bytes_;
  int64_t now_ = kStart;
};

}  // namespace phantomd::fuzz
