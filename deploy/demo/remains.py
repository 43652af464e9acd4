"""What a scene left whose owner was killed before it could clean up, and its removal.

A scene's owner holds the machine's turn (turn.py) as long as it lives, however it ends. To whoever
holds the turn, every other scene that is found is therefore one without an owner, even if its
process id belongs to somebody else by now.

Nothing is touched but what has a scene's name, phantomd-demo-PID: a cgroup with the processes in
it, network namespaces, and a folder among the temporary files. BPF programs go with the agent.
"""

import os
import re
import stat
import tempfile

import undo

_NAME = re.compile(re.escape(undo.PREFIX) + "[0-9]+")
_NETNS_MARK = "mounted-netns-dir"  # in a scene's folder: the scene made the mount of /run/netns


def note_netns_mount(folder):
    """Remembers, for the case that this scene is killed, that it is the one to unmount."""
    with open(os.path.join(folder, _NETNS_MARK), "xb"):
        pass


def found():
    """The names of all scenes of which something is there, this process's own included."""
    folders = tempfile.gettempdir()
    names = {name for name in _list(undo.cgroup2_mount()) if _NAME.fullmatch(name)}
    names |= {
        match.group()
        for match in map(_NAME.match, _list(undo.NETNS_DIR))
        if match and match.string[match.end() :].startswith("-")
    }
    names |= {
        name
        for name in _list(folders)
        if _NAME.fullmatch(name) and _is_own_folder(os.path.join(folders, name))
    }
    return sorted(names)


def remove():
    """Removes every scene found, and returns their names. Only for the holder of the turn."""
    names = found()
    folders = {name: os.path.join(tempfile.gettempdir(), name) for name in names}
    mounted_before = not any(
        os.path.exists(os.path.join(folder, _NETNS_MARK)) for folder in folders.values()
    )
    for name, folder in folders.items():
        undo.remove_all(name, os.path.join(undo.cgroup2_mount(), name), folder, mounted_before)
    return names


def _list(folder):
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _is_own_folder(path):
    """Anybody may make a folder of any name among the temporary files; a scene's is its owner's."""
    try:
        entry = os.lstat(path)
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(entry.st_mode) and entry.st_uid == os.geteuid()
