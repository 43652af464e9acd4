"""The lab: a real control plane, pods with real addresses, and phantomd beside them.

Like the demo's scene it is a `with` block that leaves nothing behind, carries the same names, and
has the machine to itself (deploy/demo/undo.py, remains.py, turn.py).
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import urllib.request

SOURCE_DIR = os.environ.get("PHANTOMD_SOURCE_DIR") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)
sys.path.insert(0, os.path.join(SOURCE_DIR, "tests", "e2e"))

import fixture  # noqa: E402: found by the line above; it knows where the demo's modules are

import agent as agents  # noqa: E402
import api as apis  # noqa: E402
import control_plane as control_planes  # noqa: E402
import hosts  # noqa: E402
import kubelet as kubelets  # noqa: E402
import processes  # noqa: E402
import programs  # noqa: E402
import remains  # noqa: E402
import turn  # noqa: E402
import undo  # noqa: E402
import watcher as watchers  # noqa: E402

BUILD_DIR = fixture.BUILD_DIR
BLOCK = "10.244.7.0/24"
NODES = ("lab-node-a", "lab-node-b")
NAMESPACE = "shop"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/catalog"
FULL = os.environ.get("PHANTOMD_LAB") == "full"
ACCOUNT_FOLDER = "/run/secrets/kubernetes.io/serviceaccount"  # /var/run is /run

Case = fixture.Case


class PlayedCase(Case):
    """What is tested has been played, once, in a lab with so many ADDRESSES: play(lab)."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.before = fixture.leftovers()
        with Lab(cls.ADDRESSES) as lab:
            cls.play(lab)

    def test_nothing_is_left(self):
        self.assert_nothing_left(self.before)


def wait_until(what, condition, patience):
    """As the demo's, but what is polled here is a server that has other things to do."""
    return processes.wait_until(what, condition, patience, 0.1)


