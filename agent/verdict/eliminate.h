// Eliminate: the verdict as a pure function of values. Judge gathers the values and adds who held
// the address when the outcome came.
#pragma once

#include "agent/verdict/evidence.h"
#include "agent/verdict/verdict.h"

namespace phantomd {

Judgement Eliminate(const Attempt& attempt, const Evidence& evidence, const JudgeContext& context);

}  // namespace phantomd
