// What people see, as whole texts.

#include "agent/cmd/ctl/show.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "agent/cmd/ctl/wrap.h"
#include "agent/wire/report_wire.h"
#include "tests/cmd/local_time.h"
#include "tests/wire/sample_report.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;

size_t WidestLine(const std::string& text) {
  size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto more_bytes = std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    });
    widest = std::max(widest, line.size() - static_cast<size_t>(more_bytes));
  }
  return widest;
}

class ShowTest : public ::testing::Test {
 protected:
  ShowTest() { EncodeReport(testing::SampleReport(), &report_); }

  pb::ListConnectionsResponse Connections() const {
    pb::ListConnectionsResponse out;
    *out.mutable_connections() = report_.connections();
    return out;
  }
  pb::AddressExplanation Explanation() const {
    const Report report = testing::SampleReport();
    pb::AddressExplanation out;
    ReportEncoder(report).Encode(testing::SampleExplanation(), &out);
    return out;
  }

  const testing::LocalTime zone_{"UTC"};
  pb::Report report_;
};

TEST_F(ShowTest, Status) {
  pb::Status status = report_.status();
  status.mutable_feeds(2)->set_error("nodes.json: does not exist");
  *status.mutable_feeds(2)->mutable_good_until() = status.started();
  status.add_limitations("the tracepoint tcp_receive_reset is missing");
  status.add_limitations("proxy shop/webapp-1 keeps no update_time");
  EXPECT_EQ(Show(status, Detail::kTable),
            "Node          node-1, phantomd 0.1.0\n"
            "Started       2026-11-29T18:59:01.000+00:00\n"
            "Judged until  2026-11-29T18:59:57.000+00:00\n"
            "Knows since   2026-11-29T18:59:01.000+00:00\n"
            "Attempts      120 judged: 108 LIVE, 7 DEAD, 3 WITHDRAWN, 2 REUSED\n"
            "              5 waiting for news, 40 not judged (health checks and control connects "
            "of proxies,\n"
            "                redirected downstream halves)\n"
            "Lost          4 attempt\n"
            "              4 attempt between 2026-11-29T18:59:03.000 and 2026-11-29T18:59:03.200 "
            "of proxy\n"
            "                webapp-1/c0ffee\n"
            "              an unknown number of attempt between 2026-11-29T18:59:40.000 and\n"
            "                2026-11-29T18:59:41.000\n"
            "Late news     1 pod\n"
            "Proxies       2, 1 without belief\n"
            "Pods          12 indexed, 3 tombstones\n"
            "Ring          6 old connections dropped\n"
            "Feeds         pods    synced, last change 2026-11-29T18:59:05.000, 1 relist\n"
            "              slices  synced, last change 2026-11-29T18:59:06.000\n"
            "              nodes   not synced: nodes.json: does not exist, good until "
            "2026-11-29T18:59:01.000\n"
            "Limitations   the tracepoint tcp_receive_reset is missing\n"
            "              proxy shop/webapp-1 keeps no update_time\n");
}

TEST_F(ShowTest, StatusOfAnAgentThatHasSeenNothing) {
  EXPECT_EQ(Show(pb::Status(), Detail::kTable),
            "Node          -, phantomd -\n"
            "Started       -\n"
            "Judged until  -\n"
            "Knows since   -\n"
            "Attempts      0 judged: none\n"
            "              0 waiting for news, 0 not judged (health checks and control connects "
            "of proxies,\n"
            "                redirected downstream halves)\n"
            "Lost          none\n"
            "Late news     none\n"
            "Proxies       0, 0 without belief\n"
            "Pods          0 indexed, 0 tombstones\n"
            "Ring          0 old connections dropped\n"
            "Feeds         none\n"
            "Limitations   none\n");
}

TEST_F(ShowTest, Proxies) {
  pb::ListProxiesResponse proxies;
  *proxies.mutable_proxies() = report_.proxies();
  EXPECT_EQ(Show(proxies, Detail::kTable),
            "PROXY          ROLE     ENDPOINTS  STALE  ATTEMPTS  PHANTOMS  POLL  LAST BELIEF\n"
            "shop/webapp-1  SIDECAR          9      1     >=120       >=9   3ms  "
            "2026-11-29T18:59:58.000\n"
            "shop/webapp-2  SIDECAR          0      0         0         0     -  none\n"
            "shop/webapp-2: 127.0.0.1:15000 refused the connection\n");
  EXPECT_NE(Show(proxies, Detail::kWide).find("none: 127.0.0.1:15000 refused the connection"),
            std::string::npos);
}

