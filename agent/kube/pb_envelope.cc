#include "agent/kube/pb_envelope.h"

#include <fmt/format.h>

#include "agent/kube/pb_object.h"

namespace phantomd {
namespace {

constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";

}  // namespace

absl::StatusOr<PbEnvelope> OpenPbEnvelope(std::string_view bytes) {
  if (!bytes.starts_with(kPbMagic)) {
    return absl::InvalidArgumentError("no protobuf of Kubernetes: it does not begin with \"k8s\"");
  }
  namespace fields = pb_unknown;
  absl::Status error;
  const PbObject unknown(bytes.substr(kPbMagic.size()), &error);
  PbEnvelope out;
  out.kind = unknown.Object(fields::kTypeMeta).Text(fields::kKind);
  out.raw = unknown.Bytes(fields::kRaw);
  if (const std::string_view encoding = unknown.Text(fields::kContentEncoding); !encoding.empty()) {
    unknown.Fail(fields::kContentEncoding, fmt::format("\"{}\" is not known", encoding));
  }
  const std::string_view type = unknown.Text(fields::kContentType);
  if (!type.empty() && type != kProtobuf) {
    unknown.Fail(fields::kContentType, fmt::format("\"{}\" is not known", type));
  }
  if (!error.ok()) return error;
  return out;
}

}  // namespace phantomd
