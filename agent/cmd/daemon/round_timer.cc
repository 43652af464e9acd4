#include "agent/cmd/daemon/round_timer.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace phantomd {

RoundTimer::RoundTimer()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  Watch(event_);
}

RoundTimer::~RoundTimer() {
  if (epoll_ >= 0) close(epoll_);
  if (event_ >= 0) close(event_);
}

void RoundTimer::Watch(int fd) {
  epoll_event event{.events = EPOLLIN | EPOLLET};
  if (epoll_ >= 0 && epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0) return;
  spdlog::warn("the core cannot be woken early: {}", std::strerror(errno));
}

bool RoundTimer::Wait(bool busy) {
  const auto millis = static_cast<int>((busy ? kBusy : kIdle).count());
  if (epoll_ < 0) {
    poll(nullptr, 0, millis);
    return false;
  }
  epoll_event event;
  const auto begun = std::chrono::steady_clock::now();
  const bool woken = epoll_wait(epoll_, &event, 1, millis) == 1;
  // The round before was short, and so was the wait: more may come meanwhile.
  const auto now = std::chrono::steady_clock::now();
  if (begun - woken_ < kLeast && now - woken_ < kLeast) {
    poll(nullptr, 0, static_cast<int>(kLeast.count()));
  }
  woken_ = std::chrono::steady_clock::now();
  return woken;
}

void RoundTimer::Wake() {
  // Each write makes an edge; the number that is counted up says nothing.
  const eventfd_t one = 1;
  if (event_ >= 0) eventfd_write(event_, one);
}

}  // namespace phantomd
