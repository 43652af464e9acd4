#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <string>
#include <vector>

#include "agent/cmd/ctl/human.h"
#include "agent/cmd/ctl/show.h"
#include "agent/cmd/ctl/text_table.h"
#include "agent/cmd/ctl/wrap.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;
using Column = TextTable::Column;

std::string PodName(const pb::Holder& holder) {
  return fmt::format("{}/{}", holder.pod().namespace_(), holder.pod().name());
}

// Where the rows are not known yet, their columns have room for IPv4 and every cause, and the
// proxy's name has what a screen leaves; wide there is no such limit.
TextTable ConnectionTable(const std::string& time_title, Detail detail, bool rows_unknown) {
  const auto width = [&](size_t least) { return rows_unknown ? least : 0; };
  std::vector<Column> columns = {
      {time_title, Column::kLeft, width(12)},
      {"PROXY", Column::kLeft, width(detail == Detail::kWide ? 28 : 11), kShortestName},
      {"DESTINATION", Column::kLeft, width(18)},
      {"CLASS", Column::kLeft, width(9)},
      {"OUTCOME", Column::kLeft, width(11)},
      {"WAITED", Column::kRight, width(6)},
      {"CAUSE", Column::kLeft, width(14)},
      {"LAYER", Column::kLeft, width(5)}};
  if (detail == Detail::kWide) {
    columns.insert(columns.end(), {{"CERTAINTY"},
                                   {"INITIATOR", Column::kLeft, width(11)},
                                   {"SINCE DEAD"},
                                   {"SINCE WITHDRAWN"},
                                   {"LAST HOLDER", Column::kLeft, width(24)},
                                   {"CURRENT HOLDER", Column::kLeft, width(24)},
                                   {"SOURCE", Column::kLeft, width(17)},
                                   {"CLUSTER", Column::kLeft, width(45)},
                                   {"ROLLOUT"}});
  }
  return TextTable(columns);
}

// Enum names of values that are unset say nothing.
std::string OrNone(int number, const std::string& name) { return number == 0 ? kNone : name; }

void AddConnection(const pb::Connection& c, const std::string& date, Detail detail,
                   TextTable* table) {
  std::vector<std::string> row = {HumanTimeOn(date, c.started()),
                                  c.proxy_name().empty() ? kNone : c.proxy_name(),
                                  c.destination(),
                                  pb::DestinationClass_Name(c.destination_class()),
                                  pb::Outcome_Name(c.outcome()),
                                  HumanDuration(c.duration()),
                                  OrNone(c.cause(), pb::Cause_Name(c.cause())),
                                  OrNone(c.layer(), pb::Layer_Name(c.layer()))};
  if (detail == Detail::kWide) {
    row.push_back(OrNone(c.certainty(), pb::Certainty_Name(c.certainty())));
    row.push_back(OrNone(c.initiator(), pb::Initiator_Name(c.initiator())));
    row.push_back(c.has_since_dead() ? HumanDuration(c.since_dead()) : kNone);
    row.push_back(c.has_since_withdrawn() ? HumanDuration(c.since_withdrawn()) : kNone);
    row.push_back(c.has_last_holder() ? PodName(c.last_holder()) : kNone);
    row.push_back(c.has_current_holder() ? PodName(c.current_holder()) : kNone);
    row.push_back(c.source());
    row.push_back(c.cluster().empty() ? kNone : c.cluster());
    row.push_back(c.rollout().empty() ? kNone : c.rollout());
  }
  table->Add(std::move(row));
}

}  // namespace

std::string Show(const pb::ListConnectionsResponse& connections, Detail detail) {
  if (connections.connections().empty()) {
    return "No connections to withdrawn, dead or reused addresses.\n";
  }
  // They come in the order of their judgement, in which times jump.
  std::vector<const pb::Connection*> newest_first;
  for (const pb::Connection& c : connections.connections()) newest_first.push_back(&c);
  std::stable_sort(newest_first.begin(), newest_first.end(),
                   [](const auto* a, const auto* b) { return a->started() > b->started(); });
  const std::string date = HumanDate(newest_first.front()->started());
  TextTable table = ConnectionTable(date, detail, false);
  for (const pb::Connection* c : newest_first) AddConnection(*c, date, detail, &table);
  return table.Text(0, detail == Detail::kWide ? std::string::npos : kScreen);
}

std::string ShowConnectionTitles(Detail detail) {
  return ConnectionTable("STARTED", detail, true).Titles();
}

std::string ShowConnectionLine(const pb::Connection& connection, Detail detail) {
  TextTable table = ConnectionTable("STARTED", detail, true);
  // They come as they are judged: their day is this one.
  AddConnection(connection, HumanDate(connection.started()), detail, &table);
  return table.Rows(detail == Detail::kWide ? std::string::npos : kScreen);
}

std::string Show(const pb::ListStaleEndpointsResponse& endpoints, Detail detail) {
  if (endpoints.endpoints().empty()) {
    return "No proxy believes in a withdrawn or dead endpoint.\n";
  }
  std::vector<Column> columns = {
      {"PROXY", Column::kLeft, 0, kShortestName},  {"ADDRESS"},       {"CLASS"}, {"CAUSE"},
      {"HOLDER", Column::kLeft, 0, kShortestName}, {"BELIEVED SINCE"}};
  if (detail == Detail::kWide) columns.insert(columns.end(), {{"CLUSTER"}, {"PROXY ID"}});
  TextTable table(columns);
  for (const pb::StaleEndpoint& e : endpoints.endpoints()) {
    std::vector<std::string> row = {e.proxy_name(),
                                    e.address(),
                                    pb::DestinationClass_Name(e.destination_class()),
                                    OrNone(e.cause(), pb::Cause_Name(e.cause())),
                                    e.has_holder() ? PodName(e.holder()) : kNone,
                                    e.has_believed_since() ? HumanTime(e.believed_since()) : kNone};
    if (detail == Detail::kWide) row.insert(row.end(), {e.cluster(), e.proxy_id()});
    table.Add(std::move(row));
  }
  return table.Text(0, detail == Detail::kWide ? std::string::npos : kScreen);
}

}  // namespace phantomd
