"""The demo's own judgement: phantomd's answers against what others counted and what was done."""

import collections
import dataclasses
import json
import re
import time

import agent as agents
import envoy_config
import kube
import observe
import scene as scenes

PHANTOM = ("DEAD", "REUSED")
PATH_OF_LAYER = {"L7": "http", "L4": "tls"}
# A removed endpoint may still be dialled while the removal travels from Envoy's main thread to its
# workers; on a machine that is busy building, that takes its time.
WORKER_LAG_NS = 10**9
# With 20 calls a second on each path, whatever lasts this long meets some of them. What was shorter
# than that (a small --eds-delay) may meet none; the two counts must be equal all the same.
SURELY_MET = 0.5  # seconds


def plural(count, noun):
    return f"{count} {noun}" + ("" if count == 1 else "s")


def endpoint(text):
    ip, _, port = text.rpartition(":")
    return ip, int(port)


def tuple_of(connection):
    """The same four values that the witness keeps of a connection."""
    return endpoint(connection["source"]) + endpoint(connection["destination"])


def is_phantom(connection):
    return connection["destinationClass"] in PHANTOM


def kind(connection):
    """What counts are kept by: class, cause, outcome and layer."""
    return tuple(
        connection.get(field, "-") for field in ("destinationClass", "cause", "outcome", "layer")
    )


@dataclasses.dataclass
class Answers:
    """What phantomd answered while it ran, and what a replay of its recording gave.

    Of all that happens on this machine only what concerns the scene: other proxies may run here.
    """

    proxy: dict
    rollouts: list
    connections: list
    alone: bool  # no other proxy was known
    control_syns: int  # witness: health checks, all that were sent until `metrics` was asked for
    control_phantom_syns: int  # witness: those to dead addresses
    metrics: str
    replayed: dict = None
    replayed_again_equal: bool = False
    verdicts: list = None


def ask(scene, agent):
    """Everything a live phantomd has to say about the demo; the load must have ended."""
    proxy = agent.own_proxy()
    name = proxy["proxy"]["name"]
    rollouts, connections = agent.rollouts(), agent.connections()
    # Health checks go on as long as the proxy does: it stands still while both sides are counted.
    with scene.sidecar.hold():
        control = scene.witness.connections("control").total()
        to_dead = scene.witness.connections("control_after").total()
        deadline = time.monotonic() + 5
        while True:  # A report is published once a second.
            metrics = agent.metrics()
            if not_judged(metrics, "PROXY_CONTROL") == control or time.monotonic() > deadline:
                break
            time.sleep(0.1)
    return Answers(
        proxy=proxy,
        rollouts=own_rollouts(rollouts),
        connections=of_proxy(connections, name),
        alone=len(agent.proxies()) == 1,
        control_syns=control,
        control_phantom_syns=to_dead,
        metrics=metrics,
    )


def replay(agent, answers):
    """The same from the recording, twice; phantomd must have ended, so that it is complete."""
    first = agent.replay("-o", "json")
    answers.replayed_again_equal = first == agent.replay("-o", "json")
    answers.replayed = json.loads(first)
    lines = agent.replay("-o", "json", "--verdicts").splitlines()
    answers.verdicts = of_proxy(map(json.loads, lines), answers.proxy["proxy"]["name"])


def of_proxy(connections, name):
    return [entry for entry in connections if entry.get("proxyName") == name]


def own_rollouts(rollouts):
    return [entry for entry in rollouts if entry["name"].startswith(kube.NAMESPACE + "/")]


def metric(metrics, name, *labels):
    """The sum of all samples of that name with all these labels, each as `label="value"`."""
    return sum(
        int(float(line.rsplit(" ", 1)[1]))
        for line in metrics.splitlines()
        if line.startswith(name + "{") and all(label in line for label in labels)
    )


def not_judged(metrics, initiator):
    return metric(metrics, "phantom_agent_not_judged_total", f'initiator="{initiator}"')


def by_class(metrics):
    """Judged connections of the scene's client, by class."""
    client = (
        f'source_namespace="{kube.NAMESPACE}"',
        f'source_workload="{scenes.WEBAPP.name}"',
    )
    classes = sorted(set(re.findall(r'^phantom_attempts_total\{.*class="(\w+)"', metrics, re.M)))
    counts = {
        name: metric(metrics, "phantom_attempts_total", *client, f'class="{name}"')
        for name in classes
    }
    return {name: count for name, count in counts.items() if count}


def rollout_counts(rollouts):
    fields = ("podsDeparted", "attempts", "withdrawn", "dead", "reused", "other")
    return {
        rollout["name"]: tuple(int(rollout.get(field, 0)) for field in fields)
        for rollout in rollouts
    }


def compare(plot, view, answers):
    """All checks as (holds, sentence) pairs; the sentence is true when the check holds."""
    return [
        *_against_witness(plot, view, answers),
        *_kinds(plot, view, answers),
        *_replayed(answers),
    ]


