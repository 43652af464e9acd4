"""Processes of the scene: where they run (namespace, cgroup, uid), how they are held and ended."""

import os
import signal
import subprocess
import time

import hosts

_started = []


def wait_until(what, condition, patience, pause=0.01):
    """Polls until `condition()` is true and returns its value; RuntimeError after `patience` s."""
    deadline = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {patience:g} s in vain until {what}")
        time.sleep(pause)


def start(
    argv,
    cgroup,
    netns=None,
    uid=None,
    stdin=subprocess.DEVNULL,
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
):
    """Starts `argv` in the cgroup, the namespace and under the uid given.

    The process enters its cgroup before anything else, so that it is found there whenever the
    scene is taken down; it gets a session of its own, so that a Ctrl-C at the terminal reaches the
    scene alone, which ends it in order.
    """
    os.makedirs(cgroup, exist_ok=True)
    command = [
        "/bin/sh",
        "-c",
        'echo $$ > "$1" && shift && exec "$@"',
        "sh",
        os.path.join(cgroup, "cgroup.procs"),
    ]
    if netns:
        command += ["nsenter", f"--net={hosts.netns_path(netns)}", "--"]
    if uid:
        command += ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]
    process = subprocess.Popen(
        command + argv,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )
    _started.append(process)
    return process


def reap_all():
    """Waits for all that were started here and have been ended: they stay zombies until then."""
    while _started:
        _started[-1].wait()
        _started.pop()


def end(process, number=signal.SIGKILL, patience=10.0):
    """Ends one process by pid and reaps it; a zombie would still count as one of the pod's."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Held:
    """Holds a process still for the length of a `with` block.

    Leaving the block lets it go on. All its threads have stopped when the block is entered.
    """

    def __init__(self, process):
        self._process = process

    def __enter__(self):
        os.kill(self._process.pid, signal.SIGSTOP)
        wait_until(f"process {self._process.pid} stands still", self._stopped, 5.0)

    def __exit__(self, *_):
        os.kill(self._process.pid, signal.SIGCONT)

    def _stopped(self):
        tasks = f"/proc/{self._process.pid}/task"
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/stat", encoding="utf-8") as stat:
                if stat.read().rpartition(")")[2].split()[0] != "T":
                    return False
        return True


def listening_ports(pid):
    """TCP ports on which somebody listens in the network namespace of `pid`."""
    ports = set()
    try:
        with open(f"/proc/{pid}/net/tcp", encoding="utf-8") as table:
            for line in table.readlines()[1:]:
                fields = line.split()
                if fields[3] == "0A":
                    ports.add(int(fields[1].rpartition(":")[2], 16))
    except OSError:
        pass  # The process is not there any more: nobody listens.
    return ports
