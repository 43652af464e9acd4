"""A guest: one kernel under QEMU's emulation, what it prints, and what it says of each program.

Emulation instead of KVM, because the machine that runs the tests may be virtual itself and lend its guests a processor
without the instructions these kernels need. It is right, and slow: nothing in a guest may be judged by its speed.
"""
import dataclasses
import re
import subprocess
import xml.etree.ElementTree as ElementTree


@dataclasses.dataclass(frozen=True)
class Result:
    xml: str  # GoogleTest's report; empty: it left none
    code: int | None  # None: the program never ended

    def complaint(self):
        """Why this is no success, or None."""
        if self.code is None:
            return "did not end"
        if self.code in (124, 137):
            return "was stopped at its deadline or killed"
        if self.code != 0:
            return f"ended with {self.code}"
        try:
            report = ElementTree.fromstring(self.xml)
        except ElementTree.ParseError:
            return "left no report"
        if not any(case.get("status") == "run" for case in report.iter("testcase")):
            return "ran no test"
        return None


def read_results(text):
    """What a guest has sent (see init): name -> Result, and whether it came to its end."""
    results = {}
    lines = text.replace("\r", "").splitlines()
    name, body = None, []
    for line in lines:
        if begin := re.fullmatch(r"begin (\S+)", line):
            name, body = begin[1], []
        elif (end := re.fullmatch(r"end (\S+) (\d+)", line)) and end[1] == name:
            results[name] = Result("\n".join(body).strip(), int(end[2]))
            name = None
        else:
            body.append(line)
    return results, bool(lines) and lines[-1] == "done"


class Guest:
    """Starts on construction; end() waits for it. Its output goes to FOLDER/SERIES.log as it comes."""

    def __init__(self, kernel, image, folder):
        self.kernel = kernel
        self.log = folder / f"{kernel.series}.log"
        self._results = folder / f"{kernel.series}.results"
        self._results.write_bytes(b"")
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-m", "1024", "-smp", "2", "-nographic",
                 "-nodefaults", "-no-reboot", "-kernel", kernel.image, "-initrd", image,
                 "-append", "console=ttyS0 quiet panic=-1", "-serial", "stdio", "-serial", f"file:{self._results}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def end(self, seconds):
        """Waits for the guest's end: (results, why it ended before its time or None)."""
        complaint = None
        try:
            self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            complaint = f"still ran after {seconds:.0f} s"
        self.stop()
        results, finished = read_results(self._results.read_text(errors="replace"))
        if not finished:
            complaint = complaint or "went down before its programs had run"
        return results, complaint

    def stop(self):
        self._process.kill()
        self._process.wait()

    def last_output(self, lines=60):
        return "\n".join(self.log.read_text(errors="replace").replace("\r", "").splitlines()[-lines:])
