"""What a lab leaves whose owner is ended in the middle of it."""

import os
import signal
import unittest

import lab as labs  # first: it knows where the demo's modules are
import remains
import turn
import undo


def end_owner_of_a_lab(number):
    """A process of its own opens a lab and gets the signal inside; returns its wait status."""
    told, tell = os.pipe()
    owner = os.fork()
    if owner == 0:
        code = 1
        try:
            with labs.Lab(addresses=3) as lab:
                lab.create_workload(2)
                os.write(tell, b"open")
                signal.pause()
        except undo.Interrupted:
            code = 0
        finally:
            os._exit(code)
    os.close(tell)
    with os.fdopen(told, "rb") as pipe:
        opened = pipe.read(4)
    if opened == b"open":
        os.kill(owner, number)
    _, status = os.waitpid(owner, 0)
    if opened != b"open":
        raise RuntimeError("the lab could not be set up")
    return status


class EndedLabTest(labs.Case):
    def test_interrupted_one_leaves_nothing(self):
        before = labs.fixture.leftovers()
        status = end_owner_of_a_lab(signal.SIGTERM)
        self.assertTrue(os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0, status)
        self.assert_nothing_left(before)

    def test_killed_one_is_removed_by_the_next(self):
        before = labs.fixture.leftovers()
        status = end_owner_of_a_lab(signal.SIGKILL)
        self.assertTrue(os.WIFSIGNALED(status), status)
        with turn.Turn():
            self.assertEqual(len(remains.remove()), 1)
        self.assert_nothing_left(before)


if __name__ == "__main__":
    unittest.main()
