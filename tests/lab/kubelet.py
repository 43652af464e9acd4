"""A stand-in for the kubelets and the scheduler of the lab: what makes the API's pods real.

Each pod gets a network namespace, an address from a small pool, and a process. The order is that of
a real node:

    bound, [address up], process listens, Running and Ready reported
    deletion seen, SIGTERM, [process dead], [address gone], Succeeded reported, deleted with grace 0

What stands in brackets is written to a log at the instant at which it happened: the truth, against
which others' bounds are held; and when the server had been told of the address. The address that was given back last is given out first, so that it
has its next holder as soon as can be.

The API server may be away at any time. What happens to pods then goes on happening, and is reported
once it is back.
"""

import datetime
import json
import os
import queue
import signal
import subprocess
import threading
import time

import api as apis
import processes

PORT = 8080
LEASE_SECONDS = 40
RETRY_SECONDS = 0.1
LINGER_SECONDS = (0.0, 0.3, 0.6)  # in turn: what pods take from their deletion request to SIGTERM
HEARTBEAT_SECONDS = 5.0
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


def boot_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def api_time(wall_ns=None):
    """A metav1.Time: whole seconds, cut off."""
    seconds = (time.time_ns() if wall_ns is None else wall_ns) // 10**9
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Stopped(Exception):
    """The lab is being taken down."""


class TruthLog:
    """One JSON line per instant, each in one write."""

    def __init__(self, path):
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, what, pod, **more):
        line = {"boot": boot_ns(), "wall": time.time_ns(), "what": what, "ip": pod.ip}
        line |= {"uid": pod.uid, "pod": pod.name, "node": pod.node, **more}
        os.write(self._file, (json.dumps(line) + "\n").encode())

    def lines(self):
        with open(self.path, encoding="utf-8") as log:
            return [json.loads(line) for line in log]

    def close(self):
        os.close(self._file)


class _Pod:
    """One pod object, and the thread that lives its life."""

    def __init__(self, item):
        metadata = item["metadata"]
        self.uid = metadata["uid"]
        self.name = metadata["name"]
        self.path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{self.name}"
        self.containers = [container["name"] for container in item["spec"]["containers"]]
        self.node = item["spec"].get("nodeName")
        self.ip = None
        self.leaving = threading.Event()  # its deletion was requested, or its object is gone


