#!/usr/bin/env python3
"""What phantomd costs at rest beside real Envoys that do nothing, each in a network namespace of its own.

Usage: bench/probe/rest.py [BUILD_DIR]        (default: build; as root)

Prints the agent's share of a core, of its whole process and by thread, and its resident memory. What it makes it
removes.
"""
import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time

import observers

CLUSTERS = 40
HOSTS = 5


def bootstrap(folder, number):
    """A proxy as Istio names it, with clusters whose endpoints never answer because nobody asks them."""
    def endpoint(cluster, host):
        address = {"address": f"10.{100 + number}.{cluster}.{host + 1}", "port_value": 8080}
        return {"endpoint": {"address": {"socket_address": address}}}

    clusters = [{
        "name": (name := f"outbound|8080||service{cluster}.shop.svc.cluster.local"), "type": "STATIC",
        "load_assignment": {"cluster_name": name,
                            "endpoints": [{"lb_endpoints": [endpoint(cluster, host) for host in range(HOSTS)]}]},
    } for cluster in range(CLUSTERS)]
    path = folder / f"envoy{number}.json"
    path.write_text(json.dumps({
        "node": {"id": f"sidecar~10.{100 + number}.0.1~app{number}.shop~shop.svc.cluster.local", "cluster": "bench"},
        "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 15000}}},
        "static_resources": {"clusters": clusters}}))
    return path


@contextlib.contextmanager
def envoy(build, folder, number, cpu):
    name = f"rest{os.getpid()}-{number}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        process = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{name}", "taskset", "-c", str(cpu), build / "envoy/envoy/_bin/envoy",
             "--concurrency", "1", "--disable-hot-restart", "--log-level", "off", "-c", bootstrap(folder, number)])
        try:
            yield process
        finally:
            process.kill()
            process.wait()
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def threads(pid):
    """Thread -> (name, seconds of CPU, how often it was run)."""
    out = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):
            ran, _, times = (task / "schedstat").read_text().split()
            out[task.name] = ((task / "comm").read_text().strip(), int(ran) / 1e9, int(times))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--proxies", type=int, default=20)
    parser.add_argument("--settle", type=int, default=20, help="seconds before it is watched")
    parser.add_argument("--seconds", type=int, default=60, help="how long it is watched")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        proxies = [stack.enter_context(envoy(build, folder, number, 1)) for number in range(arguments.proxies)]
        pid = stack.enter_context(observers.phantomd(build, 0, None))
        time.sleep(arguments.settle)
        if any(proxy.poll() is not None for proxy in proxies):
            raise SystemExit("rest.py: an Envoy has ended")
        known = observers.proxies_of(pid)
        before, begun = threads(pid), time.monotonic()
        time.sleep(arguments.seconds)
        after, elapsed = threads(pid), time.monotonic() - begun
        resident = observers.resident_mib(pid)
    print(f"{known:.0f} proxies known, {elapsed:.0f} s, load average {os.getloadavg()[0]:.1f}\n")
    print("| thread | % of a core | runs a second |\n| --- | --- | --- |")
    rows = [(name, ran - before.get(thread, (name, 0, 0))[1], times - before.get(thread, (name, 0, 0))[2])
            for thread, (name, ran, times) in after.items()]
    for name, ran, times in sorted(rows, key=lambda row: -row[1]):
        if ran > elapsed * 1e-5:
            print(f"| {name} | {ran / elapsed * 100:.3f} | {times / elapsed:.0f} |")
    print(f"| all | {sum(ran for _, ran, _ in rows) / elapsed * 100:.2f} | |")
    print(f"\nresident: {resident:.1f} MiB")


if __name__ == "__main__":
    main()
