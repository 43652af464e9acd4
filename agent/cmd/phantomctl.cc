// phantomctl asks agents, and replays what they recorded.

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/stubs/logging.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/server_address.h"
#include "agent/base/utf8.h"
#include "agent/cmd/ctl/commands.h"
#include "agent/cmd/ctl/output.h"

namespace {

using phantomd::CommandOptions;
using phantomd::Format;

Format FormatOf(const std::string& name) {
  static const std::map<std::string, Format> kFormats = {{"table", Format::kTable},
                                                         {"wide", Format::kWide},
                                                         {"json", Format::kJson},
                                                         {"yaml", Format::kYaml}};
  const auto found = kFormats.find(name);
  if (found == kFormats.end()) {
    throw CLI::ValidationError("--output",
                               fmt::format("\"{}\" is no format: table, wide, json or yaml", name));
  }
  return found->second;
}

void AddGlobalOptions(CLI::App& app, CommandOptions& options) {
  options.agents.addresses = {"unix:/run/phantomd/phantomd.sock"};
  app.add_option("--address", options.agents.addresses,
                 "Agents to ask, unix:/PATH or HOST:PORT; several are merged, and a name with "
                 "several addresses is as many agents")
      ->delimiter(',')
      ->allow_extra_args(false)  // what follows one address is the command's
      ->check([](const std::string& text) {
        const auto address = phantomd::ParseServerAddress(text);
        if (!address.ok()) return std::string(address.status().message());
        const bool nowhere = !address->is_unix() && address->tcp.port == 0;
        return nowhere ? fmt::format("\"{}\": no agent is at port 0", text) : std::string();
      })
      ->capture_default_str();
  app.add_option_function<std::string>(
         "-o,--output", [&options](const std::string& name) { options.format = FormatOf(name); },
         "How to print the answer")
      ->option_text("table|wide|json|yaml [table]");
  app.add_option("--tls_ca", options.agents.tls_ca,
                 "PEM file: the CA of the agents at HOST:PORT; without it they are asked in clear "
                 "text");
  app.add_option("--tls_cert", options.agents.tls_cert, "PEM file: certificate to show to agents");
  app.add_option("--tls_key", options.agents.tls_key, "PEM file: its key");
  app.add_option_function<double>(
         "--timeout",
         [&options](double seconds) {
           // Written so that it refuses what is no number, too.
           if (!(seconds >= 0.001 && seconds <= 3600)) {
             throw CLI::ValidationError("--timeout", "is 0.001 to 3600 seconds");
           }
           options.agents.timeout = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
         },
         "Seconds to wait for each answer")
      ->option_text("SECONDS [10]");
}

using Command = std::function<int(const CommandOptions&)>;

// Every subcommand, with what it runs.
void AddCommands(CLI::App& app, CommandOptions& options, Command* chosen) {
  const auto add = [&](const char* name, const char* help, Command command) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->callback([chosen, command] { *chosen = command; });
    return sub;
  };
  add("status", "What the agent sees, and how much of it can be trusted", phantomd::CommandStatus);
  add("proxies", "The proxies of the node, what they believe and how many phantoms they caused",
      phantomd::CommandProxies);
  CLI::App* rollouts =
      add("rollouts", "Changes of workloads, newest first", phantomd::CommandRollouts);
  rollouts->add_option("--filter", options.filter,
                       "namespace=NS workload=NAME kind=KIND departure=ROLLOUT");
  CLI::App* rollout =
      add("rollout", "One change, with the window of each proxy", phantomd::CommandRollout);
  rollout->add_option("NAME", options.rollout, "As `phantomctl rollouts` names it")->required();

  CLI::App* connections = add(
      "connections", "Connections to withdrawn, dead or reused addresses, newest first", nullptr);
  connections->add_option(
      "--filter", options.filter,
      "class=DEAD proxy=NAME rollout=NAME cause=STALE_EDS layer=L4 outcome=ABANDONED "
      "initiator=PROXY certainty=CERTAIN; all must hold, a key given twice may have either value");
  CLI::Option* follow =
      connections->add_flag("-f,--follow", options.follow, "Go on as they are judged");
  connections->add_option("--limit", options.limit, "How many at most; 0: all")
      ->capture_default_str()
      ->excludes(follow);
  connections->add_option("--since", options.since, "Only SYNs from this time on")
      ->excludes(follow);
  connections->add_option("--until", options.until, "Only SYNs before this time")->excludes(follow);
  connections->callback([chosen, &options] {
    *chosen = options.follow ? phantomd::CommandFollowConnections : phantomd::CommandConnections;
  });