class Kubelet:
    """Plays the nodes `names`; pods are dealt out to them in turn."""

    def __init__(self, api, network, names, pod_program, addresses, log):
        self._api = api
        self._network = network
        self._names = names
        self._pod_program = pod_program
        self._log = log
        self._free = queue.LifoQueue()
        for address in reversed(addresses):
            self._free.put(address)
        self._pods = {}
        self._bound = 0
        self._ended = 0
        self._stopping = threading.Event()
        self._threads = []
        self._processes = []
        self.failures = []  # of its threads; a test that meets one is wrong about everything else

    def start(self):
        for index, name in enumerate(self._names):
            self._register(name, f"192.0.2.{11 + index}")
        self._run(self._follow)
        self._run(self._beat)

    def ask_to_stop(self):
        self._stopping.set()

    def stop(self):
        """No thread of it runs any more when this returns; every process must have ended."""
        self.ask_to_stop()
        for pod in list(self._pods.values()):
            pod.leaving.set()
        for thread in list(self._threads):
            thread.join()
        for process in self._processes:
            process.stdout.close()

    def _run(self, function, *arguments):
        def body():
            try:
                function(*arguments)
            except Stopped:
                pass
            except BaseException as error:  # Raised again by whoever asks for the failures.
                self.failures.append(error)

        thread = threading.Thread(target=body, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _insist(self, call, *arguments):
        """The answer to a request, however often it must be sent; None if the object is gone."""
        while not self._stopping.is_set():
            try:
                return call(*arguments)
            except apis.Refused as refused:
                if refused.status in (404, 409):
                    return None
                if refused.status < 500 and refused.status not in (401, 403, 429):
                    raise
            except apis.AWAY:
                pass
            self._stopping.wait(RETRY_SECONDS)
        raise Stopped

    # ---- nodes

    def _register(self, name, address):
        self._api.create(
            "/api/v1/nodes",
            {
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                "spec": {"podCIDR": self._network.block, "podCIDRs": [self._network.block]},
            },
        )
        status = {
            "addresses": [{"type": "InternalIP", "address": address}],
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "KubeletReady",
                    "lastHeartbeatTime": api_time(),
                    "lastTransitionTime": api_time(),
                }
            ],
        }
        self._api.patch(f"/api/v1/nodes/{name}/status", {"status": status})
        # The server makes the namespace soon after its start.
        processes.wait_until("there is a namespace for leases", self._leases, 20.0)
        self._api.create(_LEASES, {"metadata": {"name": name}, "spec": self._lease(name)})

    def _leases(self):
        try:
            return self._api.get("/api/v1/namespaces/kube-node-lease")
        except apis.Refused:
            return None

    def _lease(self, name):
        return {
            "holderIdentity": name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": _micro_time(),
        }

    def _beat(self):
        while not self._stopping.wait(HEARTBEAT_SECONDS):
            for name in self._names:
                self._insist(self._api.patch, f"{_LEASES}/{name}", {"spec": self._lease(name)})

    # ---- pods

    def _follow(self):
        while not self._stopping.is_set():
            try:
                listed = self._api.get("/api/v1/pods")
                names = {item["metadata"]["uid"] for item in listed["items"]}
                for item in listed["items"]:
                    self._seen(item)
                for uid, pod in self._pods.items():
                    if uid not in names:
                        pod.leaving.set()
                version = listed["metadata"]["resourceVersion"]
                for event in self._api.watch("/api/v1/pods", version):
                    self._seen(event["object"], event["type"] == "DELETED")
            except (apis.Refused, *apis.AWAY):
                self._stopping.wait(RETRY_SECONDS)

    def _seen(self, item, deleted=False):
        uid = item["metadata"]["uid"]
        pod = self._pods.get(uid)
        if pod is None and not deleted:
            pod = self._pods[uid] = _Pod(item)
            self._run(self._live, pod)
        if pod and (deleted or "deletionTimestamp" in item["metadata"]):
            pod.leaving.set()

    def _live(self, pod):
        if not self._bind(pod):
            return
        pod.ip = self._take_address(pod)
        if pod.ip is None:
            self._delete(pod)
            return
        netns = self._network.prepare(pod.uid)
        self._network.attach(netns, pod.ip)
        self._log.write("up", pod)
        process, started = self._start_process(pod, netns)
        if process:
            self._report(pod, "Running", started)
            self._log.write("reported", pod)
            pod.leaving.wait()
            self._ended += 1
            if self._stopping.wait(LINGER_SECONDS[self._ended % len(LINGER_SECONDS)]):
                return
            finished = self._end_process(pod, process)
        self._network.detach(netns, pod.ip)
        self._log.write("gone", pod)
        self._free.put(pod.ip)
        if process:
            self._report(pod, "Succeeded", started, finished)
        self._delete(pod)

    def _bind(self, pod):
        if pod.node is None:
            pod.node = self._names[self._bound % len(self._names)]
            self._bound += 1
            target = {"apiVersion": "v1", "kind": "Node", "name": pod.node}
            body = {"metadata": {"name": pod.name, "uid": pod.uid}, "target": target}
            if self._insist(self._api.create, pod.path + "/binding", body) is None:
                # Gone before it was bound; or bound by a request whose answer was lost.
                item = self._insist(self._api.get, pod.path)
                return item is not None and item["metadata"]["uid"] == pod.uid
        return True

    def _take_address(self, pod):
        """Waits for one, as long as the pod is wanted."""
        while not pod.leaving.is_set():
            try:
                return self._free.get(timeout=RETRY_SECONDS)
            except queue.Empty:
                pass
        return None

    def _start_process(self, pod, netns):
        process = processes.start(
            [self._pod_program, str(PORT)],
            os.path.join(self._network.pod_cgroup(pod.uid), os.urandom(32).hex()),
            netns,
            stdout=subprocess.PIPE,
        )
        self._processes.append(process)
        what, _, _ = process.stdout.readline().partition(b" ")
        if what != b"ready":
            if self._stopping.is_set():
                raise Stopped
            raise RuntimeError(f"the process of {pod.name} did not start")
        return process, api_time()

    def _end_process(self, pod, process):
        process.send_signal(signal.SIGTERM)
        what, _, ended = process.stdout.readline().partition(b" ")
        process.wait()
        dead, finished = boot_ns(), time.time_ns()
        if self._stopping.is_set():
            raise Stopped
        if what != b"ended":
            raise RuntimeError(f"the process of {pod.name} ended unasked")
        # It lived when it said its last word and was dead when it had been waited for.
        self._log.write("dead", pod, alive=int(ended), dead=dead)
        return api_time(finished)

    def _report(self, pod, phase, started, finished=None):
        ready = "False" if finished else "True"
        states = {
            "PodScheduled": "True",
            "Initialized": "True",
            "ContainersReady": ready,
            "Ready": ready,
        }
        now = api_time()
        running = {"running": {"startedAt": started}}
        ended = {
            "terminated": {
                "exitCode": 0,
                "reason": "Completed",
                "startedAt": started,
                "finishedAt": finished,
            }
        }
        status = {
            "phase": phase,
            "hostIP": "192.0.2.11",
            "podIP": pod.ip,
            "podIPs": [{"ip": pod.ip}],
            "startTime": started,
            "conditions": [
                {"type": kind, "status": state, "lastTransitionTime": now}
                for kind, state in states.items()
            ],
            "containerStatuses": [
                {
                    "name": name,
                    "image": "lab",
                    "imageID": "lab",
                    "ready": not finished,
                    "started": not finished,
                    "restartCount": 0,
                    "state": ended if finished else running,
                    "containerID": "lab://" + pod.uid,
                }
                for name in pod.containers
            ],
        }
        body = {"metadata": {"uid": pod.uid}, "status": status}
        self._insist(self._api.patch, pod.path + "/status", body)

    def _delete(self, pod):
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": pod.uid},
        }
        self._insist(self._api.request, "DELETE", pod.path, body)
