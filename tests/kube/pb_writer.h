// Writes Kubernetes objects in protobuf from their JSON, with a schema of its own: the other side
// of the product's reader, which shares nothing with it.
//
// It knows more fields than the reader reads, so that there is something to skip.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace phantomd::testing {

void PutVarint(uint64_t value, std::string& out);
void PutNumber(uint32_t field, uint64_t value, std::string& out);
void PutBytes(uint32_t field, std::string_view bytes, std::string& out);

// `kind`: "Pod", "EndpointSlice", "Node" or "Status". Nothing if a field of the JSON has a type
// that the schema does not allow.
std::optional<std::string> PbFromJson(const std::string& kind, const std::string& json);

// "k8s\0" and a runtime.Unknown around `raw`.
std::string PbEnvelopeOf(const std::string& kind, const std::string& raw);
// A meta.v1.WatchEvent around an object that is in its envelope, and the frame around that.
std::string PbEventOf(const std::string& type, const std::string& object);
std::string PbFrameOf(const std::string& event);
// A whole answer: `kind` is "PodList".
std::string PbListOf(const std::string& kind, const std::string& resource_version,
                     const std::string& continue_token, const std::vector<std::string>& items);

}  // namespace phantomd::testing
