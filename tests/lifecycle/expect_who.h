// A table of instants and answers, one line each.
#pragma once

#include <initializer_list>
#include <string_view>

#include "gtest/gtest.h"
#include "tests/lifecycle/story.h"

namespace phantomd::testing {

struct Answer {
  double t;
  std::string_view who;
};

inline void ExpectWho(const Story& story, std::string_view ip,
                      std::initializer_list<Answer> answers) {
  for (const Answer& answer : answers) {
    EXPECT_EQ(story.Who(ip, answer.t), answer.who) << ip << " at " << answer.t;
  }
}

}  // namespace phantomd::testing