class Lab(undo.Scope):
    def __init__(self, addresses):
        """`addresses`: how many there are for all pods."""
        self.prefix = undo.PREFIX + str(os.getpid())
        self.folder = os.path.join(tempfile.gettempdir(), self.prefix)
        self.network = hosts.Node(self.prefix, BLOCK)
        self._addresses = [f"10.244.7.{number}" for number in range(10, 10 + addresses)]
        self.servers = self.kubelet = None
        self._watchers = []
        self._netns_dir_was_mounted = True
        self._turn = turn.Turn()

    def _open(self):
        self._turn.take()
        remains.remove()
        self._netns_dir_was_mounted = os.path.ismount(undo.NETNS_DIR)
        os.mkdir(self.folder, 0o755)
        if not self._netns_dir_was_mounted:
            remains.note_netns_mount(self.folder)
        self.network.create()
        binaries = os.path.join(BUILD_DIR, "lab", "bin")
        if not os.path.isdir(binaries):
            raise RuntimeError(f"{binaries} is not there: tests/lab/servers/build makes it")
        self.servers = control_planes.ControlPlane(
            self.prefix, self.network.cgroup, self.folder, binaries
        )
        self.servers.start()
        self.truth = kubelets.TruthLog(os.path.join(self.folder, "truth.jsonl"))
        self.kubelet = kubelets.Kubelet(
            self.servers.api,
            self.network,
            NODES,
            os.path.join(BUILD_DIR, "tests", "lab", "lab_pod"),
            self._addresses,
            self.truth,
        )
        self.kubelet.start()
        self.servers.kubectl(
            "apply", "-f", os.path.join(SOURCE_DIR, "deploy", "kubernetes", "rbac.yaml")
        )
        account = self.servers.api.get("/api/v1/namespaces/phantomd/serviceaccounts/phantomd")
        self._account_uid = account["metadata"]["uid"]

    def _close(self):
        if self.kubelet:
            self.kubelet.ask_to_stop()
        undo.end_processes(self.network.cgroup)
        if self.kubelet:
            self.kubelet.stop()
            self.truth.close()
            self.kubelet = None
        for watcher in self._watchers:
            watcher.stop()
        self._watchers = []

        undo.remove_all(self.prefix, self.network.cgroup, self.folder, self._netns_dir_was_mounted)
        processes.reap_all()
        self._turn.give_back()

    # ---- what happens in the cluster

    def create_workload(self, replicas):
        """A Deployment and the Service of its pods; returns when all are ready and listed."""
        api = self.servers.api
        api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        wait_until("the namespace has its account", self._has_account, 20.0)
        api.create(
            f"/api/v1/namespaces/{NAMESPACE}/services",
            {
                "metadata": {"name": "catalog"},
                "spec": {"selector": {"app": "catalog"}, "ports": [{"port": kubelets.PORT}]},
            },
        )
        container = {"name": "catalog", "image": "lab"}
        api.create(
            os.path.dirname(DEPLOYMENT),
            {
                "metadata": {"name": "catalog"},
                "spec": {
                    "replicas": replicas,
                    "selector": {"matchLabels": {"app": "catalog"}},
                    "template": {
                        "metadata": {"labels": {"app": "catalog"}, "annotations": {"roll": "0"}},
                        "spec": {"containers": [container]},
                    },
                },
            },
        )
        self._rolls = 0
        self.wait_for_roll(replicas)

    def _has_account(self):
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
        try:
            return self.servers.api.get(path)
        except apis.Refused:
            return None

    def begin_roll(self):
        self._rolls += 1
        template = {"metadata": {"annotations": {"roll": str(self._rolls)}}}
        self.servers.api.patch(DEPLOYMENT, {"spec": {"template": template}})

    def deaths(self):
        """How many pods have died so far."""
        self.raise_failures()
        return sum(line["what"] == "dead" for line in self.truth.lines())

    def wait_for_deaths(self, count):
        wait_until(f"{count} pods have died", lambda: self.deaths() >= count, 60.0)

    def roll_is_over(self, replicas):
        """The Deployment is as it should be; its old pods and their endpoints are gone."""
        self.raise_failures()
        try:
            deployment = self.servers.api.get(DEPLOYMENT)
            pods = self.servers.api.get(f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
            listed = self._listed()
        except (apis.Refused, *apis.AWAY):
            return False
        status = deployment.get("status", {})
        wanted = {pod["metadata"]["uid"] for pod in pods}
        return (
            status.get("observedGeneration") == deployment["metadata"]["generation"]
            and status.get("updatedReplicas") == replicas
            and status.get("availableReplicas") == replicas
            and len(pods) == replicas
            and listed == {(uid, True) for uid in wanted}
        )

    def wait_for_roll(self, replicas):
        wait_until("the roll is over", lambda: self.roll_is_over(replicas), 120.0)

    def _listed(self):
        path = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
        return {
            (endpoint["targetRef"]["uid"], endpoint["conditions"]["ready"])
            for item in self.servers.api.get(path)["items"]
            for endpoint in item.get("endpoints") or ()
        }

    def raise_failures(self):
        if self.kubelet.failures:
            raise RuntimeError("the nodes' stand-in failed") from self.kubelet.failures[0]

    def deletion_requests(self):
        """Pod name -> when its deletion was first asked for and done, on the wall clock (ns)."""
        first = {}
        with open(self.servers.audit_log, encoding="utf-8") as log:
            for line in log:
                event = json.loads(line)
                if event["responseStatus"].get("code") == 200:
                    times = event["requestReceivedTimestamp"], event["stageTimestamp"]
                    first.setdefault(
                        event["objectRef"]["name"], tuple(map(agents.parse_time, times))
                    )
        return first

    # ---- who watches

    def watch(self, kind):
        watcher = watchers.Watcher(
            self.servers, os.path.join(self.network.cgroup, "watchers"), self.folder, kind
        )
        self._watchers.append(watcher)
        return watcher

    def write_token(self, seconds):
        """A new token of phantomd's account, in the place of the last one."""
        token = self.servers.tokens.sign("phantomd", "phantomd", self._account_uid, seconds)
        self._replace("account/token", token.encode())

    def write_ca(self):
        """What the agent's pod is told of the servers' CA."""
        with open(self.servers.authority.certificate, "rb") as certificate:
            self._replace("account/ca.crt", certificate.read())

    def _replace(self, name, data):
        """In one step, as the kubelet replaces what it mounts."""
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "wb") as file:
            file.write(data)
        os.rename(path + ".new", path)

    def in_cluster_agent(self, *flags, name="in-cluster"):
        """phantomd as in a pod: with the files and variables of a service account."""
        account = os.path.join(self.folder, "account")
        script = (
            f"mount -t tmpfs none /run && mkdir -p {os.path.dirname(ACCOUNT_FOLDER)}"
            f" && ln -s {shlex.quote(account)} {ACCOUNT_FOLDER}"
            ' && exec env KUBERNETES_SERVICE_HOST="$0" KUBERNETES_SERVICE_PORT="$1" "$2" "${@:3}"'
        )
        shell = ["unshare", "--mount", "--propagation=private", "/bin/bash", "-c", script]
        where = [control_planes.SERVER, str(control_planes.PORT)]
        return Agent(self, name, [*shell, *where], ["--feed=kubernetes", *flags])

    def write_client_certificate(self):
        """The same account's, by the present CA, and the CA itself; then client_certificate_agent()
        may read them."""
        name = "/CN=system:serviceaccount:phantomd:phantomd"
        certificate, key = self.servers.authority.sign("phantomd", name)
        for source, target in (
            (certificate, "client.crt"),
            (key, "client.key"),
            (self.servers.authority.certificate, "ca.crt"),
        ):
            with open(source, "rb") as file:
                self._replace("client/" + target, file.read())

    def client_certificate_agent(self, *flags):
        """phantomd outside of a pod."""
        files = [
            os.path.join(self.folder, "client", name)
            for name in ("ca.crt", "client.crt", "client.key")
        ]
        kubeconfig = self.servers.write_kubeconfig("phantomd", control_planes.SERVER, *files)
        return self.agent(
            "client-certificate", "--feed=kubernetes", f"--kubeconfig={kubeconfig}", *flags
        )

    def agent(self, name, *flags):
        return Agent(self, name, [], list(flags))


