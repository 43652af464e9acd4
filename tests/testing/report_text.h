// A Report, a connection, an explanation as text, every field of it, for comparing two runs byte by
// byte.
#pragma once

#include <string>

#include "agent/engine/address_explanation.h"
#include "agent/engine/report.h"

namespace phantomd::testing {

std::string TextOf(const Connection& connection);
std::string TextOf(const Report& report);
std::string TextOf(const AddressExplanation& explanation);

}  // namespace phantomd::testing
