"""One scene at a time on a machine: an agent sees every proxy there, and names are reused.

The lock is on a folder that is there anyway, so that no file of ours is left behind; it ends with
its holder, however that ends: children of the holder do not inherit it.
"""

import fcntl
import os


class Turn:
    def __init__(self):
        self._folder = None

    def take(self, say=lambda text: None):
        """Returns when no other scene runs on this machine."""
        self._folder = os.open("/run", os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another scene runs on this machine; this one begins when it has ended")
            fcntl.flock(self._folder, fcntl.LOCK_EX)

    def give_back(self):
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None

    def __enter__(self):
        self.take()

    def __exit__(self, *_):
        self.give_back()
