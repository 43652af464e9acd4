// Names of the enums that people meet in counts, filters and JSON: literally the value names of
// proto/phantom/v1/types.proto, so that every edge prints the same.
//
// A value outside the enum is "UNRECOGNIZED".
#pragma once

#include <string_view>

#include "agent/belief/snapshot.h"
#include "agent/lifecycle/departure.h"
#include "agent/verdict/attempt.h"
#include "agent/verdict/names.h"
#include "agent/verdict/verdict.h"

namespace phantomd {

// What a verdict is made of has its names beside it.
inline std::string_view Name(Outcome value) { return NameOf(value); }
inline std::string_view Name(DestinationClass value) { return NameOf(value); }
inline std::string_view Name(Cause value) { return NameOf(value); }
inline std::string_view Name(Layer value) { return NameOf(value); }
inline std::string_view Name(Initiator value) { return NameOf(value); }
inline std::string_view Name(ConnectionEnd::How value) { return NameOf(value); }

std::string_view Name(Certainty value);
std::string_view Name(UnknownReason value);
std::string_view Name(Departure value);

}  // namespace phantomd
