// Answers as text for people: one function per answer, lists as tables.
//
// kTable stays within 100 columns for names of usual length: names lose their middle for it and
// sentences are wrapped, but the name of a rollout, which is there to be copied, is whole. kWide
// adds columns and shortens nothing. Nothing is rounded but durations. Times are local; a table's
// first column of times carries its date in the title.
//
// Pure but for the time zone of the process.
#pragma once

#include <string>

#include "phantom/v1/query.pb.h"

namespace phantomd {

enum class Detail { kTable, kWide };

std::string Show(const phantom::v1::Status& status, Detail detail);
std::string Show(const phantom::v1::ListProxiesResponse& proxies, Detail detail);
std::string Show(const phantom::v1::ListRolloutsResponse& rollouts, Detail detail);
std::string Show(const phantom::v1::Rollout& rollout, Detail detail);
// The youngest SYN first.
std::string Show(const phantom::v1::ListConnectionsResponse& connections, Detail detail);
std::string Show(const phantom::v1::ListStaleEndpointsResponse& endpoints, Detail detail);
std::string Show(const phantom::v1::AddressExplanation& explanation, Detail detail);
// Everything that a replay found out.
std::string Show(const phantom::v1::Report& report, Detail detail);

// Connections as they come, one line each, under the same titles.
std::string ShowConnectionTitles(Detail detail);
std::string ShowConnectionLine(const phantom::v1::Connection& connection, Detail detail);

}  // namespace phantomd
