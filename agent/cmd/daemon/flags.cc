#include "agent/cmd/daemon/flags.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <climits>
#include <sstream>
#include <utility>

#include "agent/base/ip_addr.h"
#include "agent/base/server_address.h"
#include "agent/base/strings.h"
#include "agent/base/utf8.h"

namespace phantomd {
namespace {

constexpr char kUsualPinDir[] = "/sys/fs/bpf/phantomd";
constexpr size_t kLongestNodeName = 253;  // a DNS subdomain, as the API server demands

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

// A flag whose value is a duration of at least `least`.
CLI::Option* AddDuration(CLI::App& app, const std::string& name, Nanos* out, Nanos least,
                         const std::string& fallback, const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [=](const std::string& text) {
            const auto duration = ParseDuration(text);
            if (!duration.ok()) {
              throw CLI::ValidationError(name, std::string(duration.status().message()));
            }
            if (*duration < least) {
              throw CLI::ValidationError(name, fmt::format("{} is too short", text));
            }
            *out = *duration;
          },
          help)
      ->option_text(fmt::format("DURATION [{}]", fallback));
}

void AddFeedFlags(CLI::App& app, Flags& flags, std::vector<std::string>& feeds) {
  app.add_option("--feed", feeds,
                 "Where pods, EndpointSlices and Nodes come from. kubernetes: the API server. "
                 "file:PATH, once per kind: what `kubectl get KIND -A -o json --watch "
                 "--output-watch-events` prints, followed as it grows. none: no pod is known")
      ->option_text("kubernetes|file:PATH|none [none]");
  app.add_option("--kubeconfig", flags.kubeconfig,
                 "Which API server and as whom, for --feed=kubernetes. Without it: that of the "
                 "cluster, with the service account of the agent's pod")
      ->option_text("PATH [in-cluster]");
  app.add_option("--kube_context", flags.kube_context, "The context of --kubeconfig to use")
      ->option_text("NAME [its current-context]");
  AddDuration(app, "--feed_probe_interval", &flags.feed_probe_interval,
              std::chrono::milliseconds(100), "1s",
              "How often the API server is asked for a sign of life beside a watch, and how long "
              "its answer may take");
  app.add_option("--pod_scope", flags.settings.pod_scope,
                 "Which pods the feed tells of: all of the cluster, or those of this node beside "
                 "the EndpointSlices of the cluster")
      ->check(CLI::IsMember({"cluster", "endpointslices"}))
      ->option_text("cluster|endpointslices [cluster]");
  app.add_option("--node_name", flags.node_name, "The Node that the agent runs on")
      ->option_text("NAME [the host's name]");
  app.add_option("--pod_cidrs", flags.settings.pod_cidrs,
                 "Address ranges of pods, beside those that Nodes tell; where they hold all of "
                 "the cluster, what lies beside them is certainly EXTERNAL")
      ->delimiter(',')
      ->check([](const std::string& text) {
        const auto range = IpPrefix::Parse(text);
        return range.ok() ? std::string() : std::string(range.status().message());
      })
      ->option_text("CIDR,... [none]");
}

void AddServeFlags(CLI::App& app, Flags& flags) {
  app.add_option("--listen", flags.listen, "Where gRPC is served: Unix sockets and TCP addresses")
      ->delimiter(',')
      ->check([](const std::string& text) {
        const auto address = ParseServerAddress(text);
        return address.ok() ? std::string() : std::string(address.status().message());
      })
      ->option_text("unix:PATH|HOST:PORT,... [unix:/run/phantomd/phantomd.sock]");
  app.add_option("--tls_cert", flags.tls_cert,
                 "PEM file: certificate for the TCP addresses, which are in clear text without it")
      ->option_text("FILE");
  app.add_option("--tls_key", flags.tls_key, "PEM file: its key")->option_text("FILE");
  app.add_option("--tls_client_ca", flags.tls_client_ca,
                 "PEM file: only clients with a certificate of this CA are served on TCP")
      ->option_text("FILE");
  app.add_option("--metrics_listen", flags.metrics_listen,
                 "Where /metrics is served over HTTP; none: nowhere")
      ->check([](const std::string& text) {
        const auto address = ParseHostPort(text);
        return text == "none" || address.ok() ? std::string()
                                              : std::string(address.status().message());
      })
      ->option_text("[HOST]:PORT|none [:9479]");
  app.add_option("--record", flags.record,
                 "File for everything that the engine is told, for `phantomctl replay`; an old one "
                 "is overwritten")
      ->option_text("FILE");
  app.add_option("--state_dir", flags.state_dir,
                 "Directory where what the agent knows outlives it, until the machine is booted "
                 "again: a restarted agent goes on from there. Without it a restart begins with "
                 "nothing")
      ->option_text("DIR [none]");
  app.add_option("--log_level", flags.log_level, "The least that is logged, on standard error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->option_text("debug|info|warning|error [info]");
}

void AddKernelFlags(CLI::App& app, Flags& flags) {
  app.add_option(
         "--pin_dir", flags.pin_dir,
         "Directory on a BPF file system where the kernel's side stays when the agent ends: "
         "a restart then loses and repeats nothing. Without it the time until the next "
         "start is a loss of unknown count")
      ->option_text("DIR [none]");
  app.add_flag("--uninstall", flags.uninstall,
               fmt::format("Remove all that an agent has left in --pin_dir ({} if not given), and "
                           "leave",
                           kUsualPinDir));
}

void AddJudgingFlags(CLI::App& app, Flags& flags) {
  constexpr Nanos kAny{0}, kSome{1};
  Settings& s = flags.settings;
  AddDuration(app, "--judgement_delay", &s.judgement_delay, kAny, "3s",
              "How long an attempt waits for news about its instant");
  AddDuration(app, "--max_hold", &s.max_hold, kAny, "60s",
              "The longest that an attempt waits for a poll or for the end of a pod");
  AddDuration(app, "--max_gap_hold", &s.max_gap_hold, kAny, "120s",
              "The longest that an attempt waits behind a broken feed");
  AddDuration(app, "--feed_delay", &s.feed_delay, kAny, "2s",
              "How old news may be when the feed brings it");
  AddDuration(app, "--typical_delay", &s.typical_delay, kAny, "100ms",
              "How old news usually is when the feed brings it");
  AddDuration(app, "--clock_error", &s.clock_error, kAny, "500ms",
              "How far the clocks of nodes may be apart");
  AddDuration(app, "--horizon", &s.horizon, kSome, "6h",
              "How far back the agent remembers who held an address");
  app.add_option("--admin_ports", flags.admin_ports,
                 "Where to look for the admin API of a proxy whose bootstrap does not tell")
      ->delimiter(',')
      ->check(CLI::Range(1, 65535))
      ->option_text("PORT,... [15000,9901,19000]");
}

Leave Wrong(const std::string& sentence) { return {2, "phantomd: " + sentence + "\n"}; }

// Everything that a flag tells may end up in an answer or a label, which are text.
std::string WhatIsNoText(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    if (!IsUtf8(argv[i])) return fmt::format("{:?} is not UTF-8 text", argv[i]);
  }
  return "";
}

// What is wrong with the flags taken together; empty: nothing.
std::string WhatContradicts(const Flags& flags) {
  if (!flags.kubeconfig.empty() && !flags.feed_kubernetes) {
    return "--kubeconfig: is of use with --feed=kubernetes alone";
  }
  if (!flags.state_dir.empty() && !flags.feed_files.empty()) {
    return "--state_dir: cannot go together with --feed=file:PATH, whose events would be told "
           "again at every start";
  }
  if (!flags.kube_context.empty() && flags.kubeconfig.empty()) {
    return "--kube_context: is the context of a --kubeconfig, and there is none";
  }
  if (flags.tls_cert.empty() != flags.tls_key.empty()) {
    return "--tls_cert and --tls_key: TLS needs both a certificate and its key";
  }
  if (!flags.tls_client_ca.empty() && flags.tls_cert.empty()) {
    return "--tls_client_ca: a client CA needs --tls_cert and --tls_key";
  }
  const bool is_name =
      !flags.node_name.empty() && flags.node_name.size() <= kLongestNodeName &&
      std::all_of(flags.node_name.begin(), flags.node_name.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
      });
  if (!is_name) {
    return fmt::format(
        "--node_name: {:?} is no Node's name: 1 to {} letters, digits, dots and dashes",
        flags.node_name, kLongestNodeName);
  }
  const Settings& s = flags.settings;
  if (s.judgement_delay > s.max_hold) {
    return "--judgement_delay: is longer than --max_hold, the longest that an attempt waits";
  }
  if (s.horizon < std::max(s.max_hold, s.max_gap_hold)) {
    return "--horizon: is shorter than --max_hold or --max_gap_hold: what attempts wait for would "
           "be forgotten before they are judged";
  }
  return "";
}