TEST_F(ShowTest, Rollouts) {
  pb::ListRolloutsResponse rollouts;
  *rollouts.add_rollouts() = report_.rollouts(0);
  *rollouts.add_rollouts() = report_.rollouts(0);
  rollouts.mutable_rollouts(1)->clear_finished();
  EXPECT_EQ(
      Show(rollouts, Detail::kTable),
      "NAME                                             PODS  ATTEMPTS  WITHDRAWN  DEAD  REUSED  "
      "WINDOW\n"
      "shop/Deployment/catalog/7d9f8c/20261129T185902Z     3      >=13        >=3   >=7     >=2  "
      "    6s\n"
      "shop/Deployment/catalog/7d9f8c/20261129T185902Z     3      >=13        >=3   >=7     >=2  "
      "   >6s\n");
}

TEST_F(ShowTest, RolloutWithItsWindows) {
  EXPECT_EQ(
      Show(report_.rollouts(0), Detail::kTable),
      "shop/Deployment/catalog/7d9f8c/20261129T185902Z\n"
      "ROLLOUT of Deployment shop/catalog from 5b6d to 7d9f8c, 3 pods departed\n"
      "Started   2026-11-29T18:59:02.000+00:00\n"
      "Finished  2026-11-29T18:59:08.500+00:00\n"
      "Attempts  13 after withdrawal: 3 WITHDRAWN, 7 DEAD, 2 REUSED, 1 other\n"
      "Lost      4 attempts while it went on, to this or another destination: the counts are "
      "lower bounds\n"
      "Causes    8 STALE_EDS, 1 AFTER_REMOVAL\n"
      "Outcomes  7 ABANDONED, 2 ESTABLISHED\n"
      "Layers    5 L4, 4 L7\n"
      "Waited    1s median, 1s at most, 7.03s in all\n"
      "Stranded  2 EXPIRED (15m00s median, 15m30s at most after their pod)\n"
      "Windows   3.02s median, 6s at most\n"
      "\n"
      "PROXY          OPENED        CLOSED            WINDOW  ATTEMPTS  PHANTOMS  LAST CONNECT\n"
      "shop/webapp-2  18:59:02.000  open                 >6s         0         0  -\n"
      "shop/webapp-1  18:59:02.000  18:59:05.020  3.02s±25ms        13         9  18:59:04.900\n");
}

TEST_F(ShowTest, OpenWindowsHaveLastedSoFarAsTheLongestTells) {
  pb::Rollout rollout = report_.rollouts(0);
  rollout.clear_finished();
  pb::ProxyWindow* later = rollout.add_windows();
  *later = rollout.windows(0);
  later->set_proxy_name("shop/webapp-3");
  later->mutable_opened()->set_seconds(later->opened().seconds() + 4);
  std::string text = Show(rollout, Detail::kTable);
  EXPECT_NE(text.find("Windows   3.02s median, 6s so far at most\n"), std::string::npos) << text;
  EXPECT_NE(text.find("shop/webapp-2  18:59:02.000  open                 >6s"), std::string::npos);
  EXPECT_NE(text.find("shop/webapp-3  18:59:06.000  open                 >2s"), std::string::npos);

  // The longest is a closed one: of the others nothing is known but that they are shorter.
  *rollout.mutable_window_max() = rollout.window_p50();
  text = Show(rollout, Detail::kTable);
  EXPECT_NE(text.find("shop/webapp-2  18:59:02.000  open                   -"), std::string::npos);
}

TEST_F(ShowTest, ConnectionsAreInTheOrderOfTheirSynsYoungestFirst) {
  // In 100 columns, for which the longest of classes takes its room from the proxy's name.
  EXPECT_EQ(Show(Connections(), Detail::kTable),
            "2026-11-29    PROXY        DESTINATION    CLASS                OUTCOME      WAITED  "
            "CAUSE    "
            "  LAYER\n"
            "18:59:04.500  shop/…app-1  10.1.0.1:8080  REUSED               ESTABLISHED   350µs  "
            "STALE_EDS"
            "  L7\n"
            "18:59:03.003  shop/…app-1  10.1.0.1:8080  UNKNOWN_DESTINATION  ABANDONED        1s  - "
            "       "
            "  L4\n"
            "18:59:03.001  shop/…app-1  10.1.0.1:8080  DEAD                 ABANDONED        1s  "
            "STALE_EDS"
            "  L4\n");
}

