"""What phantomd says of connections whose story the test itself wrote."""

import collections
import os
import subprocess
import time
import unittest

import fixture  # first: it knows where the demo's modules are
import agent as agents
import checks
import envoy_config
import observe
import processes
import scene as scenes
import show
import witness


class RolloutTest(fixture.Case):
    """A crash, a rolling update with late EDS and a reused address, all in one play."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with fixture.new_scene() as scene:
            agent = fixture.new_agent(scene)
            agent.start()
            old = show.set_up(scene)
            agent.wait_for_proxy()
            cls.plot = show.play(scene, old)
            cls.view = observe.of(scene)
            agent.wait_for_verdicts(cls.plot.ended_wall_ns)
            cls.answers = checks.ask(scene, agent)
            cls.explained = agent.ask("explain", cls.plot.old[0].ip)
            cls.ends = [agent.ask("explain", pod.ip) for pod in cls.plot.old]
            agent.stop()
            checks.replay(agent, cls.answers)
        cls.phantoms = [entry for entry in cls.answers.connections if checks.is_phantom(entry)]

    def verdicts_to(self, ip):
        return [
            entry
            for entry in self.answers.verdicts
            if checks.endpoint(entry["destination"])[0] == ip
        ]

    def phantoms_to(self, pod):
        return [
            entry for entry in self.phantoms if checks.endpoint(entry["destination"])[0] == pod.ip
        ]

    def test_phantoms_are_exactly_the_connections_that_nftables_saw(self):
        named = collections.Counter(checks.tuple_of(entry) for entry in self.phantoms)
        self.assertEqual(named, observe.phantom_syns(self.view))

    def test_every_connection_of_the_proxy_is_judged_once(self):
        seen = sum((path.syns for path in self.view.paths.values()), collections.Counter())
        judged = collections.Counter(checks.tuple_of(entry) for entry in self.answers.verdicts)
        self.assertEqual(judged, seen)

    def test_terminating_pod_that_serves_is_withdrawn(self):
        old = self.plot.old[0]
        before_its_death = [
            entry for entry in self.verdicts_to(old.ip) if entry.get("outcome") == "ESTABLISHED"
        ]
        classes = {entry["destinationClass"] for entry in before_its_death}
        self.assertEqual(classes, {"LIVE", "WITHDRAWN"})
        withdrawn = [
            entry for entry in before_its_death if entry["destinationClass"] == "WITHDRAWN"
        ]
        self.assertEqual({entry.get("cause") for entry in withdrawn}, {"STALE_EDS"})

    def test_crashed_container_is_live_and_refused(self):
        refused = {
            checks.tuple_of(entry)
            for entry in self.verdicts_to(self.plot.crashed_ip)
            if entry["destinationClass"] == "LIVE" and entry["outcome"] == "REFUSED"
        }
        self.assertEqual(refused, observe.crash_refusals(self.view))
        self.assertGreater(len(refused), 0)

    def test_silent_address_is_dead_and_abandoned_on_both_layers(self):
        for pod in self.plot.old[:2]:
            kinds = {checks.kind(entry) for entry in self.phantoms_to(pod)}
            self.assertEqual({kind[0] for kind in kinds}, {"DEAD"})
            self.assertIn(("DEAD", "STALE_EDS", "ABANDONED", "L4"), kinds)
            self.assertIn(("DEAD", "STALE_EDS", "ABANDONED", "L7"), kinds)

    def test_cause_is_stale_eds_until_envoy_is_told(self):
        for pod in self.plot.old:
            told = self.plot.told_ns[pod.ip] + time.time_ns() - scenes.boot_ns()
            causes = {
                entry["cause"]
                for entry in self.phantoms_to(pod)
                if agents.parse_time(entry["started"]) < told
            }
            self.assertEqual(causes, {"STALE_EDS"}, pod.ip)

    def test_address_of_another_workload_is_reused_and_established(self):
        answered = [
            entry
            for entry in self.phantoms_to(self.plot.old[2])
            if entry.get("outcome") == "ESTABLISHED"
        ]
        # A SYN to the dead address may be answered by the next owner when it is sent again.
        at_once = [entry for entry in answered if not entry.get("synRetransmits")]
        self.assertEqual({entry["destinationClass"] for entry in at_once}, {"REUSED"})
        self.assertEqual(
            {entry["currentHolder"]["pod"]["workload"]["name"] for entry in at_once}, {"inventory"}
        )
        seen_by_callers = (
            self.view.paths["http"].answered_by["inventory"]
            + self.view.paths["tls"].ends["wrong certificate"]
        )
        self.assertGreater(seen_by_callers, 0)
        self.assertGreaterEqual(len(answered), seen_by_callers)

    def test_phantoms_that_connected_are_those_whose_handshake_nftables_saw(self):
        answered = {
            checks.tuple_of(entry)
            for entry in self.phantoms
            if entry.get("outcome") == "ESTABLISHED"
        }
        seen = set().union(*(path.reached for path in self.view.paths.values()))
        self.assertEqual(answered, seen)
        self.assertGreater(len(seen), 0)

    def test_reused_is_only_the_address_that_was_given_away(self):
        reused = {
            checks.endpoint(entry["destination"])[0]
            for entry in self.phantoms
            if entry["destinationClass"] == "REUSED"
        }
        self.assertEqual(reused, {self.plot.old[2].ip})

    def test_layer_is_that_of_the_listener(self):
        ports = {"L7": envoy_config.HTTP_PORT, "L4": envoy_config.TLS_PORT}
        for entry in self.phantoms:
            self.assertEqual(checks.endpoint(entry["destination"])[1], ports[entry["layer"]])

    def test_no_phantom_after_eds_converged(self):
        last = max(agents.parse_time(entry["started"]) for entry in self.phantoms)
        self.assertLess(last, self.plot.converged_wall_ns + checks.WORKER_LAG_NS)

    def test_health_checks_are_counted_apart(self):
        self.assertGreater(self.answers.control_phantom_syns, 0)
        for initiator, sent in (
            ("PROXY_CONTROL", self.answers.control_syns),
            ("INTERCEPTED", self.view.application_syns),
        ):
            self.assertEqual(checks.not_judged(self.answers.metrics, initiator), sent)
        ports = {checks.endpoint(entry["destination"])[1] for entry in self.answers.verdicts}
        self.assertEqual(ports, {envoy_config.HTTP_PORT, envoy_config.TLS_PORT})

    def test_rollout_counts_the_three_departed_pods_and_their_phantoms(self):
        rollouts = [entry for entry in self.answers.rollouts if entry["departure"] == "ROLLOUT"]
        self.assertEqual(len(rollouts), 1, rollouts)
        rollout = rollouts[0]
        self.assertTrue(
            rollout["name"].startswith(f"shop/Deployment/catalog/{scenes.CATALOG_NEW.revision}/"),
            rollout["name"],
        )
        self.assertEqual(rollout["fromRevision"], scenes.CATALOG_OLD.revision)
        self.assertEqual(rollout["podsDeparted"], 3)
        self.assertEqual(int(rollout["dead"]) + int(rollout["reused"]), len(self.phantoms))

    def test_explain_names_holder_withdrawal_release_belief_and_phantoms(self):
        pod = self.plot.old[0]
        holder = self.explained["holders"][0]
        self.assertEqual(holder["pod"]["name"], pod.name)
        died = pod.died_ns + time.time_ns() - scenes.boot_ns()
        self.assertLess(abs(agents.parse_time(holder["releasedNotAfter"]) - died), 5 * 10**8)
        self.assertLess(agents.parse_time(holder["withdrawn"]), died - 10**9)
        beliefs = [entry for entry in self.explained["beliefs"] if entry.get("goneBy")]
        self.assertEqual(
            {entry["cluster"] for entry in beliefs},
            {envoy_config.cluster_name(port) for _, port in scenes.PORTS},
        )
        self.assertGreater(len(self.explained["recent"]), 0)

    def test_kernel_dates_the_end_of_each_pod_to_its_last_process(self):
        for pod, explained in zip(self.plot.old, self.ends, strict=True):
            holder = next(
                entry for entry in explained["holders"] if entry["pod"]["name"] == pod.name
            )
            shift = time.time_ns() - scenes.boot_ns()
            begun, over = pod.ending_ns + shift, pod.died_ns + shift
            bounds = [
                agents.parse_time(holder[name]) for name in ("releasedNotBefore", "releasedNotAfter")
            ]
            print(
                f"{pod.ip}: ended within {(bounds[1] - bounds[0]) / 10**6:.3f} ms by the kernel; "
                f"that took {(over - begun) / 10**6:.3f} ms"
            )
            self.assertEqual(holder["evidence"], "last process")
            # The two clocks are read one after the other.
            self.assertGreaterEqual(bounds[0], begun - 10**6)
            self.assertLessEqual(bounds[1], over + 10**6)

    def test_replay_is_identical_twice_and_equals_the_live_answers(self):
        self.assertTrue(self.answers.replayed_again_equal)
        live, again = self.answers.connections, self.answers.replayed["connections"]
        self.assertEqual(
            collections.Counter(map(checks.kind, live)),
            collections.Counter(map(checks.kind, again)),
        )
        self.assertEqual(
            checks.by_class(self.answers.metrics),
            collections.Counter(entry["destinationClass"] for entry in self.answers.verdicts),
        )
        self.assertEqual(
            checks.rollout_counts(self.answers.rollouts),
            checks.rollout_counts(self.answers.replayed["rollouts"]),
        )

    def test_metrics_pass_promtool_and_carry_no_address(self):
        done = subprocess.run(
            ["promtool", "check", "metrics"],
            input=self.answers.metrics,
            text=True,
            capture_output=True,
        )
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
        for pod_ip in (*show.OLD_IPS, *show.NEW_IPS, scenes.CLIENT_IP):
            self.assertNotIn(pod_ip, self.answers.metrics)

    def test_metrics_count_what_the_answers_count(self):
        live_refused = sum(
            entry["destinationClass"] == "LIVE" and entry["outcome"] == "REFUSED"
            for entry in self.answers.verdicts
        )
        self.assertEqual(
            checks.metric(
                self.answers.metrics, "phantom_attempts_total", 'class="LIVE"', 'outcome="REFUSED"'
            ),
            live_refused,
        )
        for name in ("WITHDRAWN", "DEAD", "REUSED"):
            count = sum(entry["destinationClass"] == name for entry in self.answers.connections)
            counted = checks.metric(
                self.answers.metrics, "phantom_connections_total", f'class="{name}"'
            )
            self.assertEqual(counted, count)


def _connect_as_application(scene, ip, port, patience=1.5):
    """One connect by the application's uid, around or through its sidecar; returns how it ended."""
    program = (
        "import socket,sys\n"
        "s=socket.create_connection((sys.argv[1],int(sys.argv[2])),float(sys.argv[3]))\n"
        "s.settimeout(float(sys.argv[3]));s.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n');s.recv(100)"
    )
    process = processes.start(
        ["/usr/bin/python3", "-I", "-c", program, ip, str(port), str(patience)],
        os.path.join(scene.client.cgroup, "application"),
        scene.client.netns,
        witness.APPLICATION_UID,
    )
    return process.wait(30)


