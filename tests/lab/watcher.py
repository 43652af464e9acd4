"""An independent witness of what the API server tells: kubectl, and when its words came.

`kubectl get KIND -A -o json --watch --output-watch-events` writes into a file, as phantomd's
--feed=file: follows it, and the instant at which each event came is kept beside it.
"""

import codecs
import json
import os
import subprocess
import threading

import kubelet
import processes


class Watcher:
    def __init__(self, control_plane, cgroup, folder, kind):
        self.path = os.path.join(folder, kind + ".json")
        self.events = []  # (when on CLOCK_BOOTTIME, type, object); only ever grows
        self._text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._process = processes.start(
            [
                *control_plane.kubectl_command(),
                *("get", kind, "-A", "-o", "json", "--watch", "--output-watch-events"),
            ],
            cgroup,
            control_plane.netns,
            stdout=subprocess.PIPE,
        )
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self):
        while chunk := os.read(self._process.stdout.fileno(), 1 << 16):
            came = kubelet.boot_ns()
            self._take(came, chunk)
            os.write(self._file, chunk)

    def _take(self, came, chunk):
        self._text += self._decoder.decode(chunk)
        reader, at = json.JSONDecoder(), 0
        while True:
            begin = self._text.find("{", at)
            if begin < 0:
                break
            try:
                event, at = reader.raw_decode(self._text, begin)
            except ValueError:
                break  # Not complete yet.
            self.events.append((came, event["type"], event["object"]))
        self._text = self._text[at:]

    def stop(self):
        processes.end(self._process)
        self._thread.join()
        self._process.stdout.close()
        os.close(self._file)
