"""etcd, kube-apiserver and kube-controller-manager, in a network namespace of their own.

The agent's namespace is joined to theirs by one link, over which the agent alone reaches the API
server; everybody else asks it by loopback. Taking the link down on the servers' side leaves the
agent in silence: no reset, no ICMP.
"""

import json
import os
import signal
import subprocess
import urllib.error
import urllib.request

import api as apis
import certificates
import hosts
import processes

SERVER = "192.0.2.1"  # as the agent sees it
AGENT = "192.0.2.2"
PORT = 6443
_LINK = "to-agent"
_CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "endpointslice-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "garbage-collector-controller",
)
# Who asked for what that withdraws an endpoint, with the microsecond in which it was done.
_AUDIT_POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [delete]
  resources: [{group: "", resources: [pods]}]
- level: None
"""


class ControlPlane:
    def __init__(self, prefix, cgroup, folder, binaries):
        self.netns = f"{prefix}-servers"
        self.agent_netns = f"{prefix}-agent"
        self.folder = os.path.join(folder, "servers")
        self.audit_log = os.path.join(self.folder, "audit.log")
        self._cgroup = os.path.join(cgroup, "servers")
        self._binaries = binaries
        self._generation = 0
        self.api = apis.Api(self.netns, "127.0.0.1", PORT)
        self.etcd = self.server = self.controllers = None

    def start(self):
        os.mkdir(self.folder)
        hosts.ip_batch([f"netns add {self.netns}", f"netns add {self.agent_netns}"])
        hosts.ip_batch(
            [
                "link set lo up",
                f"link add {_LINK} type veth peer name eth0 netns {self.agent_netns}",
                f"address add {SERVER}/30 dev {_LINK}",
                f"link set {_LINK} up",
            ],
            self.netns,
        )
        hosts.ip_batch(
            ["link set lo up", f"address add {AGENT}/30 dev eth0", "link set eth0 up"],
            self.agent_netns,
        )
        self.tokens = certificates.TokenSigner(self.folder)
        self._write("audit.yaml", _AUDIT_POLICY)
        self.new_certificates()
        self._start_etcd()
        self.start_server()
        self._start_controllers()

    # ---- certificates

    def new_certificates(self):
        """Another CA signs everything anew. Whoever runs already goes on with what it has read."""
        self._generation += 1
        folder = os.path.join(self.folder, f"certificates-{self._generation}")
        self.authority = certificates.Authority(folder, f"lab-{self._generation}")
        self._serving = self.authority.sign("server", "/CN=kube-apiserver", (SERVER, "127.0.0.1"))
        admin = self.authority.sign("admin", "/O=system:masters/CN=admin")
        self.api.trust(self.authority.certificate, *admin)
        self.admin_kubeconfig = self.write_kubeconfig(
            "admin", "127.0.0.1", self.authority.certificate, *admin
        )

    def write_kubeconfig(self, name, server, ca, certificate, key):
        """For a user with a client certificate; names the files, so that they are read again."""
        return self._write(
            name + ".kubeconfig",
            f"""
apiVersion: v1
kind: Config
clusters:
- name: lab
  cluster: {{server: "https://{server}:{PORT}", certificate-authority: {ca}}}