TEST_F(ShowTest, ConnectionsOfLongNamesFitIntoAScreenAndAreWholeWhenWide) {
  const std::string name = "shop/webapp-5d9c7f6b8d-nb59b";
  pb::ListConnectionsResponse list = Connections();
  list.mutable_connections()->DeleteSubrange(0, 1);
  for (pb::Connection& c : *list.mutable_connections()) {
    c.set_proxy_name(name);
    c.set_destination("10.244.17.112:8080");
    c.set_destination_class(pb::WITHDRAWN);
    c.set_outcome(pb::ESTABLISHED);
    c.set_cause(pb::CLIENT_ADDRESS);
  }
  const std::string table = Show(list, Detail::kTable);
  EXPECT_EQ(WidestLine(table), kScreen) << table;
  EXPECT_EQ(table.find(name), std::string::npos);
  EXPECT_NE(table.find("  shop/…nb59b  10.244.17.112:8080  WITHDRAWN  "), std::string::npos)
      << table;
  EXPECT_NE(Show(list, Detail::kWide).find(name), std::string::npos);
}

TEST_F(ShowTest, WideConnectionsNameHoldersClusterAndRollout) {
  const std::string text = Show(Connections(), Detail::kWide);
  std::istringstream lines(text);
  std::string titles, reused;
  std::getline(lines, titles);
  std::getline(lines, reused);
  for (const auto& [title, cell] : std::initializer_list<std::pair<const char*, const char*>>{
           {"CERTAINTY", "CERTAIN"},
           {"INITIATOR", "PROXY"},
           {"SINCE DEAD", "1.75s"},
           {"SINCE WITHDRAWN", "2.5s"},
           {"LAST HOLDER", "shop/catalog-5b6d-a"},
           {"CURRENT HOLDER", "shop/payments-66aa-x"},
           {"SOURCE", "10.1.0.20:40002"},
           {"CLUSTER", "outbound|8080||catalog.shop.svc.cluster.local"},
           {"ROLLOUT", "shop/Deployment/catalog/7d9f8c/20261129T185902Z"}}) {
    const size_t at = titles.find(title);
    ASSERT_NE(at, std::string::npos) << title;
    // The µ of the duration before them has two bytes and one column.
    EXPECT_EQ(reused.substr(at + 1, std::string(cell).size()), cell);
  }
}

TEST_F(ShowTest, ConnectionsAsTheyComeKeepTheirColumns) {
  EXPECT_EQ(ShowConnectionTitles(Detail::kTable) +
                ShowConnectionLine(report_.connections(2), Detail::kTable) +
                ShowConnectionLine(report_.connections(1), Detail::kTable),
            "STARTED       PROXY        DESTINATION         CLASS      OUTCOME      WAITED  "
            "CAUSE           LAYER\n"
            "18:59:03.001  shop/…app-1  10.1.0.1:8080       DEAD       ABANDONED        1s  "
            "STALE_EDS       L4\n"
            "18:59:04.500  shop/…app-1  10.1.0.1:8080       REUSED     ESTABLISHED   350µs  "
            "STALE_EDS       L7\n");
  EXPECT_NE(ShowConnectionLine(report_.connections(2), Detail::kWide).find("shop/webapp-1"),
            std::string::npos);
}

TEST_F(ShowTest, StaleEndpoints) {
  pb::ListStaleEndpointsResponse stale;
  *stale.mutable_endpoints() = report_.stale_endpoints();
  EXPECT_EQ(Show(stale, Detail::kTable),
            "PROXY          ADDRESS        CLASS  CAUSE      HOLDER               BELIEVED SINCE\n"
            "shop/webapp-1  10.1.0.1:8080  DEAD   STALE_EDS  shop/catalog-5b6d-a  "
            "2026-11-29T18:59:01.000\n");
}

