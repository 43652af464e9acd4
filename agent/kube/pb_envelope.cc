#include "agent/kube/pb_envelope.h"

#include <fmt/format.h>

#include "agent/kube/pb_object.h"

namespace phantomd {
namespace {

constexpr ApiField kTypeMeta{"typeMeta", kUnknownTypeMeta};
constexpr ApiField kRaw{"raw", kUnknownRaw};
constexpr ApiField kContentEncoding{"contentEncoding", 3};
constexpr ApiField kContentType{"contentType", 4};
// Not as in meta.v1.TypeMeta, where the two are the other way round.
constexpr ApiField kKind{"kind", 2};

constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";

}  // namespace

absl::StatusOr<PbEnvelope> OpenPbEnvelope(std::string_view bytes) {
  if (!bytes.starts_with(kPbMagic)) {
    return absl::InvalidArgumentError("no protobuf of Kubernetes: it does not begin with \"k8s\"");
  }
  absl::Status error;
  const PbObject unknown(bytes.substr(kPbMagic.size()), &error);
  PbEnvelope out;
  out.kind = unknown.Object(kTypeMeta).Text(kKind);
  out.raw = unknown.Bytes(kRaw);
  if (const std::string_view encoding = unknown.Text(kContentEncoding); !encoding.empty()) {
    unknown.Fail(kContentEncoding, fmt::format("\"{}\" is not known", encoding));
  }
  const std::string_view type = unknown.Text(kContentType);
  if (!type.empty() && type != kProtobuf) {
    unknown.Fail(kContentType, fmt::format("\"{}\" is not known", type));
  }
  if (!error.ok()) return error;
  return out;
}

}  // namespace phantomd
