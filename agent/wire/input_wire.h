// Input <-> phantom.v1.Input: the engine's dated values and the messages that recordings and the
// store are made of.
//
// Encoding always succeeds. The fields of a message are those of the value of the same name;
// an address that is not set is no bytes, text that is not UTF-8 gets U+FFFD in place of each byte
// that does not belong (a proto3 string with such a byte could be written but never read again).
//
// Decoding trusts nothing: an enum value, address length, port, duration or address range that the
// format does not allow is an error that names the field, as in
//   belief.clusters[3].endpoints[0].port: 70000 is more than 65535
// What is decoded without an error encodes to the same message again, but for unknown fields and
// 4-byte addresses, which become 16.
//
// Pure functions.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "agent/engine/input.h"
#include "phantom/v1/recording.pb.h"

namespace phantomd {

// Replaces what is in `out`.
void EncodeInput(const Input& input, phantom::v1::Input* out);

// Appends a message as files hold one behind the other: its length as a varint, then itself.
void AppendDelimited(const phantom::v1::Input& message, std::string* out);

absl::StatusOr<Input> DecodeInput(const phantom::v1::Input& message);

}  // namespace phantomd
