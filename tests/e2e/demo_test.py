"""deploy/demo/run as an operator runs it: to its end, and interrupted."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import fixture

RUN = os.path.join(fixture.SOURCE_DIR, "deploy", "demo", "run")


def command(*options):
    return [RUN, "--no-build", "--build-dir", fixture.BUILD_DIR, *options]


class DemoTest(fixture.Case):
    """One whole run."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.before = fixture.leftovers()
        with tempfile.TemporaryDirectory() as folder:
            cls.done = subprocess.run(
                command("--eds-delay", "2", "--keep", folder), text=True, capture_output=True
            )
            cls.kept = {
                name: os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)
            }

    def test_exits_0_with_every_check_held(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout + self.done.stderr)
        self.assertNotIn("FAILED", self.done.stdout)
        self.assertIn("\nok      ", self.done.stdout)
        self.assertEqual(self.done.stderr, "")

    def test_prints_both_counts_of_every_dead_address_side_by_side(self):
        rows = re.findall(r"^(10\.244\.7\.\d+) +catalog-\S+ +(\d+) +(\d+) ", self.done.stdout, re.M)
        self.assertEqual(len(rows), 3, self.done.stdout)
        for ip, witness, phantomd in rows:
            self.assertEqual(witness, phantomd, ip)
            self.assertGreater(int(witness), 0)

    def test_shows_every_observer_and_the_three_commands(self):
        for text in (
            "client ",
            "HTTP access log",
            "Envoy's cluster",
            "Envoy's hosts",
            "nftables",
            "phantomd",
            "$ phantomctl rollouts",
            "$ phantomctl connections",
            "$ phantomctl explain 10.244.7.",
        ):
            self.assertIn(text, self.done.stdout)

    def test_is_readable_in_100_columns(self):
        before, _, rest = self.done.stdout.partition("\n$ phantomctl")
        own = before + rest[rest.index("\nWhat each observer saw") :]
        self.assertEqual([line for line in own.splitlines() if len(line) > 100], [])

    def test_keeps_recording_feeds_and_logs(self):
        for name in (
            "phantomd.rec",
            "pods.json",
            "endpointslices.json",
            "nodes.json",
            "calls.jsonl",
            "access.log",
        ):
            self.assertGreater(self.kept.get(name, 0), 0, name)

    def test_nothing_is_left(self):
        self.assert_nothing_left(self.before)


class PromptEdsDemoTest(fixture.Case):
    def test_every_check_holds_when_envoy_is_told_before_most_pods_end(self):
        done = subprocess.run(command("--eds-delay", "0.2"), text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("10.244.7.11: 0 connections after the pod's end", done.stdout)
        self.assertNotRegex(done.stdout, r"\b1 phantoms")
        self.assertNotIn("The reused address connects", done.stdout)


class InterruptedDemoTest(fixture.Case):
    def interrupt(self, number, after):
        """Sends the signal, as a terminal does, once the demo's output has the line `after`."""
        before = fixture.leftovers()
        demo = subprocess.Popen(
            command(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            for line in demo.stdout:
                if after in line:
                    break
            else:
                self.fail(f"the demo ended without the line {after!r}: {demo.stderr.read()}")
            os.killpg(demo.pid, number)
            _, errors = demo.communicate(timeout=60)
        finally:
            if demo.poll() is None:
                demo.terminate()
                demo.communicate()
        self.assertEqual(demo.returncode, 128 + number, errors)
        self.assertIn("interrupted by " + signal.Signals(number).name, errors)
        self.assert_nothing_left(before)

    def test_leaves_nothing_before_the_client_exists(self):
        self.interrupt(signal.SIGINT, "phantomd runs")

    def test_leaves_nothing_under_load(self):
        self.interrupt(signal.SIGTERM, "webapp calls catalog")

    def test_leaves_nothing_in_the_rolling_update(self):
        self.interrupt(signal.SIGINT, "is silent from now on")

    def test_leaves_nothing_after_the_load(self):
        self.interrupt(signal.SIGTERM, "the load has ended")

    def test_leaves_nothing_when_it_is_told_to_quit(self):
        self.interrupt(signal.SIGQUIT, "webapp runs on")


class UnreadDemoTest(fixture.Case):
    def test_ends_with_one_sentence_when_its_reader_leaves(self):
        before = fixture.leftovers()
        demo = subprocess.Popen(
            command(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        with demo:
            demo.stdout.readline()
            demo.stdout.close()
            errors = demo.stderr.read()
        self.assertEqual(
            (demo.returncode, errors),
            (1, "deploy/demo/run: nobody reads the output any more; everything is removed\n"),
        )
        self.assert_nothing_left(before)


class UnprivilegedDemoTest(fixture.Case):
    def test_says_in_one_sentence_that_it_needs_root(self):
        with tempfile.TemporaryDirectory() as folder:
            # Nobody but root may be able to reach the source tree.
            os.chmod(folder, 0o755)
            demo = os.path.join(folder, "deploy", "demo")
            shutil.copytree(os.path.dirname(RUN), demo)
            done = subprocess.run(
                [
                    "setpriv",
                    "--reuid=65534",
                    "--regid=65534",
                    "--clear-groups",
                    os.path.join(demo, "run"),
                ],
                text=True,
                capture_output=True,
            )
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("must run as root", done.stderr)


if __name__ == "__main__":
    unittest.main()
