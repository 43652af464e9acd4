#include "agent/probe/io_uring_tracepoint.h"

#include <bpf/btf.h>

#include <memory>

namespace phantomd {
namespace {

struct FreeBtf {
  void operator()(btf* types) const { btf__free(types); }
};

bool IsPointer(const btf* types, uint32_t id) { return btf_is_ptr(btf__type_by_id(types, id)); }

}  // namespace

IoUringTracepoint ReadIoUringTracepoint(const std::string& btf_path) {
  const std::unique_ptr<btf, FreeBtf> types(btf__parse(btf_path.c_str(), nullptr));
  if (types == nullptr) return IoUringTracepoint::kBlind;
  // typedef void (*btf_trace_io_uring_complete)(void* data, ring, request, ...)
  const int id =
      btf__find_by_name_kind(types.get(), "btf_trace_io_uring_complete", BTF_KIND_TYPEDEF);
  if (id < 0) return IoUringTracepoint::kNone;
  const btf_type* type = btf__type_by_id(types.get(), id);
  type = btf__type_by_id(types.get(), type->type);
  if (!btf_is_ptr(type)) return IoUringTracepoint::kBlind;
  type = btf__type_by_id(types.get(), type->type);
  if (!btf_is_func_proto(type)) return IoUringTracepoint::kBlind;
  const btf_param* parameters = btf_params(type);
  const int count = btf_vlen(type);
  if (count < 4 || !IsPointer(types.get(), parameters[2].type)) return IoUringTracepoint::kBlind;
  if (count == 4 && IsPointer(types.get(), parameters[3].type)) return IoUringTracepoint::kEntry;
  return count > 4 ? IoUringTracepoint::kResult : IoUringTracepoint::kBlind;
}

}  // namespace phantomd
