"""What each observer saw of the same connections, gathered once the load has ended."""

import collections
import dataclasses

import envoy_config

PATHS = {"http": envoy_config.HTTP_PORT, "tls": envoy_config.TLS_PORT}


@dataclasses.dataclass
class PathView:
    """One path (HTTP or TLS) as its observers saw it."""

    ends: collections.Counter  # the client: "ok", "reset", ...
    answered_by: collections.Counter
    slow: int  # ok, but after more than the half of a connect timeout
    stats: dict  # Envoy's counters of the cluster
    per_host: dict  # Envoy's host set: ip -> counters
    syns: set  # witness: all connections that the proxy began
    phantom_syns: set  # witness: those to dead addresses
    refused: set  # witness: those answered by an RST


@dataclasses.dataclass
class View:
    paths: dict  # "http", "tls" -> PathView
    access_log: list
    control_syns: set
    application_syns: set
    icmp_packets: int


def of(scene):
    """Asks everybody but phantomd."""
    calls = scene.calls()
    witness = scene.witness
    sets = {
        name: witness.connections(name)
        for name in ("before", "after", "refused", "control", "application")
    }
    paths = {}
    for path, port in PATHS.items():
        mine = [call for call in calls if call["path"] == path]
        ok = [call for call in mine if call["end"] == "ok"]
        cluster = envoy_config.cluster_name(port)

        def to_port(name, port=port):
            return {entry for entry in sets[name] if entry[3] == port}

        paths[path] = PathView(
            ends=collections.Counter(call["end"] for call in mine),
            answered_by=collections.Counter(call["who"] for call in ok),
            slow=sum(call["ms"] > 500 for call in ok),
            stats=scene.sidecar.stats(cluster),
            per_host=scene.sidecar.hosts_of(cluster),
            syns=to_port("before") | to_port("after"),
            phantom_syns=to_port("after"),
            refused=to_port("refused"),
        )
    return View(
        paths, scene.access_log(), sets["control"], sets["application"], witness.icmp_packets()
    )