TEST_F(ShowTest, ExplanationIsTheWholeStoryOnOneScreen) {
  EXPECT_EQ(
      Show(Explanation(), Detail::kTable),
      "10.1.0.1 at 2026-11-29T18:59:04.000+00:00: DEAD, CERTAIN\n"
      "\n"
      "Held by\n"
      "  shop/catalog-5b6d-a of Deployment catalog, revision 5b6d, on node-1\n"
      "    acquired  18:59:00.500\n"
      "    withdrawn 18:59:02.000, ROLLOUT\n"
      "    released  between 18:59:02.250 and 18:59:02.750 (deleted event)\n"
      "\n"
      "Believed in by\n"
      "  outbound|8080||catalog.shop.svc.cluster.local\n"
      "    PROXY          BELIEVES  SINCE         UNTIL                         HEALTH\n"
      "    shop/webapp-1  yes       18:59:01.000  18:59:05.000 to 18:59:05.050  assigned\n"
      "    shop/webapp-2  no        18:59:01.000  18:59:03.000 to 18:59:03.050  dropped\n"
      "\n"
      "Newest connections to it while withdrawn, dead or reused\n"
      "2026-11-29    PROXY          DESTINATION    CLASS  OUTCOME    WAITED  CAUSE      LAYER\n"
      "18:59:03.001  shop/webapp-1  10.1.0.1:8080  DEAD   ABANDONED      1s  STALE_EDS  L4\n");
}

TEST_F(ShowTest, ExplanationOfManyNeverOutgrowsAScreenUnlessWide) {
  pb::AddressExplanation many = Explanation();
  for (int i = 0; i < 30; ++i) {
    *many.add_holders() = many.holders(0);
    *many.add_beliefs() = many.beliefs(0);
    *many.add_recent() = many.recent(0);
  }
  const std::string text = Show(many, Detail::kTable);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 45);
  EXPECT_NE(text.find("  and 28 more: -o wide\n"), std::string::npos);
  EXPECT_NE(text.find("  and 22 more: -o wide\n"), std::string::npos);
  EXPECT_NE(text.find("  and 25 more: -o wide\n"), std::string::npos);
  const std::string rest = "  an agent tells the newest 20; older ones: phantomctl connections\n";
  EXPECT_TRUE(text.ends_with(rest)) << text;
  many.mutable_recent()->DeleteSubrange(19, many.recent_size() - 19);
  EXPECT_EQ(Show(many, Detail::kTable).find(rest), std::string::npos);
  const std::string wide = Show(many, Detail::kWide);
  EXPECT_GT(std::count(wide.begin(), wide.end(), '\n'), 150);
  EXPECT_EQ(wide.find("more: -o wide"), std::string::npos);
}

TEST_F(ShowTest, ExplanationOfAnAddressThatNobodyKnows) {
  pb::AddressExplanation nothing;
  nothing.set_address("192.0.2.1");
  nothing.mutable_time()->set_seconds(1795978744);
  nothing.set_destination_class(pb::UNKNOWN_DESTINATION);
  nothing.set_unknown_reason(pb::BEFORE_HORIZON);
  EXPECT_EQ(Show(nothing, Detail::kTable),
            "192.0.2.1 at 2026-11-29T18:59:04.000+00:00: UNKNOWN_DESTINATION (BEFORE_HORIZON)\n"
            "\n"
            "No pod is known to have held it.\n"
            "\n"
            "No proxy is known to have listed it.\n"
            "\n"
            "No connections to it while withdrawn, dead or reused.\n");
  nothing.set_destination_class(pb::DEAD);
  EXPECT_NE(Show(nothing, Detail::kTable)
                .find("No pod is known to have held it: an address of pods that nobody holds is "
                      "DEAD.\n"),
            std::string::npos);
}

TEST_F(ShowTest, HolderIsReleasedWithinWhatIsKnownOfIt) {
  const auto released = [this](auto change) {
    pb::AddressExplanation e = Explanation();
    change(e.mutable_holders(0));
    const std::string text = Show(e, Detail::kTable);
    const size_t at = text.find("released  ");
    return text.substr(at + 10, text.find('\n', at) - at - 10);
  };
  EXPECT_EQ(released([](pb::Holder* h) {
              h->clear_released_not_before();
              h->clear_released_not_after();
              h->clear_evidence();
            }),
            "still held");
  EXPECT_EQ(released([](pb::Holder* h) { h->clear_released_not_after(); }),
            "not before 18:59:02.250 (deleted event)");
  EXPECT_EQ(released([](pb::Holder* h) { h->clear_released_not_before(); }),
            "by 18:59:02.750 (deleted event)");
  EXPECT_EQ(
      released([](pb::Holder* h) { *h->mutable_released_not_before() = h->released_not_after(); }),
      "at 18:59:02.750 (deleted event)");
}

