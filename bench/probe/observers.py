"""What may watch the load: phantomd, with and without the load's namespace among the watched, and other tools."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

# tcplife and tcpstates are of the Debian package libbpf-tools, bpftrace of its own.
BPFTRACE_COUNT = "tracepoint:sock:inet_sock_set_state { @[args->newstate] = count(); }"
BPFTRACE_PRINT = ('tracepoint:sock:inet_sock_set_state /args->oldstate == 2/'
                  ' { printf("%d %d %d %d\\n", pid, args->sport, args->dport, args->newstate); }')
TOOLS = {
    "tcplife": ["tcplife"],
    "tcpstates": ["tcpstates"],
    "bpftrace, counting states": ["bpftrace", "-e", BPFTRACE_COUNT],
    "bpftrace, a line per connect": ["bpftrace", "-e", BPFTRACE_PRINT],
}
READY_SECONDS = 30
_METRICS = {}  # phantomd's process ID -> the port of its metrics


def cpu_seconds(pid):
    """Of all threads that still live."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def resident_mib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def _until(condition, what):
    deadline = time.monotonic() + READY_SECONDS
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} is not ready after {READY_SECONDS} s")
        time.sleep(0.05)
    return value


@contextlib.contextmanager
def _running(cpu, command, **options):
    process = subprocess.Popen(["taskset", "-c", str(cpu), *command], **options)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _attached(pid):
    """How many programs the process has attached, once that number no longer grows."""
    def count():
        with contextlib.suppress(OSError):
            links = [os.readlink(entry) for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
            return sum("bpf_link" in link or "bpf-link" in link or "perf_event" in link for link in links)
        return 0
    before = count()
    time.sleep(0.5)
    return before == count() and before


@contextlib.contextmanager
def tool(name, cpu):
    with _running(cpu, TOOLS[name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _until(lambda: process.poll() is None and _attached(process.pid), name)
        yield process.pid


def _proxies(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            text = answer.read().decode()
    except OSError:
        return None
    return sum(float(value) for value in re.findall(r"^phantom_agent_proxies\S* (\S+)", text, re.MULTILINE))


@contextlib.contextmanager
def phantomd(build, cpu, namespace):
    """namespace: where a stand-in for a proxy runs, which makes it watched; None: nowhere."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        log = stack.enter_context(open(f"{folder}/log", "w"))
        agent = stack.enter_context(_running(
            cpu, [build / "bin/phantomd", "--feed=none", f"--listen=unix:{folder}/socket",
                  f"--metrics_listen=127.0.0.1:{port}"], stdout=log, stderr=log))
        _until(lambda: agent.poll() is None and _proxies(port) is not None, "phantomd")
        before = _proxies(port)
        if namespace:
            proxy = stack.enter_context(subprocess.Popen(
                ["nsenter", f"--net={namespace}", build / "tests/bpf/named/envoy", "-c", "x"],
                stdin=subprocess.PIPE))  # ends with its input
            _until(lambda: proxy.poll() is None and _proxies(port) > before, "phantomd's proxy")
        _METRICS[agent.pid] = port
        yield agent.pid


def proxies_of(pid):
    """How many proxies the phantomd of this ID knows."""
    return _proxies(_METRICS[pid])


def missing_tools():
    return [name for name, command in TOOLS.items() if shutil.which(command[0]) is None]
