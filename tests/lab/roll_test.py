"""A Deployment rolls on real servers, and every address has its next holder within moments.

What phantomd's index then holds is compared with what kubectl saw at the same time, and both with
what was done: the nodes' stand-in logged when each address came up, each process died, each address
went; the API server's audit log has when each deletion was done.
"""

import unittest

import lab as labs  # first: it knows where the demo's modules are
import expected
import truths

REPLICAS = 20
ROLLS = 5 if labs.FULL else 2


class RollTest(labs.PlayedCase):
    ADDRESSES = 24  # a roll has up to 25 pods at once

    @classmethod
    def play(cls, lab):
        watchers = {kind: lab.watch(kind) for kind in ("pods", "endpointslices", "nodes")}
        lab.write_ca()
        lab.write_token(3600)
        by_api = lab.in_cluster_agent()
        by_file = lab.agent(
            "by-file", *(f"--feed=file:{watcher.path}" for watcher in watchers.values())
        )
        by_slices = lab.in_cluster_agent("--pod_scope=endpointslices", name="by-slices")
        agents = (by_api, by_file, by_slices)
        for agent in agents:
            agent.start()
        lab.create_workload(REPLICAS)
        for _ in range(ROLLS):
            lab.begin_roll()
            lab.wait_for_roll(REPLICAS)
        cls.truth = truths.of(lab.truth.lines())
        cls.addresses = sorted({address for address, _ in cls.truth})
        for agent in (by_api, by_file):
            agent.wait_for_pods(REPLICAS)
        own = sum(t["node"] == labs.NODES[0] and "dead" not in t for t in cls.truth.values())
        by_slices.wait_for_pods(own)
        cls.explained = {
            address: by_api.ask("explain", address).get("holders", []) for address in cls.addresses
        }
        cls.exit_codes = [agent.stop() for agent in agents]
        cls.indices = {"API server": by_api.index(), "kubectl's files": by_file.index()}
        cls.by_slices = by_slices.index()
        cls.deletions = lab.deletion_requests()
        offset = cls.indices["API server"].wall_minus_boot
        cls.expected = expected.tenancies(
            watchers["pods"].events, watchers["endpointslices"].events, offset
        )

    def for_each(self, check):
        """check(key, tenancy, index) for every tenancy of both indices."""
        for source, index in self.indices.items():
            for key, tenancy in index.tenancies.items():
                with self.subTest(source=source, tenancy=tenancy, truth=self.truth[key]):
                    check(key, tenancy, index)

    def deletion_of(self, truth, index):
        return [at - index.wall_minus_boot for at in self.deletions[truth["pod"]]]

    def test_the_same_tenancies_for_everybody(self):
        self.assertEqual(self.exit_codes, [0, 0, 0])
        self.assertEqual(set(self.expected), set(self.truth))
        for source, index in self.indices.items():
            self.assertEqual(set(index.tenancies), set(self.truth), source)

    def test_addresses_were_reused(self):
        self.assertGreaterEqual(len(self.truth), REPLICAS * (ROLLS + 1))
        self.assertLessEqual(len(self.addresses), self.ADDRESSES)

    def test_acquired_bounds_hold_the_instant_at_which_the_address_came_up(self):
        def check(key, tenancy, _):
            up = self.truth[key]["up"]
            self.assertTrue(truths.overlap(tenancy["acquired"], up, up))

        self.for_each(check)

    def test_released_bounds_hold_the_death_of_the_process(self):
        def check(key, tenancy, _):
            truth = self.truth[key]
            if "dead" not in truth:
                self.assertEqual(tenancy["released"], [None, None])
                return
            self.assertNotIn(None, tenancy["released"])
            self.assertTrue(truths.overlap(tenancy["released"], truth["alive"], truth["dead"]))

        self.for_each(check)

    def test_withdrawn_bounds_hold_the_deletion(self):
        def check(key, tenancy, index):
            truth = self.truth[key]
            if "dead" not in truth:
                self.assertEqual(tenancy["withdrawn"], [None, None])
                return
            asked, done = self.deletion_of(truth, index)
            self.assertNotIn(None, tenancy["withdrawn"])
            self.assertTrue(truths.overlap(tenancy["withdrawn"], asked, done), (asked, done))

        self.for_each(check)

    def test_bounds_are_the_watchers(self):
        """Up to when each of them read the news, which is at most feed_delay old to both."""

        def check(key, tenancy, _):
            for what in ("acquired", "withdrawn", "released"):
                bounds = getattr(self.expected[key], what) or (None, None)
                self.assert_same(what, tenancy[what], bounds)

        self.for_each(check)

    def assert_same(self, what, ours, watched):
        self.assertEqual([bound is None for bound in ours], [bound is None for bound in watched])
        if None in watched:
            return
        for mine, its in zip(ours, watched):
            self.assertLessEqual(abs(mine - its), expected.FEED_DELAY, (what, ours, watched))

    def test_explain_names_the_same_holders(self):
        for address, holders in self.explained.items():
            named = [holder["pod"]["uid"] for holder in holders]
            index = self.indices["API server"].tenancies
            order = [uid for ip, uid in index if ip == address]
            self.assertEqual(named, order[::-1], address)

    def test_slices_alone_tell_the_same_of_own_pods_and_nothing_wrong_of_others(self):
        found, all_told = self.by_slices.tenancies, self.indices["API server"].tenancies
        for key, truth in self.truth.items():
            with self.subTest(truth=truth, tenancy=found.get(key)):
                if truth["node"] == labs.NODES[0]:
                    for what in ("acquired", "withdrawn", "released"):
                        self.assert_same(what, found[key][what], all_told[key][what])
                    continue
                # The slices told of it while it was in service.
                self.assertIn(key, found)
                if "dead" not in truth:
                    self.assertEqual(found[key]["released"], [None, None])
                    self.assertEqual(found[key]["withdrawn"], [None, None])
                    continue
                asked, done = self.deletion_of(truth, self.by_slices)
                self.assertTrue(truths.overlap(found[key]["withdrawn"], asked, done))
                self.assertTrue(
                    truths.overlap(found[key]["released"], truth["alive"], truth["dead"])
                )

    def test_nothing_is_lost(self):
        for source, index in self.indices.items():
            self.assertEqual(index.losses, [], source)


if __name__ == "__main__":
    unittest.main()