  add("stale", "Endpoints that a proxy believes in although they are withdrawn or dead",
      phantomd::CommandStale);
  CLI::App* explain = add("explain", "Who held an address, and which proxies believed in it",
                          phantomd::CommandExplain);
  explain->add_option("ADDRESS", options.address, "IP or IP:PORT")->required();
  explain->add_option("--at", options.at,
                      "2026-11-29T18:59:03 with Z or +01:00 if not local, or 18:59:03 of today; "
                      "without it: now");
  CLI::App* replay =
      add("replay", "What a recording comes to; same file, same output", phantomd::CommandReplay);
  replay->add_option("FILE", options.recording, "A recording; -: standard input")->required();
  replay->add_flag("--verdicts", options.verdicts,
                   "Every judged attempt as JSON, one a line, instead of the report");
}

// For a command line in which no command was found.
std::string NoCommandSentence(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::string commands = fmt::format("the commands are {}", fmt::join(names, ", "));
  const std::vector<std::string> unknown = app.remaining();
  if (unknown.empty()) return "no command given: " + commands;
  const bool option = unknown.front().starts_with('-');
  return fmt::format("unknown {} '{}': {}", option ? "option" : "command", unknown.front(),
                     option ? "phantomctl --help lists them" : commands);
}

// Where standard input, output or error is closed, the next file that is opened would take its
// place. Opened the wrong way round: who uses it is told that it is not there.
void OccupyStandardStreams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// In main() it would be too late: gRPC opens files of its own when it is loaded.
[[gnu::used,
  gnu::section(".preinit_array")]] void (*const kBeforeLibraries)() = OccupyStandardStreams;

// What makes no sense with the command that was given; empty: nothing.
std::string WhatDoesNotBelong(const CLI::App& app) {
  const CLI::App& command = *app.get_subcommands().front();
  if (command.get_name() != "replay") return "";
  for (const char* option : {"--address", "--tls_ca", "--tls_cert", "--tls_key", "--timeout"}) {
    if (app.count(option) > 0) return fmt::format("replay asks no agent: {} is not for it", option);
  }
  if (command.count("--verdicts") > 0 && app.count("--output") > 0 &&
      app.get_option("--output")->as<std::string>() != "json") {
    return "replay --verdicts prints JSON only: --output is not for it";
  }
  return "";
}

int UsageError(const std::string& sentence) {
  phantomd::PrintError(sentence);
  return phantomd::kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  google::protobuf::SetLogHandler(nullptr);  // what goes wrong is said once, by us
  for (int i = 1; i < argc; ++i) {
    // All of them may become part of a message.
    const std::string_view argument = argv[i];
    if (!phantomd::IsUtf8(argument)) {
      return UsageError(fmt::format("{:?} is not UTF-8 text", argument));
    }
  }
  CLI::App app("Asks phantomd which connections went to addresses that were already dead, and why.",
               "phantomctl");
  app.set_version_flag("--version", std::string("phantomctl " PHANTOMD_VERSION));
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(
      "Exit codes: 0 done, 1 the answer is an error, 2 usage, 3 some agents did not answer.");
  CommandOptions options;
  Command chosen;
  AddGlobalOptions(app, options);
  AddCommands(app, options, &chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    app.exit(help);
    return phantomd::kDone;
  } catch (const CLI::RequiredError& error) {
    if (app.get_subcommands().empty()) return UsageError(NoCommandSentence(app));
    return UsageError(
        fmt::format("{}: {}", app.get_subcommands().front()->get_name(), error.what()));
  } catch (const CLI::ParseError& error) {
    return UsageError(error.what());
  }
  if (const std::string wrong = WhatDoesNotBelong(app); !wrong.empty()) return UsageError(wrong);
  return chosen(options);
}
