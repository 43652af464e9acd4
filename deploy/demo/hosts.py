"""A node and its pods as network namespaces, wired as Calico wires them.

The node is a namespace of its own, so that no address, route or rule of the machine is touched.
Each pod is a namespace with one /32 address and one veth; the node routes that /32 to it, and
drops the rest of its pod block in silence (a blackhole route). A removed pod therefore answers
nothing at all: no RST, no ICMP. That is what a dead pod on another node looks like.

MAC addresses are made from the IP, and neighbours are permanent: an address that is reused at
once must not hang on a stale ARP entry, which would look like a phantom and be an artefact.
"""

import ctypes
import hashlib
import os
import subprocess
import threading

import undo

GATEWAY = "169.254.1.1"
GATEWAY_MAC = "ee:ee:ee:ee:ee:ee"
CLONE_NEWNET = 0x40000000


def mac_of(ip):
    return "02:00:" + ":".join(f"{int(part):02x}" for part in ip.split("."))


def netns_path(name):
    return os.path.join(undo.NETNS_DIR, name)


def ip_batch(lines, netns=None):
    """Runs one `ip` batch; a failure names the line."""
    where = ["-n", netns] if netns else []
    done = subprocess.run(
        ["ip", *where, "-batch", "-"], input="\n".join(lines) + "\n", text=True, capture_output=True
    )
    if done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(where)}: {done.stderr.strip()}")


def in_netns(name, function):
    """Runs `function` on a thread of its own inside the namespace and returns its result.

    A socket belongs to the namespace in which it was opened, so it can be used afterwards.
    """
    box = {}

    def body():
        try:
            with open(netns_path(name), encoding="utf-8") as namespace:
                libc = ctypes.CDLL(None, use_errno=True)
                if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), f"cannot enter network namespace {name}")
            box["result"] = function()
        except BaseException as error:  # Handed to the caller's thread below.
            box["error"] = error

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if "error" in box:
        raise box["error"]
    return box["result"]


def write_sysctls(netns, settings):
    def body():
        for name, value in settings.items():
            with open("/proc/sys/net/" + name, "w", encoding="utf-8") as setting:
                setting.write(value)

    in_netns(netns, body)


class Node:
    """The router between the pods."""

    def __init__(self, prefix, block):
        self.prefix = prefix
        self.netns = f"{prefix}-node"
        self.block = block
        self.cgroup = os.path.join(undo.cgroup2_mount(), prefix)

    def create(self):
        ip_batch([f"netns add {self.netns}"])
        ip_batch(["link set lo up", f"route add blackhole {self.block}"], self.netns)
        write_sysctls(
            self.netns,
            {
                "ipv4/ip_forward": "1",
                "ipv4/conf/all/rp_filter": "0",
                "ipv4/conf/default/rp_filter": "0",
            },
        )
        os.makedirs(self.cgroup)

    def prepare(self, name):
        """Makes a pod's namespace, without a link or an address yet."""
        netns = f"{self.prefix}-{name}"
        ip_batch([f"netns add {netns}"])
        return netns

    def attach(self, netns, ip):
        """Gives a pod its link, address and route. The address answers when this returns."""
        link = interface_of(ip)
        ip_batch(
            [
                f"link add {link} type veth peer name eth0 netns {netns}",
                f"link set {link} address {GATEWAY_MAC} up",
            ],
            self.netns,
        )
        ip_batch(
            [
                "link set lo up",
                f"link set eth0 address {mac_of(ip)} up",
                f"address add {ip}/32 dev eth0",
                f"neigh replace {GATEWAY} lladdr {GATEWAY_MAC} dev eth0 nud permanent",
                f"route add {GATEWAY} dev eth0 scope link",
                f"route add default via {GATEWAY} dev eth0",
            ],
            netns,
        )
        ip_batch(
            [
                f"neigh replace {ip} lladdr {mac_of(ip)} dev {link} nud permanent",
                f"route add {ip}/32 dev {link}",
            ],
            self.netns,
        )

    def detach(self, netns, ip):
        """Takes the pod's link, route and namespace away. From now on its address is silent."""
        ip_batch([f"link delete {interface_of(ip)}"], self.netns)
        ip_batch([f"netns delete {netns}"])

    def pod_cgroup(self, uid):
        """The pod's cgroup, named as the kubelet with the cgroupfs driver names it."""
        return os.path.join(self.cgroup, "kubepods", "besteffort", f"pod{uid}")


def interface_of(ip):
    return "cali" + hashlib.sha256(ip.encode()).hexdigest()[:11]
