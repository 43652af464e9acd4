// What tells the client of WatchConnections that the agent has accepted its call: a stream that
// ends after it has ended, one that ends without it never began.
//
// A constant.
#pragma once

namespace phantomd {

inline constexpr char kWatchBegun[] = "phantom-watch-begun";  // a key of the initial metadata

}  // namespace phantomd
