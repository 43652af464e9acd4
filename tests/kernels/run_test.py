"""What a guest sent is read, and nothing that is not a success is taken for one."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import guest_image  # noqa: E402
import kernel_package  # noqa: E402
from guest import Result, read_result  # noqa: E402

loader = importlib.machinery.SourceFileLoader("kernels_run", str(HERE / "run"))
kernels_run = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(kernels_run)

REPORT = ('<testsuites tests="1" time="2.4"><testsuite><testcase name="A" status="run" result="completed"/>'
          '</testsuite></testsuites>')
NOTHING_RAN = '<testsuites><testsuite><testcase name="A" status="notrun"/></testsuite></testsuites>'


class GuestResultsTest(unittest.TestCase):
    def test_report_and_end_are_read(self):
        self.assertEqual(read_result(f"{REPORT}\r\n\r\nend 0\r\n"), Result(REPORT, 0))
        self.assertEqual(read_result("\nend 1\n"), Result("", 1))

    def test_guest_that_went_down_has_no_result(self):
        for sent in ("", REPORT, f"{REPORT}\n\nen", "<testsui"):
            self.assertEqual(read_result(sent).complaint(), "did not end")

    def test_only_a_program_that_ran_tests_and_ended_well_is_a_success(self):
        self.assertIsNone(Result(REPORT, 0).complaint())
        self.assertEqual(Result(REPORT, 0).summary(), "1 tests, 2 s")
        self.assertEqual(Result("", None).complaint(), "did not end")
        self.assertEqual(Result(REPORT, 137).complaint(), "was stopped at its deadline or killed")
        self.assertEqual(Result(REPORT, 1).complaint(), "ended with 1")
        self.assertEqual(Result("", 0).complaint(), "left no report")
        self.assertEqual(Result(NOTHING_RAN, 0).complaint(), "ran no test")


class TotalsTest(unittest.TestCase):
    def totals(self, complaint, xml):
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder)
            kernels_run.write_junit(results / "kernels.junit", {("6.1", "a_test"): complaint})
            (results / "kernels").mkdir()
            (results / "kernels/a_test@6.1.xml").write_text(xml)
            return subprocess.run([sys.executable, HERE.parent / "totals.py", results], capture_output=True, text=True)

    def test_cases_of_a_guest_are_counted(self):
        done = self.totals(None, REPORT)
        self.assertIn("kernels: 1 passed, 0 failed, 0 skipped", done.stdout)
        self.assertEqual(done.returncode, 0)

    def test_program_without_an_end_is_a_failure(self):
        done = self.totals("did not end", "<testsuites/>")
        self.assertIn("kernels: 0 passed, 1 failed, 0 skipped", done.stdout)
        self.assertEqual(done.returncode, 1)


class KernelPackageTest(unittest.TestCase):
    def test_newest_of_the_series_is_taken(self):
        names = ["linux-image-6.1.0-9-cloud-amd64", "linux-image-6.1.0-57-cloud-amd64",
                 "linux-image-6.1.0-58-cloud-amd64-unsigned", "linux-image-6.1.0-58-cloud-amd64-dbg",
                 "linux-image-6.1.0-60-amd64", "linux-image-6.12.99+deb12-cloud-amd64",
                 "linux-image-6.12.117+deb12-cloud-amd64", "linux-image-6.12-cloud-amd64"]
        self.assertEqual(kernel_package.newest("6.1", names), "linux-image-6.1.0-57-cloud-amd64")
        self.assertEqual(kernel_package.newest("6.12", names), "linux-image-6.12.117+deb12-cloud-amd64")
        self.assertIsNone(kernel_package.newest("6.6", names))

    def test_modules_bring_what_they_depend_on(self):
        dep = "net/a.ko: lib/c.ko net/b.ko\nnet/b.ko:\nlib/c.ko:\nlib/d.ko:\n"
        self.assertEqual(guest_image.with_dependencies(("net/a",), dep), ["lib/c.ko", "net/a.ko", "net/b.ko"])


if __name__ == "__main__":
    unittest.main()