// Empty: all well. Else what is wrong.
std::string TakeFeeds(const std::vector<std::string>& feeds, Flags& flags) {
  constexpr std::string_view kFile = "file:";
  for (const std::string& feed : feeds) {
    if (feed == "none" || feed == "kubernetes") {
      if (feeds.size() > 1) return fmt::format("--feed: {} excludes every other feed", feed);
      flags.feed_kubernetes = feed == "kubernetes";
    } else if (feed.starts_with(kFile) && feed.size() > kFile.size()) {
      flags.feed_files.push_back(feed.substr(kFile.size()));
    } else {
      return fmt::format("--feed: {} is no feed: kubernetes, file:PATH or none", feed);
    }
  }
  return "";
}

}  // namespace

absl::StatusOr<Nanos> ParseDuration(std::string_view text) {
  static constexpr std::pair<std::string_view, int64_t> kUnits[] = {{"ns", 1},
                                                                    {"us", 1'000},
                                                                    {"ms", 1'000'000},
                                                                    {"s", 1'000'000'000},
                                                                    {"m", 60'000'000'000},
                                                                    {"h", 3'600'000'000'000}};
  constexpr double kMost = 10.0 * 365 * 86400 * 1e9;  // ten years, in hours below
  const absl::Status out_of_range =
      absl::InvalidArgumentError(fmt::format("\"{}\" is out of range: 0 to 87600h", text));
  const absl::Status wrong = absl::InvalidArgumentError(
      fmt::format("\"{}\" is no duration: a number and ns, us, ms, s, m or h", text));
  if (text == "0") return Nanos(0);
  double sum = 0;
  std::string_view rest = text;
  if (rest.empty()) return wrong;
  while (!rest.empty()) {
    double number = 0;
    const auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), number, std::chars_format::fixed);
    if (error == std::errc::result_out_of_range) return out_of_range;
    if (error != std::errc()) return wrong;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    const size_t letters = std::min(rest.find_first_of("0123456789."), rest.size());
    const auto* unit = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& u) {
      return u.first == rest.substr(0, letters);
    });
    if (unit == std::end(kUnits)) return wrong;
    if (number < 0) return out_of_range;
    sum += number * static_cast<double>(unit->second);
    rest.remove_prefix(letters);
  }
  if (!(sum <= kMost)) return out_of_range;
  return Nanos(static_cast<int64_t>(sum));
}

