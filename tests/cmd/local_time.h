// Runs a test in a time zone of its own choice.
#pragma once

#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>

namespace phantomd::testing {

class LocalTime {
 public:
  explicit LocalTime(const char* zone) {
    if (const char* former = std::getenv("TZ"); former != nullptr) former_ = former;
    Set(zone);
  }
  ~LocalTime() { Set(former_.has_value() ? former_->c_str() : nullptr); }
  LocalTime(const LocalTime&) = delete;
  LocalTime& operator=(const LocalTime&) = delete;

 private:
  static void Set(const char* zone) {
    zone != nullptr ? setenv("TZ", zone, 1) : unsetenv("TZ");
    tzset();
  }
  std::optional<std::string> former_;
};

}  // namespace phantomd::testing
