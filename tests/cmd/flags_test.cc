#include "agent/cmd/daemon/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::variant<Flags, Leave> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "phantomd");
  return ParseFlags(static_cast<int>(arguments.size()), arguments.data());
}

Flags Parsed(const std::vector<const char*>& arguments) {
  auto parsed = Parse(arguments);
  if (const auto* leave = std::get_if<Leave>(&parsed)) {
    ADD_FAILURE() << leave->text;
    return {};
  }
  return std::get<Flags>(parsed);
}

TEST(FlagsTest, DefaultsAreThoseThatTheHelpPrints) {
  const Flags flags = Parsed({});
  EXPECT_EQ(flags.settings, Settings());
  EXPECT_TRUE(flags.feed_files.empty());
  EXPECT_THAT(flags.listen, ElementsAre("unix:/run/phantomd/phantomd.sock"));
  EXPECT_EQ(flags.metrics_listen, ":9479");
  EXPECT_THAT(flags.admin_ports, ElementsAre(15000, 9901, 19000));
  EXPECT_NE(flags.node_name, "");
  EXPECT_EQ(flags.record, "");
  EXPECT_EQ(flags.pin_dir, "");
  EXPECT_FALSE(flags.uninstall);
  const auto help = Parse({"--help"});
  for (const char* text : {"[3s]", "[60s]", "[120s]", "[2s]", "[100ms]", "[500ms]", "[6h]",
                           "[:9479]", "[15000,9901,19000]", "[cluster]"}) {
    EXPECT_THAT(std::get<Leave>(help).text, HasSubstr(text));
  }
}

TEST(FlagsTest, EveryFlagReachesItsSetting) {
  const Flags flags = Parsed({"--feed=file:/f/pods.json",
                              "--feed",
                              "file:/f/slices.json",
                              "--pod_scope=endpointslices",
                              "--node_name=n1",
                              "--listen=unix:/a.sock,127.0.0.1:1",
                              "--tls_cert=c",
                              "--tls_key=k",
                              "--tls_client_ca=ca",
                              "--metrics_listen=none",
                              "--admin_ports=1,65535",
                              "--judgement_delay=1s",
                              "--max_hold=2s",
                              "--max_gap_hold=3s",
                              "--feed_delay=4s",
                              "--typical_delay=5ms",
                              "--clock_error=6ms",
                              "--pod_cidrs=10.0.0.0/8,fd00::/64",
                              "--horizon=1h30m",
                              "--record=/r",
                              "--pin_dir=/sys/fs/bpf/p",
                              "--log_level=debug"});
  EXPECT_THAT(flags.feed_files, ElementsAre("/f/pods.json", "/f/slices.json"));
  EXPECT_EQ(flags.node_name, "n1");
  EXPECT_THAT(flags.listen, ElementsAre("unix:/a.sock", "127.0.0.1:1"));
  EXPECT_EQ(flags.tls_cert + flags.tls_key + flags.tls_client_ca, "ckca");
  EXPECT_EQ(flags.metrics_listen, "");
  EXPECT_THAT(flags.admin_ports, ElementsAre(1, 65535));
  EXPECT_EQ(Parsed({"--metrics_listen=[::1]:9479"}).metrics_listen, "[::1]:9479");
  EXPECT_EQ(Parsed({"--metrics_listen=:0"}).metrics_listen, ":0");
  EXPECT_THAT(Parsed({"--listen=[::1]:0"}).listen, ElementsAre("[::1]:0"));
  const Settings expected{.judgement_delay = std::chrono::seconds(1),
                          .max_hold = std::chrono::seconds(2),
                          .max_gap_hold = std::chrono::seconds(3),
                          .feed_delay = std::chrono::seconds(4),
                          .typical_delay = std::chrono::milliseconds(5),
                          .clock_error = std::chrono::milliseconds(6),
                          .horizon = std::chrono::minutes(90),
                          .pod_scope = "endpointslices",
                          .pod_cidrs = {"10.0.0.0/8", "fd00::/64"}};
  EXPECT_EQ(flags.settings, expected);
  EXPECT_EQ(flags.record, "/r");
  EXPECT_EQ(flags.pin_dir, "/sys/fs/bpf/p");
  EXPECT_FALSE(flags.uninstall);
  EXPECT_EQ(flags.log_level, "debug");
}

TEST(FlagsTest, TheApiServerIsThatOfAKubeconfigOrOfTheCluster) {
  const Flags in_cluster = Parsed({"--feed=kubernetes"});
  EXPECT_TRUE(in_cluster.feed_kubernetes);
  EXPECT_EQ(in_cluster.kubeconfig, "");
  EXPECT_EQ(in_cluster.feed_probe_interval, std::chrono::seconds(1));
  const Flags flags = Parsed({"--feed=kubernetes", "--kubeconfig=/k", "--kube_context=prod",
                              "--feed_probe_interval=500ms"});
  EXPECT_EQ(flags.kubeconfig, "/k");
  EXPECT_EQ(flags.kube_context, "prod");
  EXPECT_EQ(flags.feed_probe_interval, std::chrono::milliseconds(500));
}

TEST(FlagsTest, UninstallNeedsNoDirectory) {
  EXPECT_TRUE(Parsed({"--uninstall"}).uninstall);
  EXPECT_EQ(Parsed({"--uninstall"}).pin_dir, "/sys/fs/bpf/phantomd");
  EXPECT_EQ(Parsed({"--uninstall", "--pin_dir=/p"}).pin_dir, "/p");
}

