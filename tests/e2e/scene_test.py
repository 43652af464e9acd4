"""The scene without phantomd: its observers must be right before phantomd is held against them."""

import socket
import unittest

import fixture  # first: it knows where the demo's modules are
import hosts
import envoy_config
import observe
import processes
import scene as scenes
import show


class SceneTest(fixture.Case):
    """One play, watched by everybody but phantomd."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.before = fixture.leftovers()
        with fixture.new_scene() as scene:
            cls.plot = show.play(scene, show.set_up(scene))
            cls.view = observe.of(scene)

    def test_kernel_and_envoy_count_the_same_connections(self):
        for path in self.view.paths.values():
            self.assertEqual(path.syns.total(), path.stats["upstream_cx_total"])

    def test_every_dead_address_was_dialled(self):
        for path in self.view.paths.values():
            self.assertEqual(
                {syn[2] for syn in path.phantom_syns}, {pod.ip for pod in self.plot.old}
            )

    def test_dead_address_is_silent(self):
        self.assertEqual(self.view.icmp_packets, 0)

    def test_crashed_container_refuses_and_nobody_else(self):
        refusers = {syn[2] for syn in observe.crash_refusals(self.view)}
        self.assertEqual(refusers, {self.plot.crashed_ip})

    def test_reused_address_answers_callers_of_the_service(self):
        http, tls = self.view.paths["http"], self.view.paths["tls"]
        self.assertGreater(http.answered_by["inventory"] + tls.ends["wrong certificate"], 0)

    def test_retries_hide_dead_addresses_from_http_callers_alone(self):
        http, tls = self.view.paths["http"], self.view.paths["tls"]
        self.assertGreater(http.stats["upstream_rq_retry_success"], 0)
        self.assertGreater(tls.ends.total() - tls.ends["ok"], 0)
        self.assertEqual(len(self.view.access_log), http.ends.total())

    def test_nothing_is_left(self):
        self.assert_nothing_left(self.before)


class RemovedPodTest(fixture.Case):
    def test_syn_to_its_address_gets_no_answer_at_all(self):
        with fixture.new_scene() as scene:
            kept = scene.start_pod(scenes.CATALOG_OLD, "10.244.7.11", "catalog")
            gone = scene.start_pod(scenes.CATALOG_OLD, "10.244.7.12", "catalog")
            scene.start_client()
            scene.withdraw(gone, "catalog")
            scene.end_pod(gone)

            def connect(ip):
                with socket.create_connection((ip, envoy_config.HEALTH_PORT), 1.5):
                    return "answered"

            self.assertEqual(
                hosts.in_netns(scene.client.netns, lambda: connect(kept.ip)), "answered"
            )
            with self.assertRaises(TimeoutError):
                hosts.in_netns(scene.client.netns, lambda: connect(gone.ip))
            self.assertEqual(scene.witness.icmp_packets(), 0)

    def test_address_can_be_reused_at_once(self):
        with fixture.new_scene() as scene:
            first = scene.start_pod(scenes.CATALOG_OLD, "10.244.7.11", "catalog")
            scene.start_client()
            scene.withdraw(first, "catalog")
            scene.end_pod(first)
            scene.start_pod(scenes.INVENTORY, "10.244.7.11", "inventory")

            # A stale neighbour entry would keep it silent for longer: neighbours are asked for anew
            # after 8 s.
            # (A new link may drop the first SYN; its retransmission follows after 1 s.)
            hosts.in_netns(
                scene.client.netns,
                lambda: socket.create_connection(
                    ("10.244.7.11", envoy_config.HEALTH_PORT), 5
                ).close(),
            )


class HeldProxyTest(fixture.Case):
    def test_sends_nothing_while_it_is_held(self):
        with fixture.new_scene() as scene:
            scene.start_pod(scenes.CATALOG_OLD, "10.244.7.11", "catalog")
            scene.start_client()
            scene.start_load(50)
            processes.wait_until("the load runs", lambda: scene.witness.connections("before"), 10.0)
            with scene.sidecar.hold():
                first = scene.witness.connections("before")
                calls = scene.witness.connections("application").total()
                processes.wait_until(
                    "the application goes on",
                    lambda: scene.witness.connections("application").total() > calls + 20,
                    10.0,
                )
                self.assertEqual(scene.witness.connections("before"), first)
            scene.stop_load()


if __name__ == "__main__":
    unittest.main()
