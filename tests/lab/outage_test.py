"""The API server goes away in the middle of a roll, in every way that it can.

Two agents follow it, one with the service account of its pod, one with a client certificate;
neither may do more than deploy/kubernetes/rbac.yaml lets it. Afterwards both must know of every
death, and of every time of which they cannot know all.
"""

import signal
import time
import unittest

import lab as labs  # first: it knows where the demo's modules are
import expected
import kubelet
import truths

REPLICAS = 20 if labs.FULL else 8
OUTAGE_SECONDS = 30.0 if labs.FULL else 2.0
FEEDS = ("pods", "slices", "nodes")
TOKEN_SECONDS = 8  # of the first one
# What the status says of an outage in which no connection breaks.
WHY = {"SIGSTOP": "no answer", "network cut": "no answer", "etcd compacted": "no answer"}
METRICS = "127.0.0.1:9479"


class Outage:
    """One time without the server, as two agents told of it."""

    def __init__(self, name):
        self.name = name
        self.begun = self.ended = None  # CLOCK_BOOTTIME: the server answered until, and from on
        self.during = self.after = None  # the agents' answers
        self.metrics_during = self.metrics_after = None


class OutageTest(labs.PlayedCase):
    ADDRESSES = REPLICAS + 2

    @classmethod
    def play(cls, lab):
        cls.outages = []
        lab.write_ca()
        lab.write_token(TOKEN_SECONDS)
        token_written = time.monotonic()
        lab.write_client_certificate()
        cls.agents = [lab.in_cluster_agent(), lab.client_certificate_agent()]
        cls.agents[0].metrics_address = METRICS
        for agent in cls.agents:
            agent.start()
        lab.create_workload(REPLICAS)
        servers = lab.servers

        # The first token is the only one that the agent has read.
        labs.wait_until(
            "the token has expired",
            lambda: time.monotonic() > token_written + TOKEN_SECONDS + 1,
            TOKEN_SECONDS + 10.0,
        )

        def start_again(*flags):
            servers.start_server(*flags)
            servers.restart_controllers()

        def with_a_new_token():
            start_again()
            cls.wait_for_error("401", cls.agents[:1])
            lab.write_token(3600)

        cls.outage(lab, "token expired", servers.stop_server, with_a_new_token)

        held = servers.hold_server()
        cls.outage(lab, "SIGSTOP", held.__enter__, held.__exit__)

        cls.outage(lab, "SIGKILL", lambda: servers.stop_server(signal.SIGKILL), start_again)
        cls.outage(lab, "network cut", servers.cut_agent_off, servers.join_agent_again)
        if labs.FULL:  # The first one and the next are restarts, too.
            cls.outage(lab, "restart", servers.stop_server, start_again)

        def with_another_ca():
            servers.new_certificates()
            start_again()
            cls.wait_for_error("certificate", cls.agents)
            lab.write_ca()
            lab.write_client_certificate()

        cls.outage(lab, "certificates rotated", servers.stop_server, with_another_ca)

        def compacted_meanwhile():
            lab.wait_for_roll(REPLICAS)
            servers.compact()
            # Without a cache of the server's own, a watch begins in etcd.
            servers.stop_server()
            start_again("--watch-cache=false")
            servers.join_agent_again()

        cls.outage(lab, "etcd compacted", servers.cut_agent_off, compacted_meanwhile)

        cls.truth = truths.of(lab.truth.lines())
        cls.logs = []
        for agent in cls.agents:
            agent.wait_for_pods(REPLICAS)
            cls.logs.append(agent.log_text())
        cls.exit_codes = [agent.stop() for agent in cls.agents]
        cls.indices = [agent.index() for agent in cls.agents]

    @classmethod
    def outage(cls, lab, name, begin, end):
        outage = Outage(name)
        cls.outages.append(outage)
        deaths = lab.deaths()
        lab.begin_roll()
        lab.wait_for_deaths(deaths + 2)
        begin()
        outage.begun = kubelet.boot_ns()
        for agent in cls.agents:
            agent.wait_until_broken()
        outage.during = [agent.status() for agent in cls.agents]
        outage.metrics_during = cls.agents[0].metrics()
        time.sleep(OUTAGE_SECONDS)  # not to wait for anything: so long it lasts
        outage.ended = kubelet.boot_ns()
        end()
        for agent in cls.agents:
            agent.wait_until_synced()
        outage.after = [agent.status() for agent in cls.agents]
        outage.metrics_after = cls.agents[0].metrics()
        lab.wait_for_roll(REPLICAS)

    @classmethod
    def wait_for_error(cls, words, agents):
        """Until all feeds say so."""
        for agent in agents:
            agent.wait_for(
                f"every feed tells of the {words}",
                lambda status: all(words in feed.get("error", "") for feed in status["feeds"]),
                60.0,
            )

    # ---- what must hold

    def test_every_death_is_known(self):
        for agent, index in zip(self.agents, self.indices):
            self.assertLessEqual(set(index.tenancies), set(self.truth))
            for key, truth in self.truth.items():
                with self.subTest(agent=agent.log, truth=truth):
                    if key not in index.tenancies:
                        self.assert_hidden(index, truth)
                    else:
                        self.assert_known(index, index.tenancies[key], truth)

    def assert_hidden(self, index, truth):
        """Only what came and went in one gap may be unknown."""
        self.assertIn("gone", truth)
        self.assertTrue(
            any(
                begin <= truth["reported"] and truth["gone"] <= end
                for begin, end in index.gaps("pods")
            ),
            index.gaps("pods"),
        )

    def assert_known(self, index, tenancy, truth):
        self.assertTrue(truths.overlap(tenancy["acquired"], truth["up"], truth["up"]), tenancy)
        earliest, latest = tenancy["released"]
        if "dead" not in truth:
            self.assertEqual((earliest, latest), (None, None), tenancy)
            return
        self.assertIsNotNone(earliest, tenancy)
        self.assertTrue(truths.overlap((earliest, latest), truth["alive"], truth["dead"]), tenancy)
        if latest is None:
            # A gap took the pod and what it had to say; nobody can tell when it ended, if it did.
            self.assertEqual(tenancy["evidence"], "missing from a new list")
            self.assertTrue(
                any(begin <= truth["gone"] <= end for begin, end in index.gaps("pods")), tenancy
            )

    def test_every_outage_is_a_gap_with_its_bounds(self):
        """What was sent as the last is read a moment later; gaps begin feed_delay before that."""
        for index in self.indices:
            for outage in self.outages:
                for feed in FEEDS:
                    with self.subTest(outage=outage.name, feed=feed, gaps=index.gaps(feed)):
                        self.assertTrue(
                            any(
                                begin - expected.FEED_DELAY <= outage.begun and end >= outage.ended
                                for begin, end in index.gaps(feed)
                            ),
                            (outage.begun, outage.ended),
                        )

    def test_status_tells_why(self):
        for outage in self.outages:
            for status in outage.during:
                for feed in status["feeds"]:
                    with self.subTest(outage=outage.name, feed=feed):
                        self.assertRegex(feed["error"], WHY.get(outage.name, "."))
                        self.assertIn("goodUntil", feed)

    def test_feed_synced_tells_the_truth(self):
        for outage in self.outages:
            for text, value in ((outage.metrics_during, 0), (outage.metrics_after, 1)):
                for feed in FEEDS:
                    with self.subTest(outage=outage.name, feed=feed):
                        self.assertIn(f'phantom_agent_feed_synced{{feed="{feed}"}} {value}', text)

    def test_what_was_compacted_is_listed_anew(self):
        compacted = self.outages[-1]
        for before, after in zip(compacted.during, compacted.after):
            for old, new in zip(before["feeds"], after["feeds"]):
                with self.subTest(feed=new):
                    self.assertGreater(int(new.get("relists", 0)), int(old.get("relists", 0)))

    def test_nothing_is_lost_and_all_end_in_order(self):
        self.assertEqual(self.exit_codes, [0, 0])
        for index in self.indices:
            self.assertEqual(index.losses, [])

    def test_no_secret_is_logged(self):
        for log in self.logs:
            self.assertNotIn("eyJ", log)  # how every token begins
            self.assertNotIn("PRIVATE KEY", log)


if __name__ == "__main__":
    unittest.main()
