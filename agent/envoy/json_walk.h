// JsonWalk reads one answer of the admin API front to back: simdjson's on-demand parser behind the
// few questions that proto-JSON needs.
//
// Envoy prints messages with snake_case names, istiod with camelCase; both leave out fields that
// hold their default and write 64-bit numbers as strings or as numbers. All of these are accepted
// here, once: a name is asked for in snake_case, null counts as absent, a number may be quoted.
//
// Every function returns false after a fault and leaves its sentence in the walk. The whole
// document is always walked to its last brace, so an answer that was cut short anywhere is a fault
// and never half an answer.
//
// One walk reads one document, on one thread.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

// The checks change the layout of simdjson's on-demand parser. Left to itself each file decides by
// its own optimisation, and the linker merges the inline functions of both layouts without a word.
#if !defined(SIMDJSON_DEVELOPMENT_CHECKS) || SIMDJSON_DEVELOPMENT_CHECKS
#error "build with SIMDJSON_DEVELOPMENT_CHECKS=0, which linking phantomd_envoy does"
#endif

namespace phantomd {

// The name of a field, as it stands in the document up to its closing quote: never copied, for most
// of a document's strings are names.
class JsonKey {
 public:
  explicit JsonKey(const char* raw) : raw_(raw) {}

  // Whether the name is `name` (snake_case) in either spelling: "eds_service_name" or
  // "edsServiceName". A name that is written with escapes is none that Envoy writes.
  bool Is(std::string_view name) const {
    const char* at = raw_;
    for (size_t n = 0; n < name.size(); ++n, ++at) {
      if (*at == name[n]) continue;  // no name holds a quote, so this cannot pass the end
      if (name[n] != '_' || n + 1 >= name.size()) return false;
      ++n;
      if (*at != static_cast<char>(name[n] - 'a' + 'A')) return false;
    }
    return *at == '"';
  }

 private:
  const char* raw_;
};

inline bool Named(JsonKey key, std::string_view name) { return key.Is(name); }

class JsonWalk {
 public:
  using Value = simdjson::ondemand::value;

  // Reads `bytes` as one object and calls read_field(walk, key, value) -> bool for each of its
  // fields. `source` names the answer in the error.
  template <typename ReadField>
  static absl::Status ReadDocument(std::string_view source, std::string_view bytes,
                                   ReadField read_field) {
    JsonWalk walk;
    const simdjson::padded_string padded(bytes.data(), bytes.size());
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document document;
    simdjson::ondemand::object root;
    auto error = parser.iterate(padded).get(document);
    if (error) return walk.ToStatus(source, bytes, "", error, nullptr);
    error = document.get_object().get(root);
    const bool read = error ? walk.Fail("the answer", error)
                            : walk.ReadFields(root, "the answer", [&](JsonKey key, Value value) {
                                return read_field(walk, key, value);
                              });
    if (!read) {
      const char* at = nullptr;
      if (document.current_location().get(at)) at = nullptr;
      return walk.ToStatus(source, bytes, padded.data(), walk.error_, at);
    }
    const char* rest = nullptr;
    if (document.current_location().get(rest) == simdjson::SUCCESS) {
      walk.what_ = "the answer";
      return walk.ToStatus(source, bytes, "", simdjson::TRAILING_CONTENT, nullptr);
    }
    return absl::OkStatus();
  }

  // read(key, value) for each field of an object.
  template <typename Read>
  bool Fields(Value value, const char* what, Read read) {
    simdjson::ondemand::object object;
    if (auto error = value.get_object().get(object)) return IsNull(value, what, error);
    return ReadFields(object, what, read);
  }

  // read(value) for each element of an array.
  template <typename Read>
  bool Elements(Value value, const char* what, Read read) {
    simdjson::ondemand::array array;
    if (auto error = value.get_array().get(array)) return IsNull(value, what, error);
    for (auto element : array) {
      Value inner;
      if (auto error = std::move(element).get(inner)) return Fail(what, error);
      if (!read(inner)) return false;
    }
    return true;
  }

  // Valid until the walk ends.
  bool Text(Value value, const char* what, std::string_view& out);
  bool Text(Value value, const char* what, std::string& out);
  bool Number(Value value, const char* what, uint64_t& out);
  bool Flag(Value value, const char* what, bool& out);

  // The answer is JSON, but says something that cannot be. Always false.
  bool Fail(const char* what, simdjson::error_code error);

 private:
  template <typename Read>
  bool ReadFields(simdjson::ondemand::object& object, const char* what, Read read) {
    for (auto item : object) {
      simdjson::ondemand::field field;
      if (auto error = std::move(item).get(field)) return Fail(what, error);
      if (!read(JsonKey(field.key().raw()), field.value())) return false;
    }
    return true;
  }

  // The value was not of its type. True if it is null, which counts as absent; else the fault.
  bool IsNull(Value& value, const char* what, simdjson::error_code error);
  absl::Status ToStatus(std::string_view source, std::string_view bytes, const char* begin,
                        simdjson::error_code error, const char* at) const;

  const char* what_ = "the answer";
  simdjson::error_code error_ = simdjson::SUCCESS;
};

}  // namespace phantomd
