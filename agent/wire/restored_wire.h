// Restored <-> phantom.v1.Restored: what one engine concluded, for the next. Part of input_wire.
//
// Pure functions.
#pragma once

#include "agent/engine/restored.h"
#include "agent/wire/field_path.h"
#include "phantom/v1/recording.pb.h"

namespace phantomd {

void Encode(const Attempt& attempt, phantom::v1::Attempt* out);
void Encode(const ConnectionEnd& end, phantom::v1::ConnectionEnd* out);
void Encode(const Restored& restored, phantom::v1::Restored* out);

Attempt Decode(const phantom::v1::Attempt& message, const FieldPath& path);
ConnectionEnd Decode(const phantom::v1::ConnectionEnd& message, const FieldPath& path);
Restored Decode(const phantom::v1::Restored& message, const FieldPath& path);

}  // namespace phantomd
