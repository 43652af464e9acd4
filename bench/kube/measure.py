#!/usr/bin/python3 -B
"""What following a large cluster costs, as Markdown: start-up, CPU, memory and how late news is, in both scopes.

    bench/kube/measure.py [BUILD-FOLDER]      (default: build; as root)

Needs: ninja -C build phantomd cluster_server feed_reader. A server that makes the cluster up runs on the first processor,
who follows it on the second: feed_reader, which is the agent without probes and proxies and tells when news reached the
index, then phantomd itself.
"""
import argparse
import contextlib
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "probe"))
import observers  # noqa: E402

SERVER_CPU, READER_CPU = 0, 1
NODE = "node-7"
STARTS_WITHIN = 120  # seconds


def on(cpu, *command, **options):
    return subprocess.Popen(["taskset", "-c", str(cpu), *map(str, command)], text=True, **options)


@contextlib.contextmanager
def server(build, folder, size):
    """Yields the kubeconfig; afterwards its list `sent` holds what the server printed at its end."""
    process = on(SERVER_CPU, build / "bench/kube/cluster_server", size.pods, size.slices, size.nodes, size.changes,
                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    sent = []
    try:
        port = int(process.stdout.readline())
        path = folder / "kubeconfig"
        path.write_text(f"""apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: u, user: {{}}}}]
""")
        yield path, sent
        sent += process.communicate()[0].splitlines()
    finally:
        process.kill()
        process.wait()


def peak_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def followed(pid, begun, seconds):
    """A process that is synced: what it took until then, and what it takes from then on."""
    start_cpu, start_peak = observers.cpu_seconds(pid), peak_mib(pid)
    started = time.monotonic()
    time.sleep(seconds)
    share = (observers.cpu_seconds(pid) - start_cpu) / (time.monotonic() - started)
    return {"start": started - begun, "start_cpu": start_cpu, "share": 100 * share,
            "resident": observers.resident_mib(pid), "peak": max(start_peak, peak_mib(pid))}


def read(build, folder, size, scope, seconds):
    with server(build, folder, size) as (kubeconfig, sent):
        process = on(READER_CPU, build / "bench/kube/feed_reader", kubeconfig, scope, NODE,
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            while not (line := process.stdout.readline()).startswith("synced"):  # the feeds' log is there, too
                if not line:
                    raise RuntimeError("feed_reader is not synced")
            _, start, plain = line.split()
            out = followed(process.pid, time.monotonic() - float(start), seconds)
            out["plain"] = int(plain) / 2**20
            applied = dict(line.split() for line in process.communicate()[0].splitlines()
                           if line.count(" ") == 1)
        finally:
            process.kill()
            process.wait()
    lags = [(int(applied[uid]) - int(at)) / 1e6 for uid, at in map(str.split, sent) if uid in applied]
    out["lags"], out["sent"] = lags, len(sent)
    return out


def all_synced(port):
    with contextlib.suppress(OSError):
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read().decode()
        values = [line.split()[-1] for line in text.splitlines() if line.startswith("phantom_agent_feed_synced{")]
        return len(values) == 3 and all(float(value) == 1 for value in values)
    return False


def run_agent(build, folder, size, scope, seconds):
    with server(build, folder, size) as (kubeconfig, _):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        begun = time.monotonic()
        process = on(READER_CPU, build / "bin/phantomd", "--feed=kubernetes", f"--kubeconfig={kubeconfig}",
                     f"--pod_scope={scope}", f"--node_name={NODE}", f"--listen=unix:{folder}/agent.sock",
                     f"--metrics_listen=127.0.0.1:{port}", "--log_level=error")
        try:
            while not all_synced(port):
                if time.monotonic() - begun > STARTS_WITHIN or process.poll() is not None:
                    raise RuntimeError("phantomd is not synced")
                time.sleep(0.2)
            return followed(process.pid, begun, seconds)
        finally:
            process.terminate()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--slices", type=int, default=5_000)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--changes", type=int, default=500, help="a second")
    parser.add_argument("--seconds", type=int, default=60, help="how long changes are followed")
    size = parser.parse_args()
    build = size.build.resolve()
    print(f"{size.pods:,} pods, {size.slices:,} slices, {size.nodes:,} nodes, {size.changes} changes a second for"
          f" {size.seconds} s\n")
    print("| scope | who | synced after, s | CPU until then, s | then % of a core | resident, MiB | at most, MiB |"
          " decoded values alone, MiB | late: median, 99 %, most, ms |")
    print("|" + " --- |" * 9)
    for scope in ("cluster", "endpointslices"):
        with tempfile.TemporaryDirectory() as folder:
            reader = read(build, pathlib.Path(folder), size, scope, size.seconds)
            agent = run_agent(build, pathlib.Path(folder), size, scope, size.seconds)
        lags = sorted(reader["lags"])
        late = (f"{statistics.median(lags):.1f}, {lags[len(lags) * 99 // 100]:.1f}, {lags[-1]:.1f}"
                f" (of {len(lags):,})" if lags else "none")
        for who, figures, rest in (("feed and index", reader, f"{reader['plain']:.1f} | {late}"), ("phantomd", agent, "| ")):
            print(f"| {scope} | {who} | {figures['start']:.1f} | {figures['start_cpu']:.1f} | {figures['share']:.1f} |"
                  f" {figures['resident']:.0f} | {figures['peak']:.0f} | {rest} |", flush=True)


if __name__ == "__main__":
    main()
