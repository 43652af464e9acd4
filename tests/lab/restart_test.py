"""phantomd is killed at random instants of rolls, and goes on from its state each time.

Beside it runs one that is never stopped. A stand-in for a proxy connects to the pods' addresses all
the while. What the killed one has once shown it must show ever after, and what it knows of every
address must hold against what was done, up to the times of which it says that it cannot know.
"""

import json
import os
import random
import signal
import subprocess
import time
import unittest

import lab as labs  # first: it knows where the demo's modules are
import processes
import truths

REPLICAS = 20 if labs.FULL else 8
KILLS = 100 if labs.FULL else 8
SEED = int(os.environ.get("PHANTOMD_LAB_SEED", "1"))
LONGEST_LIFE = 4.0  # seconds from one start to the next kill
CONNECT_PAUSE = 0.02  # seconds; bounds the load


class StandIn:
    """A process that is named like a proxy and connects to one address after the other."""

    def __init__(self, lab, addresses):
        self._addresses = addresses
        self.process = processes.start(
            [os.path.join(labs.BUILD_DIR, "tests", "bpf", "named", "envoy"), "-c", "x"],
            os.path.join(lab.network.cgroup, "stand-in"),
            lab.servers.agent_netns,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._next = 0

    def connect(self):
        address = self._addresses[self._next % len(self._addresses)]
        self._next += 1
        command = f"connect worker v4 {address} {labs.kubelets.PORT}\n"
        self.process.stdin.write(command.encode())
        self.process.stdin.flush()
        self.process.stdout.readline()

    def end(self):
        processes.end(self.process, signal.SIGKILL)
        self.process.stdin.close()
        self.process.stdout.close()


def counts(status):
    """What is counted of connections, by class."""
    return {entry["key"]: int(entry["count"]) for entry in status.get("attemptsByClass", [])}


class RestartTest(labs.PlayedCase):
    ADDRESSES = REPLICAS + 4

    @classmethod
    def play(cls, lab):
        lab.write_ca()
        lab.write_token(3600)
        cls.random = random.Random(SEED)
        state = os.path.join(lab.folder, "state")
        steady = lab.in_cluster_agent(name="steady")
        killed = lab.in_cluster_agent(f"--state_dir={state}", name="killed")
        steady.start()
        killed.start()
        lab.create_workload(REPLICAS)
        stand_in = StandIn(lab, sorted({line["ip"] for line in lab.truth.lines()}))
        cls.shown = []  # what was shown before and after each kill
        cls.outages = []  # on CLOCK_BOOTTIME (ns): from the kill until the feeds are synced again
        for _ in range(KILLS):
            if lab.roll_is_over(REPLICAS):
                lab.begin_roll()
            cls.live_for(cls.random.uniform(0.1, LONGEST_LIFE), stand_in)
            before = cls.ask(killed)
            begun = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            processes.end(killed.process, signal.SIGKILL)
            cls.live_for(cls.random.uniform(0.0, 1.0), stand_in)
            killed.start(wait=False)
            cls.outages.append(begun)
            after = labs.wait_until("the killed one answers", lambda: cls.ask(killed), 60.0)
            if before:
                cls.shown.append((before, after))
        lab.wait_for_roll(REPLICAS)
        for agent in (steady, killed):
            agent.wait_for_pods(REPLICAS)
        cls.log = killed.log_text()
        cls.files = sorted(os.listdir(state))
        cls.exit_codes = [agent.stop() for agent in (steady, killed)]
        cls.truth = truths.of(lab.truth.lines())
        cls.steady, cls.index = steady.index(), killed.index()
        stand_in.end()

    @classmethod
    def live_for(cls, seconds, stand_in):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            stand_in.connect()
            time.sleep(CONNECT_PAUSE)

    @staticmethod
    def ask(agent):
        done = agent.run("status", "-o", "json")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def test_the_state_is_never_damaged(self):
        self.assertEqual(self.exit_codes, [0, 0])
        self.assertNotIn("state.db.unusable", self.files)
        self.assertEqual(self.log.count("goes on from the state in"), KILLS, self.log)

    def test_what_was_shown_is_shown_ever_after(self):
        self.assertGreater(len(self.shown), KILLS // 2)
        for before, after in self.shown:
            self.assertEqual(before["started"][:19], after["started"][:19])
            now = counts(after)
            for name, count in counts(before).items():
                self.assertGreaterEqual(now.get(name, 0), count, (before, after))
        self.assertGreater(sum(counts(self.shown[-1][1]).values()), 0)

    def test_every_time_without_it_is_a_loss(self):
        spans = [
            (loss["from"], loss["to"]) for loss in self.index.losses if loss["what"] == "attempt"
        ]
        for killed_at in self.outages[-5:]:  # an engine remembers the latest ten periods
            with self.subTest(killed_at=killed_at):
                self.assertTrue(any(begin <= killed_at <= end for begin, end in spans), spans)

    def test_it_knows_every_tenancy_that_it_could_know(self):
        self.assertLessEqual(set(self.index.tenancies), set(self.truth))
        self.assertEqual(set(self.steady.tenancies), set(self.truth))
        gaps = self.index.gaps("pods")
        for key in set(self.truth) - set(self.index.tenancies):
            truth = self.truth[key]
            with self.subTest(truth=truth):
                self.assertTrue(
                    any(
                        begin <= truth["up"] and (end is None or truth["dead"] <= end)
                        for begin, end in gaps
                    ),
                    gaps,
                )

    def test_bounds_hold_what_was_done(self):
        for key, tenancy in self.index.tenancies.items():
            truth = self.truth[key]
            with self.subTest(tenancy=tenancy, truth=truth):
                self.assertTrue(truths.overlap(tenancy["acquired"], truth["up"], truth["up"]))
                if "dead" in truth:
                    self.assertNotEqual(tenancy["released"], [None, None])
                    self.assertTrue(
                        truths.overlap(tenancy["released"], truth["alive"], truth["dead"])
                    )
                else:
                    self.assertEqual(tenancy["released"], [None, None])


if __name__ == "__main__":
    unittest.main()
