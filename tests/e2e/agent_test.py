"""phantomd as a process: its start, its end, and the inputs that are not as they should be."""

import json
import os
import signal
import time
import unittest

import fixture  # first: it knows where the demo's modules are
import processes
import scene as scenes


def wait_for_attempts(agent, count):
    agent.wait_for("connections are judged", lambda status: int(status.get("attempts", 0)) > count)


def start_under_load(scene, attempts):
    """An agent that has judged more than `attempts` connections of a load that goes on."""
    agent = fixture.new_agent(scene)
    agent.start()
    scene.start_pod(scenes.CATALOG_OLD, "10.244.7.11", "catalog")
    scene.start_client()
    agent.wait_for_proxy()
    scene.start_load(50)
    wait_for_attempts(agent, attempts)
    return agent


class AgentTest(fixture.Case):
    def test_second_agent_on_the_same_socket_says_so_and_ends(self):
        with fixture.new_scene() as scene:
            first = fixture.new_agent(scene)
            first.start()
            second = fixture.new_agent(scene, "second")
            second.address = first.address
            second.start(wait=False)
            self.assertNotEqual(second.process.wait(30), 0)
            with open(second.log, encoding="utf-8") as log:
                lines = log.read().splitlines()
            about = [line for line in lines if first.address.removeprefix("unix:") in line]
            self.assertEqual(len(about), 1, lines)
            first.status()  # The first one goes on answering.
            self.assertEqual(first.stop(), 0)

    def test_feed_file_that_appears_later_is_read_then(self):
        with fixture.new_scene() as scene:
            agent = fixture.new_agent(scene)
            late = os.path.join(scene.folder, "late-pods.json")
            agent.start([late, scene.cluster.slices.path, scene.cluster.nodes.path], wait=False)

            def synced(status, name):
                return [
                    feed.get("synced", False)
                    for feed in status.get("feeds", [])
                    if feed["feed"] == name
                ] == [True]

            agent.wait_for(
                "the feeds that exist are read",
                lambda status: synced(status, "slices") and synced(status, "nodes"),
            )
            status = agent.status()
            self.assertFalse(synced(status, "pods"), status)
            self.assertIn(late, json.dumps(status))
            scene.start_pod(scenes.CATALOG_OLD, "10.244.7.11", "catalog")
            os.link(scene.cluster.pods.path, late)
            agent.wait_for(
                "the late file is read",
                lambda status: synced(status, "pods") and int(status.get("podsIndexed", 0)) == 1,
            )
            self.assertEqual(agent.stop(), 0)

    def test_broken_feed_line_is_named_and_the_rest_is_read(self):
        with fixture.new_scene() as scene:
            agent = fixture.new_agent(scene)
            agent.start()
            with open(scene.cluster.pods.path, "ab") as feed:
                feed.write(b'{"type":"ADDED","object":{"kind":"Pod","metadata":\n')
            scene.start_pod(scenes.CATALOG_OLD, "10.244.7.11", "catalog")
            agent.wait_for(
                "the pod behind the broken line is known",
                lambda status: int(status.get("podsIndexed", 0)) == 1,
            )
            place = scene.cluster.pods.path + ":1: "
            status = agent.status()
            self.assertIn({"key": "pod_event", "count": "1"}, status["lost"])
            self.assertEqual(sum(place in text for text in status["limitations"]), 1, status)
            self.assertEqual(agent.stop(), 0)
            with open(agent.log, encoding="utf-8") as log:
                self.assertEqual(sum(place in line for line in log), 1)

    def test_sigterm_under_load_ends_it_in_order_with_a_whole_recording(self):
        with fixture.new_scene() as scene:
            agent = start_under_load(scene, 50)
            self.assertEqual(agent.stop(), 0)
            self.assertFalse(os.path.exists(agent.address.removeprefix("unix:")))
            report = json.loads(agent.replay("-o", "json"))
            self.assertGreater(int(report["status"]["attempts"]), 50)
            counts = report["status"]["attemptsByClass"]
            self.assertEqual({entry["key"] for entry in counts if int(entry["count"])}, {"LIVE"})

    def test_agent_started_under_load_finds_the_running_proxy(self):
        with fixture.new_scene() as scene:
            scene.start_pod(scenes.CATALOG_OLD, "10.244.7.11", "catalog")
            scene.start_client()
            scene.start_load(50)
            processes.wait_until("the load runs", lambda: scene.witness.connections("before"), 10.0)
            agent = fixture.new_agent(scene)
            agent.start()
            agent.wait_for_proxy()
            wait_for_attempts(agent, 50)
            proxy = agent.own_proxy()["proxy"]
            self.assertEqual(proxy["name"], "shop/" + scene.client.name)
            self.assertEqual(proxy["role"], "SIDECAR")
            self.assertEqual(proxy["pod"]["uid"], scene.client.pod.uid)
            self.assertEqual(agent.stop(), 0)

    def test_other_proxy_of_the_machine_is_nobody_to_wait_for(self):
        with fixture.new_scene() as scene:
            scene.start_pod(scenes.CATALOG_OLD, "10.244.7.11", "catalog")
            # It has no admin port: nobody ever learns what it believes.
            other = processes.start(
                [
                    fixture.ENVOY,
                    "--disable-hot-restart",
                    "--config-yaml",
                    "node: {id: a, cluster: b}",
                ],
                os.path.join(scene.node.cgroup, "other"),
                scene.node.netns,
            )
            agent = fixture.new_agent(scene)
            agent.start()
            agent.wait_for("the other is found", lambda status: status.get("proxies") == 1)
            scene.start_client()
            agent.wait_for_proxy()
            scene.start_load(50)
            wait_for_attempts(agent, 10)
            scene.stop_load()
            agent.wait_for_verdicts(time.time_ns())
            self.assertIsNone(other.poll())
            self.assertEqual(len(agent.proxies()), 2)
            self.assertEqual(agent.own_proxy()["proxy"]["name"], "shop/" + scene.client.name)
            self.assertEqual(agent.stop(), 0)

    def test_kill_leaves_a_recording_that_replays_up_to_the_cut(self):
        with fixture.new_scene() as scene:
            agent = start_under_load(scene, 200)
            processes.end(agent.process, signal.SIGKILL)
            report = json.loads(agent.replay("-o", "json"))
            self.assertGreater(int(report["status"]["attempts"]), 0)


if __name__ == "__main__":
    unittest.main()
