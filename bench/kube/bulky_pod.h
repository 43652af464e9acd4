// A pod of a service mesh as an API server sends it in protobuf: filled up with what a real one
// carries and nobody here reads, managedFields, annotations, environment and volumes of containers.
#pragma once

#include <string>
#include <string_view>

#include "agent/kube/wire_fields.h"
#include "tests/kube/pb_writer.h"

namespace phantomd::bench {

// `pod`: the message of a v1.Pod. Adds some 5 kB.
inline std::string WithBulk(std::string_view pod) {
  std::string metadata, spec, out;
  WireFields fields(pod);
  while (fields.Next()) {
    if (fields.number() == 1) metadata = fields.bytes();
    if (fields.number() == 2) spec = fields.bytes();
    if (fields.number() == 3) testing::PutBytes(3, fields.bytes(), out);
  }
  for (int i = 0; i < 4; ++i) testing::PutBytes(17, std::string(600, 'f'), metadata);
  for (int i = 0; i < 6; ++i) {
    std::string entry;
    testing::PutBytes(1, "sidecar.example.com/annotation", entry);
    testing::PutBytes(2, std::string(80, 'a'), entry);
    testing::PutBytes(12, entry, metadata);
  }
  for (int i = 0; i < 12; ++i) testing::PutBytes(1, std::string(120, 'v'), spec);
  testing::PutBytes(1, metadata, out);
  testing::PutBytes(2, spec, out);
  return out;
}

}  // namespace phantomd::bench
