"""A guest: one kernel under QEMU's emulation that runs one program, what it prints, and what it says of the program.

Emulation instead of KVM, because the machine that runs the tests may be virtual itself and lend its guests a processor
without the instructions these kernels need. It is right, and slow: nothing in a guest may be judged by its speed.
"""
import dataclasses
import re
import subprocess
import time
import xml.etree.ElementTree as ElementTree


@dataclasses.dataclass(frozen=True)
class Result:
    xml: str  # GoogleTest's report; empty: it left none
    code: int | None  # None: the program never ended

    def summary(self):
        """How many tests it ran, and how long they took."""
        try:
            report = ElementTree.fromstring(self.xml)
        except ElementTree.ParseError:
            return "no report"
        return f"{report.get('tests')} tests, {float(report.get('time', 0)):.0f} s"

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


def read_result(text):
    """What a guest has sent (see init)."""
    body, _, end = text.replace("\r", "").rstrip().rpartition("\n")
    code = re.fullmatch(r"end (\d+)", end)
    return Result(body.strip(), int(code[1])) if code else Result("", None)


class Guest:
    """Starts on construction. Its output goes to FOLDER/TEST.log as it comes."""

    def __init__(self, kernel, image, test, folder):
        self.kernel = kernel
        self.test = test
        self.log = folder / f"{test}.log"
        self._result = folder / f"{test}.result"
        self._result.write_bytes(b"")
        self._begun = time.monotonic()
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                # What is cheap to emulate: no wide vectors, no deep page tables, nothing that flushes them at each
                # system call, and one processor. What several do at once is tested where it is fast.
                ["qemu-system-x86_64", "-accel", "tcg,tb-size=512", "-cpu", "Nehalem-v1", "-m", "1024", "-smp", "1",
                 "-nographic", "-nodefaults", "-no-reboot", "-kernel", kernel.image, "-initrd", image,
                 "-append", f"console=ttyS0 quiet panic=-1 mitigations=off nopti phantomd.test={test}",
                 "-serial", "stdio", "-serial", f"file:{self._result}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def is_over(self):
        return self._process.poll() is not None

    def seconds(self):
        return time.monotonic() - self._begun

    def stop(self):
        self._process.kill()
        self._process.wait()

    def result(self):
        return read_result(self._result.read_text(errors="replace"))

    def last_output(self, lines=60):
        return "\n".join(self.log.read_text(errors="replace").replace("\r", "").splitlines()[-lines:])
