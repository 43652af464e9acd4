// Judge over a real Lifecycle and Belief that have learnt of a scene.
#pragma once

#include <gtest/gtest.h>

#include "agent/verdict/verdict.h"
#include "tests/testing/scene.h"

namespace phantomd::testing {

class JudgeTest : public ::testing::Test {
 protected:
  static Lifecycle::Options Options(const Scene& scene) {
    return {.feed_delay = scene.header.settings.feed_delay,
            .typical_delay = scene.header.settings.typical_delay,
            .clock_error = scene.header.settings.clock_error};
  }
  JudgeTest() : lifecycle(Options(scene), scene.header.offset) {}

  void Learn() {
    for (const Scene::Event& event : scene.Events()) {
      const BootTime at = event.input.observed;
      if (auto* pod = std::get_if<PodChange>(&event.input.value)) lifecycle.Apply(*pod, at);
      if (auto* slice = std::get_if<SliceChange>(&event.input.value)) lifecycle.Apply(*slice, at);
      if (auto* feed = std::get_if<FeedChange>(&event.input.value)) lifecycle.Apply(*feed, at);
      if (auto* end = std::get_if<PodEnd>(&event.input.value)) lifecycle.Apply(*end, at);
      if (auto* s = std::get_if<BeliefSnapshot>(&event.input.value)) belief.Apply(*s);
    }
  }
  static Attempt To(const char* ip, double syn, double end, Outcome outcome) {
    Attempt attempt;
    attempt.initiator = Initiator::kProxy;
    attempt.destination = {Ip(ip), Scene::kPort};
    attempt.started = Seconds(syn);
    attempt.ended = Seconds(end);
    attempt.outcome = outcome;
    return attempt;
  }
  Judgement Decide(const Attempt& attempt) {
    return Judge(attempt, Scene::ProxyIdOf("webapp"), lifecycle, belief, {});
  }

  Scene scene;
  Lifecycle lifecycle;
  Belief belief;
};

}  // namespace phantomd::testing
