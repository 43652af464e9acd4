// The envelope in which the API server puts each object in protobuf: the bytes "k8s\0", then a
// runtime.Unknown with the object's kind and the object itself.
//
// Pure.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "agent/kube/api_fields.h"

namespace phantomd {

inline constexpr std::string_view kPbMagic{"k8s\0", 4};

struct PbEnvelope {
  std::string_view kind;  // "Pod", "PodList", "Status"
  std::string_view raw;   // the object's message; both are parts of the bytes that were opened
};

// The error is one clause: no magic, no protobuf, an encoding or a content type that is not known.
absl::StatusOr<PbEnvelope> OpenPbEnvelope(std::string_view bytes);

// The fields of runtime.Unknown, for who reads a list as it comes too.
namespace pb_unknown {
inline constexpr ApiField kTypeMeta{"typeMeta", 1};
inline constexpr ApiField kRaw{"raw", 2};
inline constexpr ApiField kContentEncoding{"contentEncoding", 3};
inline constexpr ApiField kContentType{"contentType", 4};
// In its TypeMeta: not as in meta.v1.TypeMeta, where the two are the other way round.
inline constexpr ApiField kKind{"kind", 2};
}  // namespace pb_unknown

}  // namespace phantomd
