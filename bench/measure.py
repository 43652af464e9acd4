"""Runs the benchmarks of the pure rooms and prints their figures as Markdown tables.

    bench/measure.py BUILD-FOLDER [REPETITIONS]

Each figure is the best of the repetitions (5 unless told otherwise), of CPU time, and beside it how many times the
first one of its kind it is: ratios within one run say how cost grows, whatever the machine.
"""
import json
import pathlib
import subprocess
import sys

PROGRAMS = ("judging_bench", "news_bench", "engine_bench")
# What one item of each benchmark is; without one, the whole call is what is timed.
ITEMS = {
    "JudgeLive": "verdict", "IndexLookUp": "look-up", "BeliefLookUp": "look-up", "PodNews": "pod",
    "SliceNews": "slice of 50", "PollUnchanged": "poll", "PollComplete": "endpoint", "CompactTombstones": "tombstone",
    "EngineLive": "attempt", "EngineDead": "attempt",
}
SHOWN = {"allocations": "allocations", "certain": "CERTAIN", "MiB": "MiB", "bytes_per_pod": "bytes a pod",
         "bytes_per_endpoint": "bytes an endpoint"}


def best(folder, program, repetitions):
    """(benchmark, arguments) -> its run with the least CPU time."""
    command = [folder / "bench" / program, "--benchmark_format=json", f"--benchmark_repetitions={repetitions}",
               "--benchmark_min_time=0.3"]
    runs = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["benchmarks"]
    out = {}
    for run in runs:
        if run["run_type"] != "iteration":
            continue
        name, *arguments = run["run_name"].split("/")
        key = (name, ", ".join(a.replace(":", " ") for a in arguments if not a.startswith("iterations")))
        if key not in out or run["cpu_time"] < out[key]["cpu_time"]:
            out[key] = run
    return out


def seconds(run):
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[run["time_unit"]]
    return 1 / run["items_per_second"] if "items_per_second" in run else run["cpu_time"] * unit


def readable(value):
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if value * scale >= 1:
            return f"{value * scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def main(folder, repetitions):
    print("| what | size | time each | × the first | each second | besides |")
    print("| --- | --- | --- | --- | --- | --- |")
    for program in PROGRAMS:
        first = {}
        for (name, arguments), run in best(folder, program, repetitions).items():
            each = seconds(run)
            base = first.setdefault(name, each)
            besides = ", ".join(f"{run[key]:.3g} {text}" for key, text in SHOWN.items() if key in run)
            item = f"{name} ({ITEMS[name]})" if name in ITEMS else name
            print(f"| {item} | {arguments} | {readable(each)} | {each / base:.2f} | {1 / each:,.0f} | {besides} |")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5)