TEST(FlagsTest, WrongOnesAreNamedAndExitTwo) {
  const struct {
    std::vector<const char*> arguments;
    const char* named;
  } kCases[] = {
      {{"--feed=konsole"}, "--feed: konsole is no feed: kubernetes, file:PATH or none"},
      {{"--feed=file:"}, "--feed: file: is no feed"},
      {{"--feed=kubernetes", "--feed=file:/x"}, "--feed: kubernetes excludes every other feed"},
      {{"--kubeconfig=/k"}, "--kubeconfig: is of use with --feed=kubernetes alone"},
      {{"--state_dir=/s", "--feed=file:pods.json"},
       "--state_dir: cannot go together with --feed=file:PATH"},
      {{"--feed=kubernetes", "--kube_context=c"},
       "--kube_context: is the context of a --kubeconfig"},
      {{"--feed_probe_interval=1ms"}, "--feed_probe_interval: 1ms is too short"},
      {{"--feed=none", "--feed=file:/x"}, "--feed: none excludes every other feed"},
      {{"--max_hold=soon"}, "--max_hold: \"soon\" is no duration"},
      {{"--max_hold=-1s"}, "--max_hold: \"-1s\" is out of range: 0 to 87600h"},
      {{"--horizon=1000000h"}, "--horizon: \"1000000h\" is out of range: 0 to 87600h"},
      {{"--horizon=1ns"}, "--horizon: is shorter than --max_hold or --max_gap_hold"},
      {{"--max_gap_hold=7h"}, "--horizon: is shorter than --max_hold or --max_gap_hold"},
      {{"--judgement_delay=100h"}, "--judgement_delay: is longer than --max_hold"},
      {{"--listen=127.0.0.1:99999"}, "--listen: \"127.0.0.1:99999\": a port is a number from 0"},
      {{"--listen=unix:/a,127.0.0.1:abc"}, "--listen: \"127.0.0.1:abc\": a port is a number"},
      {{"--listen=foo"}, "--listen: \"foo\": not of the form HOST:PORT"},
      {{"--listen", ""}, "--listen: \"\": not of the form HOST:PORT"},
      {{"--listen=::1:5555"}, "--listen: \"::1:5555\": an IPv6 address stands in brackets"},
      {{"--listen=unix:"}, "--listen: \"unix:\": a socket's path has 1 to 107 bytes"},
      {{"--metrics_listen=:99999"}, "--metrics_listen: \":99999\": a port is a number from 0"},
      {{"--metrics_listen=nowhere"}, "--metrics_listen: \"nowhere\": not of the form HOST:PORT"},
      {{"--metrics_listen", ""}, "--metrics_listen: \"\": not of the form HOST:PORT"},
      {{"--tls_cert=c"}, "--tls_cert and --tls_key: TLS needs both a certificate and its key"},
      {{"--tls_key=k"}, "--tls_cert and --tls_key: TLS needs both a certificate and its key"},
      {{"--tls_client_ca=ca"}, "--tls_client_ca: a client CA needs --tls_cert and --tls_key"},
      {{"--node_name", ""}, "--node_name: \"\" is no Node's name"},
      {{"--node_name=a\nb"}, "is no Node's name"},
      {{"--node_name=\xff"}, "\"--node_name=\\xff\" is not UTF-8 text"},
      {{"--record", "/r\xff"}, "\"/r\\xff\" is not UTF-8 text"},
      {{"--horizon=0"}, "--horizon: 0 is too short"},
      {{"--pod_cidrs=10.0.0.0/99"}, "--pod_cidrs: not an address range: \"10.0.0.0/99\""},
      {{"--pod_cidrs=10.0.0.0/8,here"}, "--pod_cidrs: not an address range: \"here\""},
      {{"--admin_ports=0"}, "--admin_ports"},
      {{"--admin_ports=70000"}, "--admin_ports"},
      {{"--pod_scope=node"}, "--pod_scope"},
      {{"--log_level=loud"}, "--log_level"},
      {{"--haunt"}, "--haunt"},
      {{"stray"}, "stray"},
  };
  for (const auto& c : kCases) {
    const auto parsed = Parse(c.arguments);
    ASSERT_TRUE(std::holds_alternative<Leave>(parsed)) << c.named;
    EXPECT_EQ(std::get<Leave>(parsed).code, 2) << c.named;
    const std::string& text = std::get<Leave>(parsed).text;
    EXPECT_THAT(text, HasSubstr(c.named));
    EXPECT_THAT(text, ::testing::StartsWith("phantomd: "));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  }
}

TEST(FlagsTest, VersionIsExitZero) {
  const auto parsed = Parse({"--version"});
  EXPECT_EQ(std::get<Leave>(parsed).code, 0);
  EXPECT_THAT(std::get<Leave>(parsed).text, ::testing::StartsWith("phantomd "));
}

TEST(DurationTest, TakesEveryUnitAndSums) {
  const struct {
    const char* text;
    int64_t nanos;
  } kCases[] = {{"0", 0},
                {"0s", 0},
                {"7ns", 7},
                {"2us", 2'000},
                {"500ms", 500'000'000},
                {"1.5s", 1'500'000'000},
                {"2m", 120'000'000'000},
                {"6h", 21'600'000'000'000},
                {"1h30m", 5'400'000'000'000}};
  for (const auto& c : kCases) {
    const auto duration = ParseDuration(c.text);
    ASSERT_TRUE(duration.ok()) << c.text;
    EXPECT_EQ(duration->count(), c.nanos) << c.text;
  }
  for (const char* text :
       {"", "3", "s", "3 s", "3sec", "-3s", "1e3s", "nans", "infs", "99999999h", "3s4"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
}

}  // namespace
}  // namespace phantomd
