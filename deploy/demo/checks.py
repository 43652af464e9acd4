"""The demo's own judgement: phantomd's answers against what others counted and what was done."""

import collections
import dataclasses
import json

import agent as agents
import envoy_config

PHANTOM = ("DEAD", "REUSED")
PATH_OF_LAYER = {"L7": "http", "L4": "tls"}
# A removed endpoint may still be dialled while the removal travels from Envoy's main thread to its
# workers; on a machine that is busy building, that takes its time.
WORKER_LAG_NS = 10**9


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
    """What phantomd answered while it ran, and what a replay of its recording gave."""

    status: dict
    proxies: list
    rollouts: list
    connections: list
    metrics: str
    replayed: dict = None
    replayed_again_equal: bool = False
    verdicts: list = None


def ask(agent):
    """Everything a live phantomd has to say about the demo."""
    return Answers(
        agent.status(), agent.proxies(), agent.rollouts(), agent.connections(), agent.metrics()
    )


def replay(agent, answers):
    """The same from the recording, twice; phantomd must have ended, so that it is complete."""
    first = agent.replay("-o", "json")
    answers.replayed_again_equal = first == agent.replay("-o", "json")
    answers.replayed = json.loads(first)
    lines = agent.replay("-o", "json", "--verdicts").splitlines()
    answers.verdicts = [json.loads(line) for line in lines]


def by_class(status):
    return {
        entry["key"]: int(entry["count"])
        for entry in status.get("attemptsByClass", [])
        if int(entry.get("count", 0))
    }


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
    seen = set().union(*(path.phantom_syns for path in view.paths.values()))
    for pod in plot.old:
        counted = {entry for entry in seen if entry[2] == pod.ip}
        ours = {
            tuple_of(entry) for entry in phantoms if endpoint(entry["destination"])[0] == pod.ip
        }
        yield ours == counted and len(counted) > 0, (
            f"{pod.ip}: the {len(counted)} connections that nftables counted after the pod's end "
            f"are the {len(ours)} that phantomd calls DEAD or REUSED" + _difference(counted, ours)
        )
    yield len(phantoms) == len(seen), (
        f"phantomd names no phantom besides these ({len(phantoms)} in all, nftables {len(seen)})"
    )
    syns = sum(len(path.syns) for path in view.paths.values())
    attempts = int(answers.status.get("attempts", 0))
    yield attempts == syns, f"phantomd judged {attempts} connections, nftables saw {syns}"
    apart = int(answers.status.get("notJudged", 0))
    control, application = len(view.control_syns), len(view.application_syns)
    yield apart >= control + application, (
        f"{control} health checks and {application} redirected connections of the application are "
        f"counted apart (phantomd: {apart})"
    )
    yield view.icmp_packets == 0, "the dead addresses were silent: no ICMP came back"


def _difference(counted, ours):
    if counted == ours:
        return ""
    return f"; nftables alone: {sorted(counted - ours)}; phantomd alone: {sorted(ours - counted)}"


def _kinds(plot, view, answers):
    phantoms = [entry for entry in answers.connections if is_phantom(entry)]
    withdrawn = [entry for entry in answers.connections if entry["destinationClass"] == "WITHDRAWN"]
    kinds = collections.Counter(kind(entry) for entry in answers.connections)
    silent = kinds[("DEAD", "STALE_EDS", "ABANDONED", "L4")]
    yield silent > 0, f"{silent} TLS passthrough phantoms are DEAD, STALE_EDS, ABANDONED, L4"
    taken = sum(
        count
        for (what, _, outcome, _), count in kinds.items()
        if (what, outcome) == ("REUSED", "ESTABLISHED")
    )
    yield taken > 0, f"{taken} connections reached the address's next owner: REUSED, ESTABLISHED"
    served = [entry for entry in withdrawn if entry.get("outcome") == "ESTABLISHED"]
    yield len(served) > 0, (
        f"{len(served)} connections to terminating pods that still served are WITHDRAWN, "
        "not phantom"
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
        expected = set().union(*(path.refused - path.phantom_syns for path in view.paths.values()))
        yield refused == expected and len(expected) > 0, (
            f"the {len(expected)} refusals by the crashed container ({plot.crashed_ip}) are LIVE, "
            f"REFUSED ({len(refused)})" + _difference(expected, refused)
        )


def _replayed(answers):
    if answers.replayed is None:
        return
    yield answers.replayed_again_equal, "two replays of the recording are the same, byte for byte"
    live = collections.Counter(kind(entry) for entry in answers.connections)
    again = collections.Counter(kind(entry) for entry in answers.replayed.get("connections", []))
    status = answers.replayed.get("status", {})
    yield live == again, (
        "the replay has the live counts by class, cause, outcome and layer"
        + ("" if live == again else f"; live {dict(live - again)}, replay {dict(again - live)}")
    )
    yield by_class(answers.status) == by_class(status), (
        f"the replay has the live counts of all classes: {by_class(answers.status)}"
        + ("" if by_class(answers.status) == by_class(status) else f" against {by_class(status)}")
    )
    yield rollout_counts(answers.rollouts) == rollout_counts(
        answers.replayed.get("rollouts", [])
    ), ("the replay has the live rollouts")
