"""The count that phantomd is held against: SYNs to dead addresses, gathered by nftables alone.

A table in the client's namespace looks at every SYN that the proxy's uid sends. Until the scene
names an address dead, the connection goes into `before`; afterwards into `after`, unless `before`
has it: then the SYN is only retransmitted, and its connection was begun while the pod lived. SYNs
to the health-check port are kept apart (`control`; in `control_after` too if their address was
dead), and so are those of the application itself.

A connection is known by its addresses, its ports and its initial sequence number, which a
retransmission repeats: sets hold it once. The ports alone do not do: every 10 s the kernel begins
elsewhere in their range (EPHEMERAL_PORT_SHUFFLE_PERIOD), and may give out the same ones again.

Two sets are of other packets, and of addresses and ports alone. `refused`: RSTs with sequence
number 0, which only an answer to a SYN has. `reached`: ACKs to a dead address, which a kernel sends
only when somebody has answered the SYN; those of older connections are among them.

A second table does what Istio's redirection does: all TCP but the proxy's own goes to port 15001,
except to the health port, as if the pod's annotation excludeOutboundPorts named it.
"""

import collections
import json
import subprocess

import hosts
import envoy_config

PROXY_UID = 1337
APPLICATION_UID = 1000
OUTBOUND_PORT = 15001

_FOUR_TYPE = "ipv4_addr . inet_service . ipv4_addr . inet_service"
_FOUR_KEY = "ip saddr . tcp sport . ip daddr . tcp dport"
_FOUR = f"{{ {_FOUR_KEY} }}"
_KEY = f"{_FOUR_KEY} . meta mark"  # The mark is the sequence number, which nft 1.0.6 cannot list.
_THIS = f"{{ {_KEY} }}"
_CONNECTIONS = f"type {_FOUR_TYPE} . mark; flags dynamic; size 65535;"
_FOURS = f"type {_FOUR_TYPE}; flags dynamic; size 65535;"
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
  set control_after {{ {_CONNECTIONS} }}
  set application {{ {_CONNECTIONS} }}
  set refused {{ {_FOURS} }}
  set reached {{ {_FOURS} }}
  counter unreachable {{ }}
  chain output {{
    type filter hook output priority -150; policy accept;
    oifname "lo" return
    tcp flags & (syn | rst | ack) == ack meta skuid {PROXY_UID} ip daddr @dead add @reached {_FOUR}
    tcp flags & (syn | ack) != syn return
    meta mark set tcp sequence
    meta skuid {PROXY_UID} jump proxy
    meta skuid {APPLICATION_UID} add @application {_THIS}
  }}
  chain proxy {{
    tcp dport {envoy_config.HEALTH_PORT} goto control
    {_KEY} @before return
    ip daddr @dead add @after {_THIS} return
    add @before {_THIS}
  }}
  chain control {{
    {_KEY} @control return
    ip daddr @dead add @control_after {_THIS}
    add @control {_THIS}
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
        """How often each (source ip and port, destination ip and port) is in one of the sets."""
        listing = json.loads(self._run(["-j", "list", "set", "ip", "witness", name]))
        found = next(entry["set"] for entry in listing["nftables"] if "set" in entry)
        return collections.Counter(
            tuple(element["concat"][:4]) for element in found.get("elem", [])
        )

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
