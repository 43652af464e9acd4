#include "tests/kube/pb_writer.h"

#include <simdjson.h>
#include <time.h>

#include <map>

#include "agent/base/check.h"

namespace phantomd::testing {
namespace {

namespace dom = simdjson::dom;

// What a field holds: a basic type or another message of the schema.
struct FieldOf {
  uint32_t number;
  std::string type;  // "text", "number", "bool", "time", "map", "message:<name>"
  bool repeated = false;
};
using MessageOf = std::map<std::string, FieldOf>;

const std::map<std::string, MessageOf>& Schema() {
  static const std::map<std::string, MessageOf> schema = {
      {"Pod",
       {{"metadata", {1, "message:ObjectMeta"}},
        {"spec", {2, "message:PodSpec"}},
        {"status", {3, "message:PodStatus"}}}},
      {"ObjectMeta",
       {{"name", {1, "text"}},
        {"generateName", {2, "text"}},
        {"namespace", {3, "text"}},
        {"uid", {5, "text"}},
        {"resourceVersion", {6, "text"}},
        {"generation", {7, "number"}},
        {"creationTimestamp", {8, "time"}},
        {"deletionTimestamp", {9, "time"}},
        {"deletionGracePeriodSeconds", {10, "number"}},
        {"labels", {11, "map"}},
        {"annotations", {12, "map"}},
        {"ownerReferences", {13, "message:OwnerReference", true}}}},
      {"OwnerReference",
       {{"kind", {1, "text"}},
        {"name", {3, "text"}},
        {"uid", {4, "text"}},
        {"apiVersion", {5, "text"}},
        {"controller", {6, "bool"}},
        {"blockOwnerDeletion", {7, "bool"}}}},
      {"PodSpec",
       {{"containers", {2, "message:Container", true}},
        {"serviceAccountName", {8, "text"}},
        {"nodeName", {10, "text"}},
        {"hostNetwork", {11, "bool"}},
        {"initContainers", {20, "message:Container", true}}}},
      {"Container",
       {{"name", {1, "text"}}, {"image", {2, "text"}}, {"restartPolicy", {24, "text"}}}},
      {"PodStatus",
       {{"phase", {1, "text"}},
        {"conditions", {2, "message:Condition", true}},
        {"message", {3, "text"}},
        {"reason", {4, "text"}},
        {"hostIP", {5, "text"}},
        {"podIP", {6, "text"}},
        {"startTime", {7, "time"}},
        {"containerStatuses", {8, "message:ContainerStatus", true}},
        {"qosClass", {9, "text"}},
        {"initContainerStatuses", {10, "message:ContainerStatus", true}},
        {"podIPs", {12, "message:PodIP", true}},
        {"ephemeralContainerStatuses", {13, "message:ContainerStatus", true}}}},
      {"PodIP", {{"ip", {1, "text"}}}},
      {"Condition",
       {{"type", {1, "text"}}, {"status", {2, "text"}}, {"lastHeartbeatTime", {3, "time"}}}},
      {"ContainerStatus",
       {{"name", {1, "text"}},
        {"state", {2, "message:ContainerState"}},
        {"lastState", {3, "message:ContainerState"}},
        {"ready", {4, "bool"}},
        {"restartCount", {5, "number"}},
        {"image", {6, "text"}}}},
      {"ContainerState",
       {{"waiting", {1, "message:Waiting"}},
        {"running", {2, "message:Running"}},
        {"terminated", {3, "message:Terminated"}}}},
      {"Waiting", {{"reason", {1, "text"}}}},
      {"Running", {{"startedAt", {1, "time"}}}},
      {"Terminated",
       {{"exitCode", {1, "number"}},
        {"reason", {3, "text"}},
        {"startedAt", {5, "time"}},
        {"finishedAt", {6, "time"}}}},
      {"EndpointSlice",
       {{"metadata", {1, "message:ObjectMeta"}},
        {"endpoints", {2, "message:Endpoint", true}},
        {"ports", {3, "message:EndpointPort", true}},
        {"addressType", {4, "text"}}}},
      {"Endpoint",
       {{"addresses", {1, "text", true}},
        {"conditions", {2, "message:EndpointConditions"}},
        {"hostname", {3, "text"}},
        {"targetRef", {4, "message:ObjectReference"}},
        {"nodeName", {6, "text"}},
        {"zone", {7, "text"}}}},
      {"EndpointConditions",
       {{"ready", {1, "bool"}}, {"serving", {2, "bool"}}, {"terminating", {3, "bool"}}}},
      {"ObjectReference",
       {{"kind", {1, "text"}},
        {"namespace", {2, "text"}},
        {"name", {3, "text"}},
        {"uid", {4, "text"}}}},
      {"EndpointPort", {{"name", {1, "text"}}, {"protocol", {2, "text"}}, {"port", {3, "number"}}}},
      {"Node",
       {{"metadata", {1, "message:ObjectMeta"}},
        {"spec", {2, "message:NodeSpec"}},
        {"status", {3, "message:NodeStatus"}}}},
      {"NodeSpec",
       {{"podCIDR", {1, "text"}}, {"providerID", {3, "text"}}, {"podCIDRs", {7, "text", true}}}},
      {"NodeStatus",
       {{"phase", {3, "text"}},
        {"conditions", {4, "message:Condition", true}},
        {"addresses", {5, "message:NodeAddress", true}}}},
      {"NodeAddress", {{"type", {1, "text"}}, {"address", {2, "text"}}}},
      {"Status",
       {{"status", {2, "text"}},
        {"message", {3, "text"}},
        {"reason", {4, "text"}},
        {"details", {5, "message:StatusDetails"}},
        {"code", {6, "number"}}}},
      {"StatusDetails", {{"kind", {3, "text"}}, {"retryAfterSeconds", {5, "number"}}}},
  };
  return schema;
}

bool Write(const std::string& message, dom::object object, std::string& out);

bool WriteValue(const FieldOf& field, dom::element value, std::string& out) {
  constexpr std::string_view kMessage = "message:";
  std::string_view text;
  if (field.type == "text") {
    if (value.get(text) != simdjson::SUCCESS) return false;
    PutBytes(field.number, text, out);
  } else if (field.type == "number") {
    int64_t number = 0;
    if (value.get(number) != simdjson::SUCCESS) return false;
    PutNumber(field.number, static_cast<uint64_t>(number), out);
  } else if (field.type == "bool") {
    bool truth = false;
    if (value.get(truth) != simdjson::SUCCESS) return false;
    PutNumber(field.number, truth ? 1 : 0, out);
  } else if (field.type == "time") {
    struct tm parts {};
    if (value.get(text) != simdjson::SUCCESS) return false;
    if (strptime(std::string(text).c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr) return false;
    std::string time;
    PutNumber(1, static_cast<uint64_t>(timegm(&parts)), time);
    PutNumber(2, 0, time);
    PutBytes(field.number, time, out);
  } else if (field.type == "map") {
    dom::object entries;
    if (value.get(entries) != simdjson::SUCCESS) return false;
    for (const auto& [key, element] : entries) {
      if (element.get(text) != simdjson::SUCCESS) return false;
      std::string entry;
      PutBytes(1, key, entry);
      PutBytes(2, text, entry);
      PutBytes(field.number, entry, out);
    }
  } else {
    dom::object object;
    std::string inside;
    if (value.get(object) != simdjson::SUCCESS) return false;
    if (!Write(field.type.substr(kMessage.size()), object, inside)) return false;
    PutBytes(field.number, inside, out);
  }
  return true;
}

bool Write(const std::string& message, dom::object object, std::string& out) {
  const MessageOf& fields = Schema().at(message);
  for (const auto& [key, value] : object) {
    const auto field = fields.find(std::string(key));
    if (value.is_null()) continue;
    if (field == fields.end()) {
      // The reader does not know every field that there is.
      PutNumber(900, 7, out);
      PutBytes(901, simdjson::minify(value), out);
      continue;
    }
    if (!field->second.repeated) {
      if (!WriteValue(field->second, value, out)) return false;
      continue;
    }
    dom::array array;
    if (value.get(array) != simdjson::SUCCESS) return false;
    for (const dom::element element : array) {
      if (!WriteValue(field->second, element, out)) return false;
    }
  }
  return true;
}

}  // namespace

void PutVarint(uint64_t value, std::string& out) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void PutNumber(uint32_t field, uint64_t value, std::string& out) {
  PutVarint(uint64_t{field} << 3, out);
  PutVarint(value, out);
}

void PutBytes(uint32_t field, std::string_view bytes, std::string& out) {
  PutVarint(uint64_t{field} << 3 | 2, out);
  PutVarint(bytes.size(), out);
  out += bytes;
}

std::optional<std::string> PbFromJson(const std::string& kind, const std::string& json) {
  dom::parser parser;
  dom::object object;
  PHANTOMD_CHECK(parser.parse(json).get(object) == simdjson::SUCCESS);
  std::string out;
  if (!Write(kind, object, out)) return std::nullopt;
  return out;
}

std::string PbEnvelopeOf(const std::string& kind, const std::string& raw) {
  std::string type_meta;
  PutBytes(1, "v1", type_meta);
  PutBytes(2, kind, type_meta);
  std::string out("k8s\0", 4);
  PutBytes(1, type_meta, out);
  PutBytes(2, raw, out);
  PutBytes(3, "", out);
  PutBytes(4, "", out);
  return out;
}

std::string PbEventOf(const std::string& type, const std::string& object) {
  std::string extension;
  PutBytes(1, object, extension);
  std::string out;
  PutBytes(1, type, out);
  PutBytes(2, extension, out);
  return out;
}

std::string PbFrameOf(const std::string& event) {
  std::string out;
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(event.size() >> shift & 0xff);
  return out + event;
}

std::string PbListOf(const std::string& kind, const std::string& resource_version,
                     const std::string& continue_token, const std::vector<std::string>& items) {
  std::string metadata;
  PutBytes(1, "", metadata);
  PutBytes(2, resource_version, metadata);
  PutBytes(3, continue_token, metadata);
  std::string list;
  PutBytes(1, metadata, list);
  for (const std::string& item : items) PutBytes(2, item, list);
  return PbEnvelopeOf(kind, list);
}

}  // namespace phantomd::testing
