"""The demo's plot: a crash, a rolling update whose endpoints reach Envoy late, a reused address.

Times are scenario, not synchronisation: what has to be waited for is polled for.
"""

import contextlib
import dataclasses
import time

import scene as scenes

CALLS_PER_SECOND = 20  # on each of the two paths
OLD_IPS = ("10.244.7.11", "10.244.7.12", "10.244.7.13")
NEW_IPS = ("10.244.7.21", "10.244.7.22", "10.244.7.23")


@dataclasses.dataclass
class Plot:
    """What happened, for the comparison afterwards."""

    old: list
    new: list
    thief: object  # the inventory pod on the third old address
    crashed_ip: str
    load_began: float
    load_seconds: float = 0.0
    told_ns: dict = None  # address -> when Envoy was told that it left (CLOCK_BOOTTIME)
    converged_wall_ns: int = 0  # Envoy applied the last EDS
    ended_wall_ns: int = 0

    def told_after_end(self, pod):
        """Seconds from an old pod's end until Envoy was told; negative: it was told before."""
        return (self.told_ns[pod.ip] - pod.died_ns) / 1e9

    def silent_seconds(self):
        """The longest that Envoy believed in an address while nobody had it."""
        took = self.thief.connected_ns
        ends = [self.told_ns[pod.ip] for pod in self.old]
        ends[2] = min(ends[2], took)
        return max(end - pod.died_ns for pod, end in zip(self.old, ends)) / 1e9

    def stolen_seconds(self):
        """How long Envoy believed in the third address while another workload had it."""
        return (self.told_ns[self.thief.ip] - self.thief.connected_ns) / 1e9

    def withdrawn_seconds(self):
        """The longest that Envoy believed in a pod that was terminating and still served."""
        ends = [min(self.told_ns[pod.ip], pod.died_ns) for pod in self.old]
        return max(end - pod.withdrawn_ns for pod, end in zip(self.old, ends)) / 1e9


def set_up(scene):
    """Three old pods and the client with its Envoy."""
    old = [scene.start_pod(scenes.CATALOG_OLD, ip, "catalog") for ip in OLD_IPS]
    scene.say("catalog runs on " + ", ".join(OLD_IPS))
    scene.start_client()
    scene.say(f"webapp runs on {scenes.CLIENT_IP}; a real Envoy is its sidecar (uid 1337)")
    return old


def play(scene, old):
    plot = Plot(old, [], None, old[1].ip, time.monotonic())
    scene.start_load(CALLS_PER_SECOND)
    scene.say(
        f"webapp calls catalog {CALLS_PER_SECOND} times a second over HTTP, and as often over TLS"
    )
    time.sleep(1.5)

    scene.crash(old[1])
    scene.say(f"{old[1].name} ({old[1].ip}) crashes; its address stays")
    time.sleep(0.4)
    scene.restart(old[1])
    scene.say(f"{old[1].name} runs again")
    time.sleep(1.0)

    scene.say("rolling update of catalog begins")
    _replace(scene, plot, 0, pre_stop=1.5)
    _replace(scene, plot, 1, pre_stop=0.1)
    plot.thief = scene.prepare_pod(scenes.INVENTORY)  # Pending until an address is free.
    # On a busy machine the address may change hands later than a late Envoy is told: the story
    # waits for it.
    late = scene.eds_delay >= 1.5
    with scene.control_plane.keep(OLD_IPS[2]) if late else contextlib.nullcontext():
        _replace(scene, plot, 2, pre_stop=0.1)
        time.sleep(0.6)
        scene.connect_pod(plot.thief, OLD_IPS[2])
        scene.ready_pod(plot.thief, "inventory")
        scene.say(f"{OLD_IPS[2]} now belongs to another workload: {plot.thief.name}")
        time.sleep(0.5)

    plot.converged_wall_ns = scene.wait_for_eds()
    scene.say("Envoy believes what Kubernetes says again")
    time.sleep(2.5)
    scene.stop_load()
    plot.load_seconds = time.monotonic() - plot.load_began
    plot.ended_wall_ns = time.time_ns()
    plot.told_ns = dict(scene.control_plane.removed_ns)
    scene.say("the load has ended")
    return plot


def _replace(scene, plot, index, pre_stop):
    """One step of the update: a new pod is ready, then an old one is deleted."""
    plot.new.append(scene.start_pod(scenes.CATALOG_NEW, NEW_IPS[index], "catalog"))
    old = plot.old[index]
    scene.withdraw(old, "catalog")
    scene.say(f"{old.name} ({old.ip}) is terminating, and still serves for {pre_stop:g} s")
    time.sleep(pre_stop)
    scene.end_pod(old)
    scene.say(f"{old.name} is gone: {old.ip} is silent from now on")
    time.sleep(scenes.REPORT_DELAY)
    scene.report_end(old, "catalog")
