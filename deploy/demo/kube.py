"""What a Kubernetes API server would tell about the scene, written as kubectl prints it.

One file per kind, in the format of `kubectl get KIND -A -o json --watch --output-watch-events`: one
event a line. The order and the fields of a pod's life are those that a real API server, controller
manager and kubelet were seen to produce:

  pod   ADDED    Pending             pod   MODIFIED deletionTimestamp
  pod   MODIFIED bound to a node     slice MODIFIED ready- serving+ terminating+
  pod   MODIFIED Running, Ready      pod   MODIFIED Succeeded, containers terminated
  slice MODIFIED the endpoint        slice MODIFIED without the endpoint
                                     pod   MODIFIED grace 0, deletionTimestamp moved earlier
                                     pod   DELETED  (still with its podIP)
"""

import copy
import dataclasses
import datetime
import json
import os
import threading
import uuid

NAMESPACE = "shop"
NODE = "demo-node"
NODE_IP = "192.0.2.7"
GRACE_SECONDS = 30
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def api_time(moment=None):
    """A metav1.Time: UTC, whole seconds, always cut off and never rounded."""
    moment = moment or datetime.datetime.now(datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _container_id():
    return os.urandom(32).hex()


class Feed:
    """One kind's event stream. Each event reaches the file in one write."""

    def __init__(self, path):
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, kind, item):
        os.write(
            self._file,
            (json.dumps({"type": kind, "object": item}, separators=(",", ":")) + "\n").encode(),
        )

    def close(self):
        os.close(self._file)


@dataclasses.dataclass(frozen=True)
class Workload:
    """One revision of a Deployment: what its pods are called and owned by."""

    name: str
    revision: str  # pod-template-hash
    ports: tuple  # (name, number) pairs

    @property
    def replica_set(self):
        return f"{self.name}-{self.revision}"


class Pod:
    """One pod object and the events of its life. Cluster owns it."""

    def __init__(self, cluster, workload):
        suffix = "".join(_SUFFIX_LETTERS[byte % len(_SUFFIX_LETTERS)] for byte in os.urandom(5))
        self._cluster = cluster
        self.workload = workload
        self.name = f"{workload.replica_set}-{suffix}"
        self.uid = str(uuid.uuid4())
        self.ip = None
        self.ready = False
        self.terminating = False
        self.container_id = None
        self._restarts = 0
        self._last_state = {}
        self._deletion_requested = None
        self.object = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": self.name,
                "generateName": workload.replica_set + "-",
                "namespace": NAMESPACE,
                "uid": self.uid,
                "creationTimestamp": api_time(),
                "labels": {"app": workload.name, "pod-template-hash": workload.revision},
                "ownerReferences": [
                    {
                        "apiVersion": "apps/v1",
                        "kind": "ReplicaSet",
                        "name": workload.replica_set,
                        "uid": str(uuid.uuid5(uuid.NAMESPACE_DNS, workload.replica_set)),
                        "controller": True,
                        "blockOwnerDeletion": True,
                    }
                ],
            },
            "spec": {
                "containers": [
                    {
                        "name": workload.name,
                        "image": f"registry.example/{workload.name}",
                        "ports": [
                            {"name": name, "containerPort": port, "protocol": "TCP"}
                            for name, port in workload.ports
                        ],
                    }
                ],
                "serviceAccountName": workload.name,
                "terminationGracePeriodSeconds": GRACE_SECONDS,
            },
            "status": {"phase": "Pending", "qosClass": "BestEffort"},
        }

    def added(self):
        self._cluster.tell_pod("ADDED", self)

    def bound(self):
        self.object["spec"]["nodeName"] = NODE
        self._conditions(PodScheduled="True")
        self._cluster.tell_pod("MODIFIED", self)

    def running(self, ip):
        """All containers run and the readiness probe passed."""
        self.ip = ip
        self.ready = True
        self.container_id = _container_id()
        self._started = api_time()
        self.object["status"].update(
            {
                "phase": "Running",
                "hostIP": NODE_IP,
                "podIP": ip,
                "podIPs": [{"ip": ip}],
                "startTime": self._started,
            }
        )
        self._conditions(
            PodScheduled="True", Initialized="True", ContainersReady="True", Ready="True"
        )
        self._container_state({"running": {"startedAt": self._started}}, ready=True)
        self._cluster.tell_pod("MODIFIED", self)

    def restarted(self, finished, exit_code):
        """The container crashed and runs again; the pod kept its address."""
        self._last_state = {
            "terminated": {
                "exitCode": exit_code,
                "reason": "Error",
                "startedAt": self._started,
                "finishedAt": finished,
                "containerID": "containerd://" + self.container_id,
            }
        }
        self._restarts += 1
        self.container_id = _container_id()
        self._started = api_time()
        self._container_state({"running": {"startedAt": self._started}}, ready=True)
        self._cluster.tell_pod("MODIFIED", self)

    def delete_requested(self):
        """Somebody asked for the deletion: deletionTimestamp is that instant plus the grace."""
        now = datetime.datetime.now(datetime.timezone.utc)
        self.terminating = True
        self._deletion_requested = api_time(now)
        self.object["metadata"]["deletionTimestamp"] = api_time(
            now + datetime.timedelta(seconds=GRACE_SECONDS)
        )
        self.object["metadata"]["deletionGracePeriodSeconds"] = GRACE_SECONDS
        self._cluster.tell_pod("MODIFIED", self)

    def terminated(self, finished):
        """The kubelet reports that the last container ended."""
        self.ready = False
        self.object["status"]["phase"] = "Succeeded"
        self._conditions(
            PodScheduled="True", Initialized="True", ContainersReady="False", Ready="False"
        )
        self._container_state(
            {
                "terminated": {
                    "exitCode": 0,
                    "reason": "Completed",
                    "startedAt": self._started,
                    "finishedAt": finished,
                    "containerID": "containerd://" + self.container_id,
                }
            },
            ready=False,
        )
        self._cluster.tell_pod("MODIFIED", self)

    def deleted(self):
        """The kubelet's final delete with grace 0, and the object's end."""
        self.object["metadata"]["deletionTimestamp"] = self._deletion_requested
        self.object["metadata"]["deletionGracePeriodSeconds"] = 0
        self._cluster.tell_pod("MODIFIED", self)
        self._cluster.tell_pod("DELETED", self)

    def endpoint(self):
        """This pod's entry in an EndpointSlice."""
        return {
            "addresses": [self.ip],
            "conditions": {
                "ready": self.ready and not self.terminating,
                "serving": self.ready,
                "terminating": self.terminating,
            },
            "nodeName": NODE,
            "targetRef": {
                "kind": "Pod",
                "namespace": NAMESPACE,
                "name": self.name,
                "uid": self.uid,
            },
        }

    def _conditions(self, **states):
        self.object["status"]["conditions"] = [
            {"type": kind, "status": state, "lastProbeTime": None, "lastTransitionTime": api_time()}
            for kind, state in states.items()
        ]

    def _container_state(self, state, ready):
        self.object["status"]["containerStatuses"] = [
            {
                "name": self.workload.name,
                "image": f"registry.example/{self.workload.name}",
                "imageID": "",
                "ready": ready,
                "started": ready,
                "restartCount": self._restarts,
                "state": state,
                "lastState": self._last_state,
                "containerID": "containerd://" + self.container_id,
            }
        ]


