// phantomctl asks agents, and replays what they recorded.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/cmd/ctl/commands.h"
#include "agent/cmd/ctl/output.h"

namespace {

using phantomd::CommandOptions;
using phantomd::Format;

void AddGlobalOptions(CLI::App& app, CommandOptions& options) {
  options.agents.addresses = {"unix:/run/phantomd/phantomd.sock"};
  app.add_option("--address", options.agents.addresses,
                 "Agents to ask, unix:/PATH or HOST:PORT; several are merged, and a name with "
                 "several addresses is as many agents")
      ->delimiter(',')
      ->allow_extra_args(false)  // what follows one address is the command's
      ->capture_default_str();
  app.add_option("-o,--output", options.format, "How to print the answer")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Format>{{"table", Format::kTable},
                                                                        {"wide", Format::kWide},
                                                                        {"json", Format::kJson},
                                                                        {"yaml", Format::kYaml}}))
      ->option_text("table|wide|json|yaml [table]");
  app.add_option("--tls_ca", options.agents.tls_ca,
                 "PEM file: the CA of the agents at HOST:PORT; without it they are asked in clear "
                 "text");
  app.add_option("--tls_cert", options.agents.tls_cert, "PEM file: certificate to show to agents");
  app.add_option("--tls_key", options.agents.tls_key, "PEM file: its key");
  app.add_option_function<double>(
         "--timeout",
         [&options](double seconds) {
           options.agents.timeout = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
         },
         "Seconds to wait for each answer")
      ->check(CLI::Range(0.001, 3600.0))
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

}  // namespace

int main(int argc, char** argv) {
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
  } catch (const CLI::RequiredError& error) {
    if (app.get_subcommands().empty()) {
      phantomd::PrintError(NoCommandSentence(app));
    } else {
      app.exit(error);
    }
    return phantomd::kUsage;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? phantomd::kDone : phantomd::kUsage;
  }
  return chosen(options);
}
