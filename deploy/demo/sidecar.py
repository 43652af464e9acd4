"""The real Envoy in the client pod, and what its admin port tells."""

import http.client
import json
import os
import shutil
import socket
import subprocess

import hosts
import processes
import witness

ADMIN = ("127.0.0.1", 15000)


class Sidecar:
    """Runs Envoy as uid 1337 in the client's namespace and cgroup."""

    def __init__(self, envoy, control_plane, folder):
        self._source = envoy
        self._control_plane = control_plane
        # A copy, named as the original: uid 1337 may not reach the folder of the build.
        self._binary = os.path.join(folder, "envoy")
        self.log = os.path.join(folder, "envoy.log")
        self.process = None
        self._netns = None

    def start(self, netns, cgroup):
        shutil.copyfile(self._source, self._binary)
        os.chmod(self._binary, 0o755)
        logs = os.path.dirname(self._control_plane.access_log)
        os.makedirs(logs, exist_ok=True)
        os.chown(logs, witness.PROXY_UID, witness.PROXY_UID)
        self._netns = netns
        with open(self.log, "wb") as log:
            self.process = processes.start(
                [
                    self._binary,
                    "-c",
                    self._control_plane.bootstrap,
                    "--disable-hot-restart",
                    "--concurrency",
                    "2",
                    "--log-level",
                    "warning",
                    "--file-flush-interval-msec",
                    "200",
                ],
                cgroup,
                netns,
                witness.PROXY_UID,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        processes.wait_until("Envoy is live with its listeners", self._ready, 30.0)

    def hold(self):
        return processes.Held(self.process)

    def get(self, path):
        """One GET of the admin port, from inside the namespace."""
        connection = http.client.HTTPConnection(*ADMIN, timeout=10)
        connection.sock = hosts.in_netns(self._netns, lambda: socket.create_connection(ADMIN, 10))
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise RuntimeError(f"Envoy's admin port answered {answer.status} to {path}")
        return body

    def http_requests(self):
        """Requests that the HTTP listener has taken, also those whose caller went away early."""
        return self._stats("http.outbound_0.0.0.0_8080.")["downstream_rq_total"]

    def stats(self, cluster):
        """Counters and gauges of one cluster, by their short names."""
        return self._stats(f"cluster.{cluster};.")

    def _stats(self, prefix):
        stats = {}
        for entry in json.loads(self.get("/stats?format=json"))["stats"]:
            name = entry.get("name", "")
            if name.startswith(prefix) and "value" in entry:
                stats[name[len(prefix) :]] = entry["value"]
        return stats

    def hosts_of(self, cluster):
        """Envoy's host set of one cluster: ip -> its counters (absent ones are 0)."""
        for status in json.loads(self.get("/clusters?format=json"))["cluster_statuses"]:
            if status["name"] == cluster:
                return {
                    host["address"]["socket_address"]["address"]: {
                        stat["name"]: int(stat.get("value", 0)) for stat in host.get("stats", [])
                    }
                    for host in status.get("host_statuses", [])
                }
        return {}

    def _ready(self):
        if self.process.poll() is not None:
            with open(self.log, encoding="utf-8", errors="replace") as log:
                raise RuntimeError("Envoy ended at its start: " + log.read()[-2000:])
        try:
            live = json.loads(self.get("/server_info")).get("state", "LIVE") == "LIVE"
            return live and b"0.0.0.0_8080" in self.get("/listeners")
        except OSError:
            return False  # The admin port does not listen yet.