users: [{{name: {name}, user: {{client-certificate: {certificate}, client-key: {key}}}}}]
contexts: [{{name: lab, context: {{cluster: lab, user: {name}}}}}]
current-context: lab
""",
        )

    # ---- the API server's life

    def start_server(self, *more_flags):
        certificate, key = self._serving
        self.server = self._start(
            "kube-apiserver",
            "--etcd-servers=http://127.0.0.1:2379",
            f"--secure-port={PORT}",
            f"--advertise-address={SERVER}",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
            f"--client-ca-file={self.authority.certificate}",
            f"--service-account-issuer={certificates.ISSUER}",
            f"--service-account-key-file={self.tokens.public_key}",
            f"--service-account-signing-key-file={self.tokens.key}",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.78.0.0/16",
            "--endpoint-reconciler-type=none",
            f"--audit-policy-file={os.path.join(self.folder, 'audit.yaml')}",
            f"--audit-log-path={self.audit_log}",
            *more_flags,
        )
        self._wait("the API server is ready", self.api.is_ready, 60.0)

    def stop_server(self, number=signal.SIGTERM):
        """It would wait for its watchers to leave, as long as its grace period lasts."""
        processes.end(self.server, number, patience=3.0)

    def hold_server(self):
        """For a `with` block: the process stands still, its kernel goes on acknowledging."""
        return processes.Held(self.server)

    def cut_agent_off(self):
        hosts.ip_batch([f"link set {_LINK} down"], self.netns)

    def join_agent_again(self):
        hosts.ip_batch([f"link set {_LINK} up"], self.netns)

    # ---- the controllers

    def _start_controllers(self):
        self.controllers = self._start(
            "kube-controller-manager",
            f"--kubeconfig={self.admin_kubeconfig}",
            "--leader-elect=false",
            f"--controllers={','.join(_CONTROLLERS)}",
            f"--service-account-private-key-file={self.tokens.key}",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        )

    def restart_controllers(self):
        """They would come back by themselves, but late, and not to a server with another CA."""
        processes.end(self.controllers, signal.SIGTERM)
        self._start_controllers()

    # ---- etcd

    def compact(self):
        """etcd forgets every version but the present one."""
        status = self._ask_etcd("/v3/maintenance/status", "{}")
        revision = json.loads(status)["header"]["revision"]
        self._ask_etcd("/v3/kv/compaction", f'{{"revision": "{revision}", "physical": true}}')

    def _start_etcd(self):
        self.etcd = self._start(
            "etcd",
            f"--data-dir={os.path.join(self.folder, 'etcd')}",
            "--listen-client-urls=http://127.0.0.1:2379",
            "--advertise-client-urls=http://127.0.0.1:2379",
            "--listen-peer-urls=http://127.0.0.1:2380",
            "--unsafe-no-fsync",
        )

        def answers():
            try:
                return self._ask_etcd("/v3/maintenance/status", "{}")
            except (urllib.error.URLError, ConnectionError):
                return False

        self._wait("etcd answers", answers, 30.0)

    def _ask_etcd(self, path, body):
        def ask():
            with urllib.request.urlopen(
                "http://127.0.0.1:2379" + path, body.encode(), timeout=10
            ) as answer:
                return answer.read()

        return hosts.in_netns(self.netns, ask)

    # ---- small things

    def kubectl(self, *arguments):
        """What it prints."""
        done = subprocess.run(
            [
                *("nsenter", f"--net={hosts.netns_path(self.netns)}", "--"),
                *self.kubectl_command(),
                *arguments,
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise RuntimeError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def kubectl_command(self):
        """It would keep what it learns of the server in the user's home otherwise."""
        cache = os.path.join(self.folder, "kubectl-cache")
        config = f"--kubeconfig={self.admin_kubeconfig}"
        return [self.binary("kubectl"), config, f"--cache-dir={cache}"]

    def binary(self, name):
        return os.path.join(self._binaries, name)

    def _start(self, name, *flags):
        with open(os.path.join(self.folder, name + ".log"), "ab") as log:
            return processes.start(
                [self.binary(name), *flags], self._cgroup, self.netns, stdout=log, stderr=log
            )

    def _wait(self, what, condition, patience):
        """As processes.wait_until, but says what a server that ended had to say."""

        def check():
            for name, process in (("etcd", self.etcd), ("kube-apiserver", self.server)):
                if process is not None and process.poll() is not None:
                    with open(os.path.join(self.folder, name + ".log"), encoding="utf-8") as log:
                        end = "".join(log.readlines()[-10:])
                    raise RuntimeError(f"{name} ended with {process.returncode}:\n{end}")
            return condition()

        processes.wait_until(what, check, patience, 0.1)

    def _write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path
