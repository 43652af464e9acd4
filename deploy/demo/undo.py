"""How the scene leaves nothing behind, whatever ends it.

Everything the scene makes carries its prefix: network namespaces are named after it, and every
process that it starts lives below one cgroup of that name. So the clean-up needs no list that an
interruption could leave incomplete: it ends the processes it finds in that cgroup (by pid),
removes the namespaces of that name (their links, routes and nftables go with them), the cgroup,
and the working folder. For the same reason the next scene can do it for one whose owner was killed
(remains.py).
"""

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import time

NETNS_DIR = "/run/netns"
PREFIX = "phantomd-demo-"  # of the names of all scenes; the owner's process id follows
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Interrupted(KeyboardInterrupt):
    """A signal asked the scene to end. Only the outermost caller may catch it as an error."""

    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.number = number


def raise_on_signals():
    """Turns the first of the signals that ask for an end into Interrupted; later ones are ignored.

    The clean-up that follows takes a second or two, and a second Ctrl-C must not cut it short.
    """

    def handle(number, _frame):
        for other in SIGNALS:
            signal.signal(other, signal.SIG_IGN)
        raise Interrupted(number)

    for number in SIGNALS:
        signal.signal(number, handle)


@contextlib.contextmanager
def signals_ignored():
    """Nothing interrupts a clean-up; afterwards signals are what they were."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Scope:
    """A `with` block that removes all that it made, whatever happened inside.

    Whoever is one has _open(), which makes it, and _close(), which removes what there is of it and
    may be called again.
    """

    def __enter__(self):
        try:
            self._open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Removes everything; to do so twice is harmless."""
        try:
            with signals_ignored():
                self._close()
        except Interrupted:
            self._close()  # Signals are ignored after the first one: nothing interrupts this.


def cgroup2_mount():
    """Where this machine has its cgroup v2 tree: /sys/fs/cgroup, or beside v1 controllers."""
    with open("/proc/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            _, point, kind, *_ = line.split()
            if kind == "cgroup2":
                return point
    raise RuntimeError(
        "no cgroup v2 tree is mounted; `mount -t cgroup2 none /sys/fs/cgroup` gives one"
    )


def pids_below(cgroup):
    pids = []
    for folder, _, files in os.walk(cgroup):
        if "cgroup.procs" in files:
            try:
                with open(os.path.join(folder, "cgroup.procs"), encoding="utf-8") as procs:
                    pids += [int(line) for line in procs]
            except OSError:
                pass  # The folder went away meanwhile.
    return pids


def end_processes(cgroup, patience=10.0):
    """Ends every process below `cgroup` and waits until the last one is gone."""
    deadline = time.monotonic() + patience
    while pids := pids_below(cgroup):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if time.monotonic() > deadline:
            raise RuntimeError(f"processes {pids} below {cgroup} do not end")
        time.sleep(0.01)


def remove_cgroup(cgroup, patience=10.0):
    deadline = time.monotonic() + patience
    for folder, _, _ in os.walk(cgroup, topdown=False):
        while True:
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                pass
            except OSError as error:
                # A process that was just reaped keeps its cgroup busy for another moment.
                if error.errno != errno.EBUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
                continue
            break


def namespaces(prefix):
    try:
        return sorted(name for name in os.listdir(NETNS_DIR) if name.startswith(prefix + "-"))
    except FileNotFoundError:
        return []


def remove_namespaces(prefix):
    for name in namespaces(prefix):
        subprocess.run(["ip", "netns", "delete", name], check=True)


def unmount_netns_dir():
    """Undoes the mount of /run/netns onto itself that the machine's first `ip netns add` makes."""
    if os.path.ismount(NETNS_DIR) and not os.listdir(NETNS_DIR):
        subprocess.run(["umount", NETNS_DIR], check=True)


def remove_all(prefix, cgroup, folder, netns_dir_was_mounted):
    """Removes everything of one scene. Safe to call when part of it, or nothing, exists."""
    # The steps run from the last to the first, each even if one before it failed.
    with contextlib.ExitStack() as steps:
        steps.callback(shutil.rmtree, folder, ignore_errors=True)
        steps.callback(remove_cgroup, cgroup)
        if not netns_dir_was_mounted:
            steps.callback(unmount_netns_dir)
        steps.callback(remove_namespaces, prefix)
        steps.callback(end_processes, cgroup)