std::variant<Flags, Leave> ParseFlags(int argc, const char* const* argv) {
  CLI::App app(
      "Watches every connection that the proxies of this node open, and tells which went to "
      "addresses that were already dead, and why. Needs root and a kernel from 5.15 on with BTF.",
      "phantomd");
  app.set_version_flag("--version", std::string("phantomd " PHANTOMD_VERSION));
  app.footer(
      "Durations: 3s, 500ms, 2m, 1h30m. Exit codes: 0 stopped by a signal, 1 failed, 2 usage.");
  app.get_formatter()->column_width(34);
  Flags flags;
  flags.node_name = HostName();
  std::vector<std::string> feeds;
  AddFeedFlags(app, flags, feeds);
  AddServeFlags(app, flags);
  AddKernelFlags(app, flags);
  AddJudgingFlags(app, flags);
  if (const std::string wrong = WhatIsNoText(argc, argv); !wrong.empty()) return Wrong(wrong);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    if (app.exit(error, out, err) == 0) return Leave{0, out.str()};
    return Wrong(error.what());
  }
  if (const std::string wrong = TakeFeeds(feeds, flags); !wrong.empty()) return Wrong(wrong);
  if (const std::string wrong = WhatContradicts(flags); !wrong.empty()) return Wrong(wrong);
  if (flags.uninstall && flags.pin_dir.empty()) flags.pin_dir = kUsualPinDir;
  if (flags.metrics_listen == "none") flags.metrics_listen.clear();
  return flags;
}

}  // namespace phantomd
