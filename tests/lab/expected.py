"""What a watcher's events say about every tenancy, by the rules of the design and without phantomd.

Written from what the API means, not from phantomd's code: for each pod and address, between which
instants it got the address, was withdrawn, and was dead (nanoseconds on CLOCK_BOOTTIME).
"""

import dataclasses
import datetime

SECOND = 10**9
# The agent's defaults.
FEED_DELAY = 2 * SECOND
CLOCK_ERROR = SECOND // 2
GRAIN = SECOND


def wall_ns(text):
    """Of a metav1.Time: the beginning of its second."""
    return int(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()) * SECOND


@dataclasses.dataclass
class _Life:
    """One pod, as far as the events have told; what came is an instant, what was told a time."""

    created: int
    addresses: dict = dataclasses.field(default_factory=dict)  # address -> when first told
    requested: int = None
    requested_came: int = None
    finished: int = None
    finished_came: int = None
    out_of_service_came: int = None
    in_service: bool = False


def _finished(status):
    """The last finishedAt, once no container runs; None before."""
    states = [entry.get("state", {}) for entry in status.get("containerStatuses", [])]
    if not states or not all("terminated" in state for state in states):
        return None
    return max(wall_ns(state["terminated"]["finishedAt"]) for state in states)


def lives(pod_events):
    out = {}
    for came, _, pod in pod_events:
        metadata, status = pod["metadata"], pod.get("status", {})
        if pod["spec"].get("hostNetwork"):
            continue
        life = out.setdefault(metadata["uid"], _Life(wall_ns(metadata["creationTimestamp"])))
        for entry in status.get("podIPs", []):
            life.addresses.setdefault(entry["ip"], came)
        if "deletionTimestamp" in metadata and life.requested is None:
            grace = metadata["deletionGracePeriodSeconds"] * SECOND
            life.requested = wall_ns(metadata["deletionTimestamp"]) - grace
            life.requested_came = came
        finished = _finished(status)
        if finished is not None and life.finished is None:
            life.finished, life.finished_came = finished, came
    return out


def follow_services(slice_events, known):
    """When each pod, once ready in a slice, was first in none any more."""
    slices = {}
    for came, kind, item in slice_events:
        name = (item["metadata"]["namespace"], item["metadata"]["name"])
        endpoints = [] if kind == "DELETED" else item.get("endpoints") or []
        slices[name] = {
            endpoint["targetRef"]["uid"]
            for endpoint in endpoints
            if endpoint.get("conditions", {}).get("ready", True) is not False
            and "targetRef" in endpoint
        }
        ready = set().union(*slices.values())
        for uid, life in known.items():
            if uid in ready:
                life.in_service = True
                life.out_of_service_came = None
            elif life.in_service and life.out_of_service_came is None:
                life.out_of_service_came = came


@dataclasses.dataclass
class Tenancy:
    """Bounds as (not before, not after); None: it has not happened."""

    acquired: tuple
    withdrawn: tuple
    released: tuple


def tenancies(pod_events, slice_events, wall_minus_boot):
    """(address, pod UID) -> Tenancy."""
    known = lives(pod_events)
    follow_services(slice_events, known)

    def of_api(wall):
        boot = wall - wall_minus_boot
        return boot - CLOCK_ERROR, boot + GRAIN + CLOCK_ERROR

    out = {}
    for uid, life in known.items():
        released = withdrawn = None
        if life.finished is not None:
            earliest, latest = of_api(life.finished)
            released = earliest, min(latest, life.finished_came)
        if life.requested is not None:
            earliest, latest = of_api(life.requested)
            latest = min(latest, life.requested_came)
            if life.out_of_service_came is not None:
                latest = min(latest, life.out_of_service_came)
            withdrawn = earliest, latest
        for address, came in life.addresses.items():
            acquired = of_api(life.created)[0], came
            out[address, uid] = Tenancy(acquired, withdrawn, released)
    _hand_over(out)
    return out


def _hand_over(found):
    """Nobody has an address before its last holder's earliest end."""
    by_address = {}
    for (address, uid), tenancy in found.items():
        by_address.setdefault(address, []).append((tenancy.acquired[1], uid))
    for address, order in by_address.items():
        order.sort()
        for (_, before), (_, after) in zip(order, order[1:]):
            ended, tenancy = found[address, before].released, found[address, after]
            if ended:
                earliest = max(tenancy.acquired[0], ended[0])
                tenancy.acquired = min(earliest, tenancy.acquired[1]), tenancy.acquired[1]
