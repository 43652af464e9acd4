"""The control plane: Envoy's configuration in files that it subscribes to.

Clusters (CDS) and listeners (LDS) are written once. Endpoints (EDS) follow the EndpointSlices, but
`eds_delay` late: what Envoy believes at t is what the slices said at t - eds_delay. That lag is the
phenomenon; in a real mesh it is debounce, queue and push.
"""

import contextlib
import json
import os
import threading
import time

import envoy_config
import kube


def _put(path, content):
    """Renames the file into place: the only change that Envoy's file watch takes notice of."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
    os.chmod(path + ".new", 0o644)
    os.rename(path + ".new", path)


class ControlPlane:
    """Writes the configuration, then lets EDS follow the slices, `eds_delay` seconds late."""

    def __init__(self, folder, eds_delay, on_push=lambda addresses: None):
        self.folder = folder
        self.bootstrap = os.path.join(folder, "envoy-rev.json")
        self.access_log = os.path.join(folder, "log", "access.log")
        self._eds_delay = eds_delay
        self._on_push = on_push
        self._pushes = 0
        self.last_pushed = []
        self.removed_ns = {}  # address -> when Envoy was first told of its removal (CLOCK_BOOTTIME)
        self._due = []  # (monotonic time, endpoints), in order
        self._kept = set()  # addresses that Envoy goes on believing in
        self._condition = threading.Condition()
        self._going = True
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def start(self, client_pod):
        """Configures the client's proxy. Endpoints known by now are in its first EDS, undelayed."""
        with self._condition:
            known = self._due[-1][1] if self._due else []
            self._due.clear()
        self.push(known)
        clusters = envoy_config.clusters(self.folder)
        listeners = envoy_config.listeners(self.access_log)
        _put(os.path.join(self.folder, "cds.json"), self._response(clusters))
        _put(os.path.join(self.folder, "lds.json"), self._response(listeners))
        _put(self.bootstrap, envoy_config.bootstrap(self.folder, client_pod))
        self._thread.start()

    def stop(self):
        with self._condition:
            self._going = False
            self._condition.notify()
        if self._thread.ident is not None:
            self._thread.join()

    def push(self, pods):
        """Writes the EDS files of all three clusters now."""
        self._pushes += 1
        addresses = [pod.ip for pod in pods]
        for gone in set(self.last_pushed) - set(addresses):
            self.removed_ns[gone] = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        for port in envoy_config.PORTS:
            _put(
                envoy_config.eds_path(self.folder, port),
                self._response([envoy_config.assignment(pods, port)]),
            )
        if addresses != self.last_pushed:
            self.last_pushed = addresses
            self._on_push(addresses)

    def endpoints_changed(self, service, ready):
        """A slice changed: Envoy will be told `eds_delay` later what it says now."""
        if service != "catalog":
            return
        with self._condition:
            self._due.append((time.monotonic() + self._eds_delay, list(ready)))
            self._condition.notify()

    @contextlib.contextmanager
    def keep(self, ip):
        """Envoy is not told that this address left before the block ends, however late that is."""
        with self._condition:
            self._kept.add(ip)
        try:
            yield
        finally:
            with self._condition:
                self._kept.discard(ip)
                self._condition.notify()

    def idle(self):
        """Whether Envoy has been told everything."""
        with self._condition:
            return not self._due

    def _next_is_due(self):
        if not self._due or self._due[0][0] > time.monotonic():
            return False
        return self._kept <= {pod.ip for pod in self._due[0][1]}

    def _follow(self):
        while True:
            with self._condition:
                while self._going and not self._next_is_due():
                    left = self._due[0][0] - time.monotonic() if self._due else 0
                    self._condition.wait(left if left > 0 else None)
                if not self._going:
                    return
                pods = self._due[0][1]
            self.push(pods)
            with self._condition:
                self._due.pop(0)

    def _response(self, resources):
        return {"version_info": f"{kube.api_time()}/{self._pushes}", "resources": resources}