class Cluster:
    """The API server's side of the scene: objects, and the three streams that tell of them.

    Thread-safe: the scene changes objects, the control plane reads endpoints.
    """

    def __init__(self, folder, pod_cidr):
        self.pods = Feed(os.path.join(folder, "pods.json"))
        self.slices = Feed(os.path.join(folder, "endpointslices.json"))
        self.nodes = Feed(os.path.join(folder, "nodes.json"))
        self._lock = threading.RLock()
        self._version = 4100
        self._slices = {}  # Service name -> EndpointSlice object
        self._members = {}  # Service name -> its pods, in order
        self._listeners = []  # Called with (service, ready pods) after each slice change
        self._tell(self.nodes, "ADDED", _node(pod_cidr))

    def close(self):
        for feed in (self.pods, self.slices, self.nodes):
            feed.close()

    def on_endpoints(self, listener):
        self._listeners.append(listener)

    def tell_pod(self, kind, pod):
        self._tell(self.pods, kind, pod.object)

    def create_service(self, name, ports):
        with self._lock:
            self._members[name] = []
            self._slices[name] = _slice(name, ports)
            self._tell(self.slices, "ADDED", self._slices[name])

    def tell_endpoints(self, service):
        """The EndpointSlice controller looked at the service's pods again."""
        with self._lock:
            item = self._slices[service]
            item["endpoints"] = [pod.endpoint() for pod in self._members[service]]
            item["metadata"]["generation"] += 1
            self._tell(self.slices, "MODIFIED", item)
            ready = [pod for pod in self._members[service] if pod.ready and not pod.terminating]
        for listener in self._listeners:
            listener(service, ready)

    def join(self, service, pod):
        with self._lock:
            self._members[service].append(pod)
        self.tell_endpoints(service)

    def leave(self, service, pod):
        with self._lock:
            self._members[service].remove(pod)
        self.tell_endpoints(service)

    def _tell(self, feed, kind, item):
        with self._lock:
            self._version += 1
            item["metadata"]["resourceVersion"] = str(self._version)
            feed.write(kind, copy.deepcopy(item))


def _node(pod_cidr):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": NODE,
            "uid": str(uuid.uuid4()),
            "creationTimestamp": api_time(),
            "labels": {"kubernetes.io/hostname": NODE},
        },
        "spec": {"podCIDR": pod_cidr, "podCIDRs": [pod_cidr]},
        "status": {
            "addresses": [
                {"type": "InternalIP", "address": NODE_IP},
                {"type": "Hostname", "address": NODE},
            ],
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "KubeletReady",
                    "lastHeartbeatTime": api_time(),
                    "lastTransitionTime": api_time(),
                }
            ],
        },
    }


def _slice(service, ports):
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "addressType": "IPv4",
        "metadata": {
            "name": f"{service}-k7q2x",
            "generateName": service + "-",
            "namespace": NAMESPACE,
            "uid": str(uuid.uuid4()),
            "creationTimestamp": api_time(),
            "generation": 1,
            "labels": {
                "kubernetes.io/service-name": service,
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
            },
        },
        "ports": [{"name": name, "port": port, "protocol": "TCP"} for name, port in ports],
        "endpoints": [],
    }