class CallerChosenAddressTest(fixture.Case):
    """The address of a dead pod that the application itself remembers."""

    def play(self, connect, block_admin=False):
        """Ends one pod and lets EDS forget it; returns phantomd's verdicts on connects to it."""
        with fixture.new_scene(eds_delay=0.2) as scene:
            agent = fixture.new_agent(scene)
            gone = scene.start_pod(scenes.CATALOG_OLD, "10.244.7.11", "catalog")
            scene.start_pod(scenes.CATALOG_OLD, "10.244.7.12", "catalog")
            scene.start_client()
            if block_admin:
                scene.witness.block_admin()
                agent.start()
                agent.wait_for_proxy(believing=False)
            else:
                agent.start()
                agent.wait_for_proxy()
            scene.withdraw(gone, "catalog")
            scene.end_pod(gone)
            scene.report_end(gone, "catalog")
            connect(scene, gone.ip)
            agent.wait_for_verdicts(time.time_ns())
            return [
                entry
                for entry in agent.connections()
                if checks.endpoint(entry["destination"])[0] == gone.ip
            ]

    def test_through_the_proxy_is_client_address(self):
        found = self.play(lambda scene, ip: _connect_as_application(scene, ip, 9000))
        self.assertEqual(
            {checks.kind(entry) for entry in found}, {("DEAD", "CLIENT_ADDRESS", "ABANDONED", "L4")}
        )
        self.assertEqual({entry["initiator"] for entry in found}, {"PROXY"})

    def test_around_the_proxy_is_bypass(self):
        found = self.play(
            lambda scene, ip: _connect_as_application(scene, ip, envoy_config.HEALTH_PORT)
        )
        self.assertEqual(
            [(checks.kind(entry)[:3], entry["initiator"]) for entry in found],
            [(("DEAD", "BYPASS", "ABANDONED"), "APPLICATION")],
        )

    def test_without_an_admin_port_is_unknown_belief(self):
        found = self.play(
            lambda scene, ip: _connect_as_application(scene, ip, 9000), block_admin=True
        )
        self.assertEqual(
            {(entry["destinationClass"], entry["cause"]) for entry in found},
            {("DEAD", "UNKNOWN_BELIEF")},
        )


if __name__ == "__main__":
    unittest.main()