def _against_witness(plot, view, answers):
    phantoms = [entry for entry in answers.connections if is_phantom(entry)]
    seen = observe.phantom_syns(view)
    for pod in plot.old:
        counted = _to(pod.ip, seen)
        ours = _to(pod.ip, collections.Counter(map(tuple_of, phantoms)))
        late = plot.told_after_end(pod)
        yield ours == counted and (counted.total() > 0 or late < SURELY_MET), (
            f"{pod.ip}: {plural(counted.total(), 'connection')} after the pod's end by nftables, "
            f"the same {ours.total()} by phantomd (DEAD or REUSED); {_told(late)} that end"
            + _difference(counted, ours)
        )
    yield len(phantoms) == seen.total(), (
        f"phantomd names no phantom besides these ({len(phantoms)} in all, nftables "
        f"{seen.total()})"
    )
    syns = sum(path.syns.total() for path in view.paths.values())
    attempts = int(answers.proxy.get("attempts", 0))
    yield attempts == syns, f"phantomd judged {attempts} connections, nftables saw {syns}"
    expected = (answers.control_syns, view.application_syns)
    apart = tuple(not_judged(answers.metrics, what) for what in ("PROXY_CONTROL", "INTERCEPTED"))
    others = "" if answers.alone else ", with those of the other proxies on this machine"
    at_least = all(ours >= theirs for ours, theirs in zip(apart, expected))
    yield apart == expected or (not answers.alone and at_least), (
        f"{expected[0]} health checks and {expected[1]} connections of the application to its "
        f"sidecar are counted apart, not judged (phantomd: {apart[0]} and {apart[1]}{others})"
    )
    yield view.icmp_packets == 0, "the dead addresses were silent: no ICMP came back"


def _told(seconds_after):
    return f"Envoy was told {abs(seconds_after):.1f} s {'before' if seconds_after < 0 else 'after'}"


def _difference(counted, ours):
    if counted == ours:
        return ""
    return f"; nftables alone: {sorted(counted - ours)}; phantomd alone: {sorted(ours - counted)}"


def _to(ip, connections):
    return collections.Counter(
        {entry: count for entry, count in connections.items() if entry[2] == ip}
    )


def _kinds(plot, view, answers):
    phantoms = [entry for entry in answers.connections if is_phantom(entry)]
    withdrawn = [entry for entry in answers.connections if entry["destinationClass"] == "WITHDRAWN"]
    kinds = collections.Counter(kind(entry) for entry in answers.connections)
    silent = kinds[("DEAD", "STALE_EDS", "ABANDONED", "L4")]
    yield silent > 0 or plot.silent_seconds() < SURELY_MET, (
        f"TLS passthrough phantoms that are DEAD, STALE_EDS, ABANDONED, L4: {silent}"
    )
    yield _reached(plot, view, phantoms)
    served = [entry for entry in withdrawn if entry.get("outcome") == "ESTABLISHED"]
    yield len(served) > 0 or plot.withdrawn_seconds() < SURELY_MET, (
        f"connections to terminating pods that still served are WITHDRAWN, not phantom: "
        f"{len(served)}"
    )
    late = [
        entry
        for entry in phantoms
        if agents.parse_time(entry["started"]) > plot.converged_wall_ns + WORKER_LAG_NS
    ]
    yield not late, f"no phantom after Envoy had the last EDS ({len(late)})"
    wrong_port = [
        entry
        for entry in answers.connections
        if endpoint(entry["destination"])[1] == envoy_config.HEALTH_PORT
    ]
    yield not wrong_port, f"no health check is among the judged connections ({len(wrong_port)})"
    if answers.verdicts is not None:
        refused = {
            tuple_of(entry)
            for entry in answers.verdicts
            if (entry["destinationClass"], entry["outcome"]) == ("LIVE", "REFUSED")
        }
        expected = observe.crash_refusals(view)
        yield refused == expected and len(expected) > 0, (
            f"the {len(expected)} refusals by the crashed container ({plot.crashed_ip}) are LIVE, "
            f"REFUSED ({len(refused)})" + _difference(expected, refused)
        )


def _reached(plot, view, phantoms):
    """Phantoms that connected: the next owner of an address had taken it, or took it meanwhile."""
    answered = [entry for entry in phantoms if entry.get("outcome") == "ESTABLISHED"]
    by_class = collections.Counter(entry["destinationClass"] for entry in answered)
    ours = {tuple_of(entry) for entry in answered}
    expected = set().union(*(path.reached for path in view.paths.values()))
    # Who was DEAD at the SYN is answered only when the SYN is sent again.
    at_once = [entry for entry in answered if not int(entry.get("synRetransmits", 0))]
    holds = (
        ours == expected
        and all(entry["destinationClass"] == "REUSED" for entry in at_once)
        and (by_class["REUSED"] > 0 or plot.stolen_seconds() < SURELY_MET)
    )
    dead = by_class["DEAD"]
    sent_again = f", {dead} DEAD at the SYN and answered when it was sent again" if dead else ""
    return holds, (
        f"{plural(len(expected), 'connection')} reached the address's next owner: "
        f"{by_class['REUSED']} REUSED{sent_again}; {_told(plot.stolen_seconds())} it took it"
        + _difference(expected, ours)
    )


def _replayed(answers):
    if answers.replayed is None:
        return
    yield answers.replayed_again_equal, "two replays of the recording are the same, byte for byte"
    live = collections.Counter(kind(entry) for entry in answers.connections)
    again = collections.Counter(
        kind(entry)
        for entry in of_proxy(
            answers.replayed.get("connections", []), answers.proxy["proxy"]["name"]
        )
    )
    yield live == again, (
        "the replay has the live counts by class, cause, outcome and layer"
        + ("" if live == again else f"; live {dict(live - again)}, replay {dict(again - live)}")
    )
    classes = by_class(answers.metrics)
    judged = dict(collections.Counter(entry["destinationClass"] for entry in answers.verdicts))
    told = ", ".join(f"{count} {name}" for name, count in sorted(classes.items()))
    yield classes == judged, (
        f"the replay has the live counts of all classes: {told}"
        + ("" if classes == judged else f" against {judged}")
    )
    yield rollout_counts(answers.rollouts) == rollout_counts(
        own_rollouts(answers.replayed.get("rollouts", []))
    ), ("the replay has the live rollouts")
