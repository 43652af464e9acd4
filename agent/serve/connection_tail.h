// ConnectionTail: what one reader of the ring of judged connections has not seen yet.
//
// It begins behind the newest connection of the report it is made with. Example: the reader has
// seen up to 7; a report whose ring holds 10..12 means 8 and 9 are missed, and 10..12 are next.
//
// Thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "agent/engine/report.h"

namespace phantomd {

class ConnectionTail {
 public:
  explicit ConnectionTail(const Report& report);

  struct News {
    uint64_t missed = 0;  // pushed out of the ring before this reader came to see them
    std::vector<std::shared_ptr<const Connection>> connections;  // oldest first
  };
  News Next(const Report& report);

 private:
  uint64_t seen_ = 0;  // sequence of the last connection given out
};

}  // namespace phantomd
