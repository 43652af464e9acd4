#!/usr/bin/python3 -B
"""Measures what recording connects costs, and prints it as Markdown tables.

    bench/probe/measure.py [--rounds N] [--connects N] [BUILD-FOLDER]

Needs root, two processors and the programs of the build: ninja -C build phantomd connect_load fake_proxy. The load is
one thread on the second processor that owns both ends of every connection; whatever observes it runs on the first. A
round measures every variant once, beginning each time with another one; a figure is the median over the rounds of its
ratio to the same round's run without any observer, with the interval that holds the true median with 95 %.
"""
import argparse
import contextlib
import dataclasses
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

import observers

OBSERVER_CPU, LOAD_CPU = 0, 1
KINDS = {"accepted": 1, "refused": 1, "getppid": 100}  # how many more times than the connects
NONE = "no probe"
REST_SECONDS = 2  # how long an observer is watched at rest
SETTLE_SECONDS = 4  # after which phantomd has judged what it was told


class Load:
    def __init__(self, build):
        self._process = subprocess.Popen([build / "bench/probe/connect_load", str(LOAD_CPU)], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def end(self):
        self._process.stdin.close()
        self._process.wait()


@dataclasses.dataclass(frozen=True)
class Lap:
    cpu: float
    elapsed: float


class Busy:
    """What a process spends, lap by lap."""

    def __init__(self, pid):
        self._pid = pid
        self._last = self._now()

    def _now(self):
        return Lap(observers.cpu_seconds(self._pid) if self._pid else 0, time.monotonic())

    def lap(self):
        last, self._last = self._last, self._now()
        return Lap(self._last.cpu - last.cpu, self._last.elapsed - last.elapsed)


@contextlib.contextmanager
def no_probe():
    yield None


def variants(build, load):
    namespace = load.ask("namespace")
    out = {
        NONE: no_probe,
        "no probe, again": no_probe,
        "phantomd, namespace not watched": lambda: observers.phantomd(build, OBSERVER_CPU, None),
        "phantomd, watched": lambda: observers.phantomd(build, OBSERVER_CPU, namespace),
    }
    absent = observers.missing_tools()
    for name in observers.TOOLS:
        if name in absent:
            print(f"not measured, because it is not installed: {name}", file=sys.stderr)
        else:
            out[name] = lambda name=name: observers.tool(name, OBSERVER_CPU)
    return out


def measure(variant, settle, load, connects):
    """kind -> ns each; of an observer also its share of a core at rest, CPU ns a connect beyond that, and its size."""
    figures = {}
    with variant() as pid:
        watch = Busy(pid)
        if pid:
            time.sleep(REST_SECONDS)
        rest = watch.lap()
        for kind, times in KINDS.items():
            figures[kind] = float(load.ask(f"{kind} {connects * times}"))
        if pid:
            time.sleep(settle)
            busy = watch.lap()
            done = 2 * connects * 1.1  # each kind is warmed up by a tenth
            figures["rest"] = rest.cpu / rest.elapsed
            figures["own CPU"] = (busy.cpu - busy.elapsed * figures["rest"]) / done * 1e9
            figures["resident"] = observers.resident_mib(pid)
    return figures


def median_interval(values):
    """The order statistics between which the median lies with at least 95 %."""
    values = sorted(values)
    n, rank = len(values), 0
    while sum(math.comb(n, k) for k in range(rank + 1)) / 2**n <= 0.025:
        rank += 1
    rank = max(rank - 1, 0)
    return values[rank], values[n - 1 - rank]


def table(kind, runs, unit):
    print(f"\n| {unit} | ns each | ratio | 95 % | more, ns |")
    print("| --- | --- | --- | --- | --- |")
    base = runs[NONE]
    for name, figures in runs.items():
        ratios = [f[kind] / b[kind] for f, b in zip(figures, base)]
        low, high = median_interval(ratios)
        more = statistics.median(f[kind] - b[kind] for f, b in zip(figures, base))
        print(f"| {name} | {statistics.median(f[kind] for f in figures):.0f} | {statistics.median(ratios):.3f} |"
              f" {low:.3f}–{high:.3f} | {more:+.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--connects", type=int, default=10_000, help="of each kind, a variant and round")
    arguments = parser.parse_args()
    if os.geteuid() != 0 or os.cpu_count() < 2:
        raise SystemExit("measure.py: needs root and two processors")
    build = arguments.build.resolve()
    load = Load(build)
    try:
        all_variants = variants(build, load)
        runs = {name: [] for name in all_variants}
        names = list(all_variants)
        for number in range(arguments.rounds):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                settle = SETTLE_SECONDS if name.startswith("phantomd") else 0
                runs[name].append(measure(all_variants[name], settle, load, arguments.connects))
            print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    finally:
        load.end()

    print(f"{arguments.rounds} rounds of {arguments.connects} connects of each kind;"
          f" load average at the end {os.getloadavg()[0]:.1f}")
    table("accepted", runs, "connect, accept, close")
    table("refused", runs, "connect, refused")
    table("getppid", runs, "getppid")
    print("\n| the observer itself | at rest, % of a core | CPU a connect, ns | resident, MiB |")
    print("| --- | --- | --- | --- |")
    for name, figures in runs.items():
        if "own CPU" in figures[0]:
            rest, each, size = (statistics.median(f[key] for f in figures) for key in ("rest", "own CPU", "resident"))
            print(f"| {name} | {rest * 100:.2f} | {each:.0f} | {size:.1f} |")


if __name__ == "__main__":
    main()