TEST_F(ShowTest, EmptyListsSaySo) {
  EXPECT_EQ(Show(pb::ListProxiesResponse(), Detail::kTable), "No proxies.\n");
  EXPECT_EQ(Show(pb::ListRolloutsResponse(), Detail::kTable), "No rollouts.\n");
  EXPECT_EQ(Show(pb::ListConnectionsResponse(), Detail::kTable),
            "No connections to withdrawn, dead or reused addresses.\n");
  EXPECT_EQ(Show(pb::ListStaleEndpointsResponse(), Detail::kTable),
            "No proxy believes in a withdrawn or dead endpoint.\n");
}

// For names as a ReplicaSet makes them, and long sentences.
TEST_F(ShowTest, TextsForPeopleFitInto100Columns) {
  const std::string proxy = "shop-production/webapp-5d9c7f6b8d-nb59b";
  const std::string pod = "catalog-6f9d7c5b4d-x7k2p";
  const std::string sentence =
      "the process 4711 of shop-production/webapp-5d9c7f6b8d-nb59b cannot be read: /proc/4711/root "
      "leads into a mount namespace that is gone; its proxy has no admin address";
  report_.mutable_connections()->DeleteSubrange(0, 1);  // UNKNOWN is never in that list
  for (pb::Connection& c : *report_.mutable_connections()) {
    c.set_proxy_name(proxy);
    c.set_destination("10.244.17.112:8080");
    c.set_cause(pb::CLIENT_ADDRESS);
    c.set_destination_class(pb::WITHDRAWN);
  }
  for (pb::ProxyStatus& p : *report_.mutable_proxies()) {
    p.mutable_proxy()->set_name(proxy);
    if (!p.belief_error().empty()) p.set_belief_error(sentence);
  }
  for (pb::ProxyWindow& w : *report_.mutable_rollouts(0)->mutable_windows())
    w.set_proxy_name(proxy);
  for (pb::StaleEndpoint& e : *report_.mutable_stale_endpoints()) {
    e.set_proxy_name(proxy);
    e.set_address("10.244.17.112:8080");
    e.set_cause(pb::CLIENT_ADDRESS);
    e.mutable_holder()->mutable_pod()->set_name(pod);
  }
  pb::AddressExplanation explanation = Explanation();
  explanation.mutable_beliefs(0)->set_proxy_name(proxy);
  explanation.mutable_beliefs(0)->set_health("assigned, ejected as an outlier");
  pb::PodRef* held = explanation.mutable_holders(0)->mutable_pod();
  held->set_name(pod);
  held->set_node_name("ip-10-0-17-112.eu-central-1.compute.internal");
  *explanation.mutable_recent() = report_.connections();
  report_.mutable_status()->add_limitations(sentence);
  report_.mutable_status()->mutable_feeds(2)->set_error(sentence);
  pb::ListProxiesResponse proxies;
  *proxies.mutable_proxies() = report_.proxies();
  pb::ListStaleEndpointsResponse stale;
  *stale.mutable_endpoints() = report_.stale_endpoints();
  pb::ListRolloutsResponse rollouts;
  *rollouts.mutable_rollouts() = report_.rollouts();
  for (const std::string& text :
       {Show(report_.status(), Detail::kTable), Show(proxies, Detail::kTable),
        Show(rollouts, Detail::kTable), Show(report_.rollouts(0), Detail::kTable),
        Show(Connections(), Detail::kTable), Show(stale, Detail::kTable),
        Show(explanation, Detail::kTable), ShowConnectionTitles(Detail::kTable),
        ShowConnectionLine(report_.connections(0), Detail::kTable)}) {
    EXPECT_LE(WidestLine(text), kScreen) << text;
  }
  // As they come one by one, they stand under their titles.
  EXPECT_EQ(WidestLine(ShowConnectionTitles(Detail::kTable)), kScreen);
  EXPECT_EQ(ShowConnectionLine(report_.connections(0), Detail::kTable).find("10.244.17.112"),
            ShowConnectionTitles(Detail::kTable).find("DESTINATION") + 2);  // … has three bytes
}

TEST_F(ShowTest, ReportIsItsPartsOneAfterAnother) {
  const std::string text = Show(report_, Detail::kTable);
  size_t at = 0;
  for (const char* part :
       {"Node          node-1", "\nPROXY          ROLE", "\nshop/Deployment/catalog/7d9f8c",
        "BELIEVED SINCE\n", "\n2026-11-29    PROXY"}) {
    const size_t found = text.find(part, at);
    EXPECT_NE(found, std::string::npos) << part;
    at = found;
  }
}

}  // namespace
}  // namespace phantomd
