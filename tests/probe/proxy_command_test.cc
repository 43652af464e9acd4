#include "agent/probe/proxy_command.h"

#include <gtest/gtest.h>

namespace phantomd {
namespace {

TEST(ProxyCommandTest, ExecutableNamesTheKind) {
  using Kind = ProxyProcess::Kind;
  EXPECT_EQ(KindOfExecutable("envoy"), Kind::kEnvoy);
  EXPECT_EQ(KindOfExecutable("envoy-1.30.2"), Kind::kEnvoy);
  EXPECT_EQ(KindOfExecutable("envoy.real"), Kind::kEnvoy);
  EXPECT_EQ(KindOfExecutable("ztunnel"), Kind::kZtunnel);
  EXPECT_EQ(KindOfExecutable("pilot-agent"), Kind::kAgent);
  for (const char* other : {"envoy-gateway", "envoy-ratelimit", "envoy-control-plane", "myenvoy",
                            "bash", "", "pilot-discovery", "ztunnel-test"}) {
    EXPECT_EQ(KindOfExecutable(other), std::nullopt) << other;
  }
}

TEST(ProxyCommandTest, FileNameIsWhatFollowsTheLastSlash) {
  EXPECT_EQ(FileNameOf("/usr/local/bin/envoy"), "envoy");
  EXPECT_EQ(FileNameOf("envoy"), "envoy");
  EXPECT_EQ(FileNameOf("/"), "");
}

struct CommandRow {
  std::vector<std::string> command_line;
  EnvoyOptions expected;
};

TEST(ProxyCommandTest, OptionsAreReadInEveryForm) {
  const CommandRow rows[] = {
      {{"envoy", "-c", "/etc/envoy.yaml"}, {.config_path = "/etc/envoy.yaml"}},
      {{"envoy", "--config-path", "a.json", "-l", "info"}, {.config_path = "a.json"}},
      {{"envoy", "--config-path=a.json"}, {.config_path = "a.json"}},
      {{"envoy", "--config-yaml", "admin: {a: b=c}"}, {.config_yaml = "admin: {a: b=c}"}},
      {{"envoy", "--config-yaml=admin: {a: b=c}"}, {.config_yaml = "admin: {a: b=c}"}},
      {{"envoy", "--base-id", "7", "-c", "x"}, {.config_path = "x", .base_id = 7}},
      {{"envoy", "--disable-hot-restart", "-c", "x"}, {.config_path = "x", .hot_restart = false}},
      {{"envoy", "--use-dynamic-base-id", "--base-id-path", "/run/id", "-c", "x"},
       {.config_path = "x", .dynamic_base_id = true, .base_id_path = "/run/id"}},
      {{"envoy", "--mode", "serve", "-c", "x"}, {.config_path = "x"}},
      {{"envoy", "--mode=validate", "-c", "x"}, {.config_path = "x", .serves = false}},
      {{"envoy", "--mode", "init_only"}, {.serves = false}},
      {{"envoy", "--version"}, {.serves = false}},
      {{"envoy", "--hot-restart-version", "-h", "--help"}, {.serves = false}},
      // A value that looks like an option is a value.
      {{"envoy", "--base-id", "-c", "-c", "x"}, {.config_path = "x"}},
      {{"envoy", "-c"}, {}},
      {{"envoy"}, {}},
      {{}, {}},
  };
  for (const CommandRow& row : rows) {
    std::string shown;
    for (const std::string& word : row.command_line) shown += word + " ";
    EXPECT_EQ(ParseEnvoyOptions(row.command_line), row.expected) << shown;
  }
}

}  // namespace
}  // namespace phantomd
