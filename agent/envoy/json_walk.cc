#include "agent/envoy/json_walk.h"

#include <fmt/format.h>

#include <charconv>

namespace phantomd {

bool JsonWalk::Fail(const char* what, simdjson::error_code error) {
  // The innermost fault is the first one reported.
  if (error_ == simdjson::SUCCESS) {
    what_ = what;
    error_ = error;
  }
  return false;
}

bool JsonWalk::IsNull(Value& value, const char* what, simdjson::error_code error) {
  bool is_null = false;
  if (error != simdjson::INCORRECT_TYPE || value.is_null().get(is_null) || !is_null) {
    return Fail(what, error);
  }
  return true;
}

bool JsonWalk::Text(Value value, const char* what, std::string_view& out) {
  out = {};
  if (auto error = value.get_string().get(out)) return IsNull(value, what, error);
  return true;
}

bool JsonWalk::Text(Value value, const char* what, std::string& out) {
  std::string_view text;
  if (!Text(value, what, text)) return false;
  out.assign(text);
  return true;
}

bool JsonWalk::Number(Value value, const char* what, uint64_t& out) {
  simdjson::ondemand::json_type type;
  if (auto error = value.type().get(type)) return Fail(what, error);
  out = 0;
  if (type == simdjson::ondemand::json_type::string) {
    std::string_view digits;
    if (auto error = value.get_string().get(digits)) return Fail(what, error);
    const auto [end, parsed] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    if (parsed != std::errc() || end != digits.data() + digits.size()) {
      return Fail(what, simdjson::NUMBER_ERROR);
    }
    return true;
  }
  if (type == simdjson::ondemand::json_type::null) {
    return IsNull(value, what, simdjson::INCORRECT_TYPE);
  }
  if (auto error = value.get_uint64().get(out)) return Fail(what, error);
  return true;
}

bool JsonWalk::Flag(Value value, const char* what, bool& out) {
  out = false;
  if (auto error = value.get_bool().get(out)) return IsNull(value, what, error);
  return true;
}

absl::Status JsonWalk::ToStatus(std::string_view source, std::string_view bytes, const char* begin,
                                simdjson::error_code error, const char* at) const {
  std::string where = fmt::format("of {} bytes", bytes.size());
  if (at != nullptr && at >= begin && at <= begin + bytes.size()) {
    where = fmt::format("near byte {} of {}", at - begin, bytes.size());
  }
  return absl::InvalidArgumentError(
      fmt::format("{}: {} {}: {}", source, what_, where, simdjson::error_message(error)));
}

}  // namespace phantomd
