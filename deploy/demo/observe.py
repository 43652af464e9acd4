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
    syns: collections.Counter  # witness: all connections that the proxy began, by their ports
    phantom_syns: collections.Counter  # witness: those to dead addresses
    reached: set  # witness: those of phantom_syns that somebody answered
    refused: set  # witness: those answered by an RST


@dataclasses.dataclass
class View:
    paths: dict  # "http", "tls" -> PathView
    access_log: list
    application_syns: int
    icmp_packets: int


def of(scene):
    """Asks everybody but phantomd."""
    calls = scene.calls()
    witness = scene.witness
    sets = {
        name: witness.connections(name)
        for name in ("before", "after", "reached", "refused", "application")
    }
    paths = {}
    for path, port in PATHS.items():
        mine = [call for call in calls if call["path"] == path]
        ok = [call for call in mine if call["end"] == "ok"]
        cluster = envoy_config.cluster_name(port)

        def to_port(name, port=port):
            return collections.Counter(
                {entry: count for entry, count in sets[name].items() if entry[3] == port}
            )

        paths[path] = PathView(
            ends=collections.Counter(call["end"] for call in mine),
            answered_by=collections.Counter(call["who"] for call in ok),
            slow=sum(call["ms"] > 500 for call in ok),
            stats=scene.sidecar.stats(cluster),
            per_host=scene.sidecar.hosts_of(cluster),
            syns=to_port("before") + to_port("after"),
            phantom_syns=to_port("after"),
            reached=set(to_port("reached")) & set(to_port("after")),
            refused=set(to_port("refused")),
        )
    return View(
        paths, scene.access_log(), sets["application"].total(), witness.icmp_packets()
    )


def phantom_syns(view):
    """Those of both paths."""
    return sum((path.phantom_syns for path in view.paths.values()), collections.Counter())


def crash_refusals(view):
    """Connections that were refused, but not by a dead address."""
    return set().union(
        *(path.refused - set(path.phantom_syns) for path in view.paths.values())
    )
