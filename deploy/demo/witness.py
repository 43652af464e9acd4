"""The count that phantomd is held against: SYNs to dead addresses, gathered by nftables alone.

A table in the client's namespace looks at every SYN that the proxy's uid sends. Until the scene
names an address dead, the connection (source address and port, destination address and port) goes
into `before`; afterwards into `after`, unless `before` has it: then the SYN is only retransmitted,
and its connection was begun while the pod lived. Sets hold each connection once, so
retransmissions add nothing. SYNs to the health-check port are kept apart, and so are those of the
application itself. Refusals are RSTs with sequence number 0: an RST has that number only when it
answers a SYN.

A second table does what Istio's redirection does: all TCP but the proxy's own goes to port 15001,
except to the health port, as if the pod's annotation excludeOutboundPorts named it.
"""

import json
import subprocess

import hosts
import envoy_config

PROXY_UID = 1337
APPLICATION_UID = 1000
OUTBOUND_PORT = 15001

_CONNECTIONS = (
    "type ipv4_addr . inet_service . ipv4_addr . inet_service; flags dynamic; size 65535;"
)
_THIS = "{ ip saddr . tcp sport . ip daddr . tcp dport }"
_RULES = f"""
table ip mesh {{
  chain to_proxy {{
    type nat hook output priority -100; policy accept;
    oifname "lo" return
    meta skuid {PROXY_UID} return
    tcp dport {envoy_config.HEALTH_PORT} return
    ip protocol tcp redirect to :{OUTBOUND_PORT}
  }}
}}
table ip witness {{
  set dead {{ type ipv4_addr; }}
  set before {{ {_CONNECTIONS} }}
  set after {{ {_CONNECTIONS} }}
  set control {{ {_CONNECTIONS} }}
  set application {{ {_CONNECTIONS} }}
  set refused {{ {_CONNECTIONS} }}
  counter unreachable {{ }}
  chain output {{
    type filter hook output priority -150; policy accept;
    oifname "lo" return
    tcp flags & (syn | ack) != syn return
    meta skuid {PROXY_UID} jump proxy
    meta skuid {APPLICATION_UID} add @application {_THIS}
  }}
  chain proxy {{
    tcp dport {envoy_config.HEALTH_PORT} add @control {_THIS} return
    ip saddr . tcp sport . ip daddr . tcp dport @before return
    ip daddr @dead add @after {_THIS} return
    add @before {_THIS}
  }}
  chain loopback {{
  }}
  chain input {{
    type filter hook input priority 0; policy accept;
    iifname "lo" goto loopback
    icmp type destination-unreachable counter name unreachable
    tcp sport {envoy_config.HEALTH_PORT} return
    tcp flags & (rst | ack) != (rst | ack) return
    tcp sequence 0 add @refused {{ ip daddr . tcp dport . ip saddr . tcp sport }}
  }}
}}
"""


class Witness:
    def __init__(self, netns):
        self._nft = ["nsenter", f"--net={hosts.netns_path(netns)}", "nft"]

    def install(self):
        self._run(["-f", "-"], _RULES)

    def dead(self, ip):
        """From the next SYN on, new connections to this address count as sent to a dead one."""
        self._run(["add", "element", "ip", "witness", "dead", "{", ip, "}"])

    def block_admin(self):
        """Lets nobody reach the proxy's admin port any more."""
        self._run(
            [
                "add",
                "rule",
                "ip",
                "witness",
                "loopback",
                "tcp",
                "dport",
                "15000",
                "reject",
                "with",
                "tcp",
                "reset",
            ]
        )

    def connections(self, name):
        """The (source ip, source port, destination ip, destination port) in one of the sets."""
        listing = json.loads(self._run(["-j", "list", "set", "ip", "witness", name]))
        found = next(entry["set"] for entry in listing["nftables"] if "set" in entry)
        return {tuple(element["concat"]) for element in found.get("elem", [])}

    def icmp_packets(self):
        listing = json.loads(self._run(["-j", "list", "counter", "ip", "witness", "unreachable"]))
        return next(entry["counter"] for entry in listing["nftables"] if "counter" in entry)[
            "packets"
        ]

    def _run(self, arguments, text=None):
        done = subprocess.run([*self._nft, *arguments], input=text, text=True, capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f"nft: {done.stderr.strip()}")
        return done.stdout
