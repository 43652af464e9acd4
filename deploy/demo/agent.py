"""phantomd beside the scene, asked through phantomctl as an operator would ask it."""

import datetime
import json
import os
import signal
import socket
import subprocess
import urllib.request

import kube
import processes


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def parse_time(text):
    """A google.protobuf.Timestamp in JSON, as nanoseconds of the wall clock."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    seconds = datetime.datetime.fromisoformat(whole + "+00:00").timestamp()
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0") or 0)


class Agent:
    """One phantomd process, its socket, its recording and its log, all in the scene's folder."""

    pause = 0.01  # seconds between two questions while it is waited for something

    def __init__(self, scene, phantomd, phantomctl, name="phantomd"):
        self._scene = scene
        self._phantomd = phantomd
        self._phantomctl = phantomctl
        self._cgroup = os.path.join(scene.node.cgroup, "agent")
        self.log = os.path.join(scene.folder, name + ".log")
        self.recording = os.path.join(scene.folder, name + ".rec")
        self.address = "unix:" + os.path.join(scene.folder, name + ".sock")
        self.metrics_address = f"127.0.0.1:{free_port()}"
        self.process = None

    def start(self, feeds=None, wait=True):
        """Starts phantomd; returns when it answers and its feeds are synced."""
        cluster = self._scene.cluster
        feeds = feeds or [cluster.pods.path, cluster.slices.path, cluster.nodes.path]
        with open(self.log, "ab") as log:
            self.process = processes.start(
                [
                    self._phantomd,
                    *(f"--feed=file:{path}" for path in feeds),
                    "--node_name",
                    kube.NODE,
                    "--listen",
                    self.address,
                    "--metrics_listen",
                    self.metrics_address,
                    "--record",
                    self.recording,
                ],
                self._cgroup,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        if wait:
            self.wait_for(
                "phantomd has read its feeds",
                lambda status: all(feed.get("synced") for feed in status.get("feeds", [{}])),
            )

    def stop(self):
        """Ends phantomd in order; its recording is complete then."""
        processes.end(self.process, signal.SIGTERM)
        return self.process.returncode

    def text(self, *arguments):
        """What phantomctl prints for a person."""
        done = self.run(*arguments)
        if done.returncode != 0:
            raise RuntimeError(f"phantomctl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def ask(self, *arguments):
        return json.loads(self.text(*arguments, "-o", "json"))

    def run(self, *arguments):
        return subprocess.run(
            [self._phantomctl, "--address", self.address, *arguments],
            capture_output=True,
            text=True,
        )

    def status(self):
        return self.ask("status")

    def proxies(self):
        return self.ask("proxies").get("proxies", [])

    def own_proxy(self):
        """The scene's proxy among all that run on this machine; None while it is not known."""
        name = f"{kube.NAMESPACE}/{self._scene.client.name}"
        return next((entry for entry in self.proxies() if entry["proxy"].get("name") == name), None)

    def connections(self):
        return self.ask("connections").get("connections", [])

    def rollouts(self):
        return self.ask("rollouts").get("rollouts", [])

    def replay(self, *arguments):
        """Standard output of `phantomctl replay`, as bytes."""
        return subprocess.run(
            [self._phantomctl, "replay", self.recording, *arguments],
            capture_output=True,
            check=True,
        ).stdout

    def metrics(self):
        with urllib.request.urlopen(f"http://{self.metrics_address}/metrics", timeout=10) as answer:
            return answer.read().decode()

    def wait_for(self, what, condition, patience=30.0):
        """Polls `phantomctl status` until the condition holds for its answer."""

        def check():
            if self.process.poll() is not None:
                raise RuntimeError("phantomd ended:\n" + self.log_tail())
            done = self.run("status", "-o", "json")
            return done.returncode == 0 and condition(json.loads(done.stdout))

        try:
            processes.wait_until(what, check, patience, self.pause)
        except RuntimeError as error:
            raise RuntimeError(f"{error}\nphantomd's log ends:\n{self.log_tail()}") from None

    def wait_for_proxy(self, believing=True):
        """Until the scene's proxy is known, and what it believes; others do not matter."""

        def known(_status):
            proxy = self.own_proxy()
            return proxy is not None and ("lastBelief" in proxy or not believing)

        self.wait_for("phantomd knows the proxy and what it believes", known)

    def wait_for_verdicts(self, wall_ns, patience=90.0):
        """Until every attempt that ended before `wall_ns` has its verdict.

        How many attempts wait for news says nothing: others on this machine may go on connecting.
        """
        self.wait_for(
            "phantomd has judged every connection",
            lambda status: parse_time(status.get("judgedUntil", "1970-01-01T00:00:00Z")) >= wall_ns,
            patience,
        )

    def log_tail(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return "".join(log.readlines()[-20:])
