"""The scene: a node, a client pod with a real Envoy, a service behind it, and what happens to it.

Each method is one thing that happens in a cluster, with its order of events: network, processes,
API. The demo strings them together as a rolling update; the end-to-end tests use them one by one.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import hosts
import kube
import envoy_config
import mesh
import processes
import remains
import sidecar
import turn
import undo
import witness

BLOCK = "10.244.7.0/26"  # the node's Calico block: addresses without a route are silent
POD_CIDR = "10.244.7.0/24"
CLIENT_IP = "10.244.7.2"
REPORT_DELAY = 0.06  # what a kubelet or a controller takes to tell the API server

PORTS = (
    ("http", envoy_config.HTTP_PORT),
    ("https", envoy_config.TLS_PORT),
    ("health", envoy_config.HEALTH_PORT),
)
WEBAPP = kube.Workload("webapp", "5d9c7f6b8d", (("http", 8000),))
CATALOG_OLD = kube.Workload("catalog", "6f7c9d8b5c", PORTS)
CATALOG_NEW = kube.Workload("catalog", "7b5f4c6d9f", PORTS)
INVENTORY = kube.Workload("inventory", "5c9d7b8f64", PORTS)

_HERE = os.path.dirname(os.path.abspath(__file__))


def boot_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class RunningPod:
    """A pod that runs: its API object, its namespace, its cgroup and its processes."""

    def __init__(self, pod, netns, cgroup):
        self.pod = pod
        self.ip = None
        self.netns = netns
        self.cgroup = cgroup
        self.pause = None
        self.server = None
        self.connected_ns = None  # these four on CLOCK_BOOTTIME
        self.withdrawn_ns = None
        self.ending_ns = None  # its last container was told to end, and was gone by died_ns
        self.died_ns = None

    @property
    def name(self):
        return self.pod.name


class Scene(undo.Scope):
    """Use as a context manager: leaving the block removes everything, whatever happened inside.

    One at a time in a process: names are made of its pid.
    """

    def __init__(self, envoy, eds_delay, say=lambda text: None):
        self.prefix = undo.PREFIX + str(os.getpid())  # of all names, so that clean-up finds them
        self.say = say
        self.node = hosts.Node(self.prefix, BLOCK)
        self._envoy = envoy
        self.eds_delay = eds_delay
        self._number = 0
        self._netns_dir_was_mounted = True
        self.folder = os.path.join(tempfile.gettempdir(), self.prefix)
        self.proxy_folder = os.path.join(self.folder, "proxy")
        self.control_plane = None
        self._turn = turn.Turn()
        self.client = None
        self.load = None
        self.dead = []  # RunningPods in the order of their death

    def _open(self):
        self._turn.take(self.say)
        for name in remains.remove():
            self.say(f"removed what {name} left: its owner was killed")
        self._netns_dir_was_mounted = os.path.ismount(undo.NETNS_DIR)
        # The proxy and the application run under uids of their own and must get in.
        os.mkdir(self.folder, 0o755)
        if not self._netns_dir_was_mounted:
            remains.note_netns_mount(self.folder)
        os.mkdir(self.proxy_folder, 0o755)
        # A process is named after the file that it was started by, and a sandbox's is pause.
        self._pause = os.path.join(self.folder, "pause")
        os.symlink(shutil.which("sleep"), self._pause)
        self.node.create()
        self.cluster = kube.Cluster(self.folder, POD_CIDR)
        self.control_plane = mesh.ControlPlane(self.proxy_folder, self.eds_delay, self._pushed)
        self.cluster.on_endpoints(self.control_plane.endpoints_changed)
        self.sidecar = sidecar.Sidecar(self._envoy, self.control_plane, self.proxy_folder)
        for service in ("catalog", "inventory"):
            self.cluster.create_service(service, PORTS)
            self._make_certificate(service)

    def _close(self):
        if self.control_plane:
            self.control_plane.stop()
        undo.remove_all(self.prefix, self.node.cgroup, self.folder, self._netns_dir_was_mounted)
        processes.reap_all()
        self._turn.give_back()

    # ---- pods

    def prepare_pod(self, workload):
        """A pod is created and scheduled, and its server listens; it has no network yet.

        A real pod gets its network first. Here it comes last, so that a young address never
        answers by an RST, and so that a slow start of the server delays no address.
        """
        pod = kube.Pod(self.cluster, workload)
        pod.added()
        pod.bound()
        self._number += 1
        netns = self.node.prepare(f"{self._number}-{pod.name}")
        running = RunningPod(pod, netns, self.node.pod_cgroup(pod.uid))
        container = os.path.join(running.cgroup, os.urandom(32).hex())
        running.pause = processes.start([self._pause, "infinity"], container, netns)
        if workload is not WEBAPP:
            self._start_server(running)
        return running

    def connect_pod(self, running, ip):
        """The pod gets its address: from here on it answers."""
        running.ip = ip
        self.node.attach(running.netns, ip)
        running.connected_ns = boot_ns()

    def ready_pod(self, running, service=None):
        """The readiness probe passed: the pod is Ready and joins its service's slice."""
        running.pod.running(running.ip)
        if service:
            time.sleep(REPORT_DELAY)
            self.cluster.join(service, running.pod)

    def start_pod(self, workload, ip, service=None):
        running = self.prepare_pod(workload)
        self.connect_pod(running, ip)
        self.ready_pod(running, service)
        return running

    def withdraw(self, running, service):
        """The pod's deletion is requested; its slice says terminating. It still answers."""
        running.withdrawn_ns = boot_ns()
        running.pod.delete_requested()
        time.sleep(REPORT_DELAY / 4)
        self.cluster.tell_endpoints(service)

    def end_pod(self, running):
        """The pod's processes end and its network goes. From here its address is dead.

        The proxy is held still for these few milliseconds, so that no SYN falls between the
        process's end, the address's silence and the witness's rule: neither count then depends
        on who looked first.
        """
        with self.sidecar.hold():
            self.witness.dead(running.ip)
            running.ending_ns = boot_ns()
            processes.end(running.server, signal.SIGTERM)
            processes.end(running.pause)
            running.died_ns = boot_ns()
            self.node.detach(running.netns, running.ip)
        running.finished = kube.api_time()
        self.dead.append(running)

    def report_end(self, running, service):
        """The kubelet tells that the containers ended, the slice drops the pod, the object goes."""
        running.pod.terminated(running.finished)
        time.sleep(REPORT_DELAY)
        self.cluster.leave(service, running.pod)
        running.pod.deleted()

    def crash(self, running):
        """The server process dies; pod, address and Ready condition stay. SYNs are refused."""
        processes.end(running.server)
        running.crashed = kube.api_time()

    def restart(self, running):
        self._start_server(running)
        running.pod.restarted(running.crashed, 137)

    def _start_server(self, running):
        name = running.pod.workload.name
        with self._log("servers.log") as log:
            running.server = processes.start(
                [
                    sys.executable,
                    "-I",
                    os.path.join(_HERE, "catalog.py"),
                    name,
                    *(str(number) for _, number in PORTS),
                    os.path.join(self.folder, name + ".pem"),
                    os.path.join(self.folder, name + ".key"),
                ],
                os.path.join(running.cgroup, os.urandom(32).hex()),
                running.netns,
                stderr=log,
            )
        wanted = {number for _, number in PORTS}
        processes.wait_until(
            f"{running.name} listens",
            lambda: wanted <= processes.listening_ports(running.server.pid),
            20.0,
        )

    # ---- the client

    def start_client(self):
        """The client pod, its redirection, the witness, and its proxy with the first EDS."""
        self.client = self.prepare_pod(WEBAPP)
        self.connect_pod(self.client, CLIENT_IP)
        self.witness = witness.Witness(self.client.netns)
        self.witness.install()
        self.control_plane.start(self.client.pod)
        self.sidecar.start(
            self.client.netns, os.path.join(self.client.cgroup, os.urandom(32).hex())
        )
        self.ready_pod(self.client)

    def start_load(self, calls_per_second):
        """Steady calls on both paths, by the application's uid."""
        self.results_path = os.path.join(self.folder, "calls.jsonl")
        program = os.path.join(self.proxy_folder, "load.py")
        with open(os.path.join(_HERE, "load.py"), "rb") as source, open(program, "wb") as copy:
            copy.write(source.read())  # The application's uid may not reach the source tree.
        with open(self.results_path, "wb") as results, self._log("load.log") as log:
            self.load = processes.start(
                [
                    sys.executable,
                    "-I",
                    program,
                    f"{envoy_config.SERVICE_IP}:{envoy_config.HTTP_PORT}",
                    f"{envoy_config.SERVICE_IP}:{envoy_config.TLS_PORT}",
                    envoy_config.HOST,
                    os.path.join(self.folder, "catalog.pem"),
                    str(calls_per_second),
                ],
                os.path.join(self.client.cgroup, os.urandom(32).hex()),
                self.client.netns,
                witness.APPLICATION_UID,
                stdout=results,
                stderr=log,
            )

    def stop_load(self):
        """No new calls; returns when the last one under way has ended."""
        processes.end(self.load, signal.SIGTERM, patience=20.0)
        if self.load.returncode != 0:
            raise RuntimeError(f"the load generator ended with {self.load.returncode}")

    def calls(self):
        with open(self.results_path, encoding="utf-8") as results:
            return [json.loads(line) for line in results]

    def access_log(self):
        """All lines; Envoy writes them a little later than it answers."""

        def complete():
            with open(self.control_plane.access_log, encoding="utf-8") as log:
                return len(log.readlines()) == self.sidecar.http_requests()

        processes.wait_until("Envoy has written its access log", complete, 30.0)
        with open(self.control_plane.access_log, encoding="utf-8") as log:
            return [json.loads(line) for line in log]

    def wait_for_eds(self):
        """Until Envoy believes what the slices say; returns when it did, on the wall clock (ns)."""
        processes.wait_until(
            "the last EDS is written", self.control_plane.idle, self.eds_delay + 10
        )
        clusters = [
            envoy_config.cluster_name(port)
            for port in (envoy_config.HTTP_PORT, envoy_config.TLS_PORT)
        ]
        wanted = self.control_plane.last_pushed
        processes.wait_until(
            "Envoy has applied the last EDS",
            lambda: all(set(self.sidecar.hosts_of(cluster)) == set(wanted) for cluster in clusters),
            10.0,
        )
        return max(self.sidecar.stats(cluster)["update_time"] for cluster in clusters) * 10**6

    # ---- small things

    def copy_out(self, name, path):
        """Lets one file of the scene outlive it, if it came to exist."""
        source = os.path.join(self.folder, name)
        if os.path.exists(source):
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
            shutil.copyfile(source, path)

    def _pushed(self, addresses):
        self.say("Envoy is told: " + ", ".join(addresses))

    def _log(self, name):
        return open(os.path.join(self.folder, name), "ab")

    def _make_certificate(self, name):
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-days",
                "2",
                "-subj",
                f"/CN={name}",
                "-addext",
                f"subjectAltName=DNS:{name}.{kube.NAMESPACE}.svc.cluster.local",
                "-keyout",
                os.path.join(self.folder, name + ".key"),
                "-out",
                os.path.join(self.folder, name + ".pem"),
            ],
            check=True,
            capture_output=True,
        )
