// Names of what a verdict is made of, as people and the query API read them.
#pragma once

#include <string_view>

#include "agent/verdict/attempt.h"
#include "agent/verdict/verdict.h"

namespace phantomd {

std::string_view NameOf(DestinationClass value);
std::string_view NameOf(Cause value);
std::string_view NameOf(Layer value);
std::string_view NameOf(Outcome value);
std::string_view NameOf(Initiator value);
std::string_view NameOf(ConnectionEnd::How value);

}  // namespace phantomd
