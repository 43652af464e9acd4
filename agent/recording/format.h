// The format of a recording: what RecordWriter writes and RecordingReader reads.
//
//   recording := record*
//   record    := length input
//   length    := the number of bytes of `input` as a base-128 varint, low bits first, at most 4
//   bytes input     := a phantom.v1.Input (proto/phantom/v1/recording.proto)
//
// There is no magic, no index and no checksum: a recording may be cut off at any byte, concatenated
// from parts, or written down a pipe, and every whole record before the cut still counts. The first
// input is the Header, which names the format's version; there is exactly one. Inputs follow in the
// order in which the engine applied them.
//
// Example: a ClockChange at 5 ns is  04 08 05 6a 00  (length 4; field 1 = 5; field 13 = empty).
#pragma once

#include <cstddef>

namespace phantomd {

// A record longer than this is rubbish. The longest real one is a whole belief: 100,000 endpoints
// of about 100 bytes.
inline constexpr size_t kMaxRecordBytes = 64 << 20;

inline constexpr int kMaxLengthBytes = 4;  // 4 x 7 bits hold kMaxRecordBytes

static_assert(kMaxRecordBytes < (size_t{1} << (7 * kMaxLengthBytes)));

}  // namespace phantomd