class Agent(agents.Agent):
    """phantomd in the agent's network namespace."""

    pause = 0.2

    def __init__(self, lab, name, before, flags):
        super().__init__(
            _SceneOf(lab),
            programs.find(BUILD_DIR, "phantomd"),
            programs.find(BUILD_DIR, "phantomctl"),
            name,
        )
        self._lab = lab
        self._before = before
        self._flags = flags
        self.metrics_address = None

    def start(self, wait=True):
        with open(self.log, "ab") as log:
            self.process = processes.start(
                [
                    *self._before,
                    self._phantomd,
                    *self._flags,
                    *("--node_name", NODES[0]),
                    *("--listen", self.address, "--record", self.recording),
                    *("--metrics_listen", self.metrics_address or "none"),
                ],
                self._cgroup,
                self._lab.servers.agent_netns,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        if wait:
            self.wait_until_synced()

    def feeds_synced(self, status):
        """By feed."""
        return {feed["feed"]: feed.get("synced", False) for feed in status.get("feeds", [])}

    def wait_until_synced(self, patience=150.0):
        self.wait_for(
            "every feed is synced",
            lambda status: list(self.feeds_synced(status).values()) == [True] * 3,
            patience,
        )

    def wait_for_pods(self, count):
        """Until every feed is synced and so many pods are alive."""
        self.wait_until_synced()
        self.wait_for(
            f"{count} pods are alive",
            lambda status: int(status.get("podsIndexed", 0)) == count
            and all(self.feeds_synced(status).values()),
        )

    def wait_until_broken(self, patience=60.0):
        self.wait_for(
            "every feed is broken",
            lambda status: list(self.feeds_synced(status).values()) == [False] * 3,
            patience,
        )

    def metrics(self):
        def ask():
            where = f"http://{self.metrics_address}/metrics"
            with urllib.request.urlopen(where, timeout=10) as answer:
                return answer.read().decode()

        return hosts.in_netns(self._lab.servers.agent_netns, ask)

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def index(self):
        """What its recording makes of every address (tests/lab/recorded_index.cc)."""
        done = subprocess.run(
            [os.path.join(BUILD_DIR, "tests", "lab", "recorded_index"), self.recording],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise RuntimeError(f"recorded_index: {done.stderr.strip()}")
        return Index([json.loads(line) for line in done.stdout.splitlines()])


class _SceneOf:
    """What the demo's agent wants to know of a scene."""

    def __init__(self, lab):
        self.folder = lab.folder
        self.node = lab.network


class Index:
    """tenancies: (address, pod UID) -> its bounds. Instants are nanoseconds on CLOCK_BOOTTIME."""

    def __init__(self, lines):
        told = {}
        for line in lines:
            for kind, value in line.items():
                told.setdefault(kind, []).append(value)
        self.tenancies = {(one["ip"], one["uid"]): one for one in told.get("tenancy", [])}
        self.feeds = told.get("feed", [])
        self.losses = told.get("loss", [])
        (self.wall_minus_boot,) = told["offset"]

    def gaps(self, feed):
        """(good until, synced again) of every time at which the feed was broken; None: not yet."""
        out = []
        for change in self.feeds:
            if change["name"] != feed:
                continue
            if not change["synced"]:
                out.append([change["good_until"], None])
            elif out:
                out[-1][1] = change["observed"]
        return out
