"""What the end-to-end tests share: the demo's modules, where things are, and what is left over.

A test enters a Scene by a `with` block of its own, never by a unittest clean-up: an interrupted
unittest skips its clean-ups, a block does not.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE_DIR = os.environ.get("PHANTOMD_SOURCE_DIR") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)
BUILD_DIR = os.environ.get("PHANTOMD_BUILD_DIR") or os.path.join(SOURCE_DIR, "build")
ENVOY = os.path.join(BUILD_DIR, "envoy/envoy/_bin/envoy")
EDS_DELAY = 2.0

sys.path.insert(0, os.path.join(SOURCE_DIR, "deploy", "demo"))

import agent as agents  # noqa: E402: the demo's modules, found by the line above
import processes  # noqa: E402
import programs  # noqa: E402
import scene as scenes  # noqa: E402
import turn  # noqa: E402
import undo  # noqa: E402


def new_scene(eds_delay=EDS_DELAY):
    return scenes.Scene(ENVOY, eds_delay)


def new_agent(scene, name="phantomd"):
    phantomd, phantomctl = (programs.find(BUILD_DIR, what) for what in ("phantomd", "phantomctl"))
    return agents.Agent(scene, phantomd, phantomctl, name)


def _lines(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def _cgroups():
    root = undo.cgroup2_mount()
    return sorted(name for name in os.listdir(root) if os.path.isdir(os.path.join(root, name)))


def _own_processes():
    """Processes of any scene, wherever they run: each lives in a cgroup of the scene's name."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cgroup", encoding="utf-8") as cgroup:
                if "phantomd-demo-" in cgroup.read():
                    found.append(pid)
        except OSError:
            pass  # It ended meanwhile.
    return found


def _mounts():
    with open("/proc/mounts", encoding="utf-8") as mounts:
        return sorted(mounts)


def leftovers():
    """Everything of the machine that a scene, a proxy or an agent could leave behind.

    Looks while no scene runs, be it another user's.
    """
    with turn.Turn():
        return _machine()


def _machine():
    programs = json.loads("".join(_lines("bpftool", "--json", "prog", "show")))
    return {
        "namespaces": sorted(os.listdir(undo.NETNS_DIR)) if os.path.isdir(undo.NETNS_DIR) else [],
        "links": sorted(line.split(":")[1] for line in _lines("ip", "-oneline", "link", "show")),
        "mounts": _mounts(),
        "tables": sorted(_lines("nft", "list", "tables")),
        "programs": sorted(f"{program['type']} {program.get('name', '')}" for program in programs),
        "cgroups": _cgroups(),
        "processes": _own_processes(),
        "folders": sorted(
            name for name in os.listdir(tempfile.gettempdir()) if name.startswith("phantomd-demo")
        ),
    }


class Case(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise RuntimeError("the end-to-end tests make network namespaces: run them as root")
        undo.raise_on_signals()

    def assert_nothing_left(self, before):
        """The kernel frees BPF programs and namespaces a moment after their last user is gone."""
        try:
            processes.wait_until("nothing is left", lambda: leftovers() == before, 20.0)
        except RuntimeError:
            self.assertEqual(leftovers(), before)
