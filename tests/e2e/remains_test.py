"""What a scene leaves whose owner is killed, and what of it the next one removes."""

import os
import signal
import subprocess
import tempfile
import unittest

import fixture  # first: it knows where the demo's modules are
import processes
import remains
import scene as scenes
import turn
import undo


def kill_owner_of_a_scene():
    """A process of its own begins a scene and is killed inside; returns the scene's name."""
    owner = os.fork()
    if owner == 0:
        try:
            fixture.new_scene().__enter__().start_pod(
                scenes.CATALOG_OLD, "10.244.7.11", "catalog"
            )
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    _, status = os.waitpid(owner, 0)
    if not os.WIFSIGNALED(status):
        raise RuntimeError("the scene could not be set up")
    return undo.PREFIX + str(owner)


class KilledSceneTest(fixture.Case):
    def test_is_removed_by_the_next_one_which_says_so(self):
        before = fixture.leftovers()
        name = kill_owner_of_a_scene()
        left = fixture.leftovers()
        self.assertIn(name, left["cgroups"])
        self.assertIn(name, left["folders"])
        self.assertIn(name + "-node", left["namespaces"])
        self.assertGreater(len(left["processes"]), 1)

        said = []
        with scenes.Scene(fixture.ENVOY, fixture.EDS_DELAY, said.append) as scene:
            self.assertEqual(remains.found(), [scene.prefix])
            self.assertEqual(
                [text for text in said if name in text],
                [f"removed what {name} left: its owner was killed"],
            )
        self.assert_nothing_left(before)

    def test_every_one_of_several_is_removed(self):
        before = fixture.leftovers()
        with turn.Turn():
            # As by a killed owner each, but a killed one's next would remove its things at once.
            cgroups = [os.path.join(undo.cgroup2_mount(), undo.PREFIX + end) for end in "12"]
            sleepers = [processes.start(["sleep", "infinity"], cgroup) for cgroup in cgroups]
            for cgroup in cgroups:
                processes.wait_until(
                    "the process is in its cgroup", lambda at=cgroup: undo.pids_below(at), 10.0
                )
            self.assertEqual(remains.remove(), [undo.PREFIX + "1", undo.PREFIX + "2"])
            self.assertEqual([sleeper.wait(10) for sleeper in sleepers], [-signal.SIGKILL] * 2)
        self.assert_nothing_left(before)


class ForeignThingsTest(fixture.Case):
    def test_what_only_resembles_a_scene_is_left_alone(self):
        with turn.Turn(), tempfile.TemporaryDirectory(prefix=undo.PREFIX + "7-") as longer:
            others = os.path.join(tempfile.gettempdir(), undo.PREFIX + "8")
            link = os.path.join(tempfile.gettempdir(), undo.PREFIX + "9")
            netns = undo.PREFIX + "notes"
            mounted = os.path.ismount(undo.NETNS_DIR)
            os.mkdir(others)
            try:
                os.chown(others, 65534, 65534)
                os.symlink(longer, link)
                subprocess.run(["ip", "netns", "add", netns], check=True)
                self.assertEqual(remains.remove(), [])
                for path in (longer, others, link, os.path.join(undo.NETNS_DIR, netns)):
                    self.assertTrue(os.path.exists(path), path)
            finally:
                subprocess.run(["ip", "netns", "delete", netns])
                if not mounted:
                    undo.unmount_netns_dir()
                if os.path.islink(link):
                    os.unlink(link)
                os.rmdir(others)


if __name__ == "__main__":
    unittest.main()
