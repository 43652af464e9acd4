"""deploy/demo/run's arguments and places are looked at before anything is built or made."""

import os
import subprocess
import tempfile
import unittest

import fixture  # first: it knows where the demo's modules are
import command_line
import programs

RUN = os.path.join(fixture.SOURCE_DIR, "deploy", "demo", "run")


class Case(fixture.Case):
    def run_demo(self, *options):
        """Runs it with a folder to build into that must stay as it is: empty."""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [RUN, "--build-dir", folder, *options], text=True, capture_output=True, timeout=60
            )
            self.assertEqual(os.listdir(folder), [])
        return done

    def assert_refused(self, code, sentence, *options):
        done = self.run_demo(*options)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("deploy/demo/run: "), done.stderr)
        self.assertIn(sentence, done.stderr)


class ArgumentsTest(Case):
    def test_help_names_every_option_and_the_range_of_the_delay(self):
        done = self.run_demo("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for text in ("--no-build", "--eds-delay", "--keep", "--record", "--build-dir"):
            self.assertIn(text, done.stdout)
        self.assertIn("from 0.2 to 20", done.stdout)

    def test_bad_argument_is_named_before_anything_is_built(self):
        for options, sentence in (
            (["--frobnicate"], "--frobnicate"),
            (["--eds-delay", "soon"], "'soon'"),
            (["--eds-delay", "0.1"], "must be from 0.2 to 20 seconds"),
            (["--eds-delay", "20.5"], "must be from 0.2 to 20 seconds"),
            (["--eds-delay", "nan"], "must be from 0.2 to 20 seconds"),
            (["--keep"], "--keep"),
        ):
            with self.subTest(options=options):
                self.assert_refused(2, sentence, *options)

    def test_order_of_options_does_not_matter(self):
        for arguments in (["--no-build", "--eds-delay", "2"], ["--eds-delay", "2", "--no-build"]):
            options = command_line.parse(arguments)
            self.assertEqual((options.no_build, options.eds_delay), (True, 2.0))


class PlacesTest(Case):
    def test_place_that_cannot_be_written_is_named_before_anything_is_built(self):
        for option, value in (
            ("--keep", "/proc/x"),
            ("--keep", "/dev/null"),
            ("--record", "/proc/x"),
            ("--record", "/proc/no/where"),
            ("--record", "/tmp"),
        ):
            with self.subTest(option=option, value=value):
                self.assert_refused(1, f"{option} {value}: ", option, value)

    def test_file_that_is_there_is_left_alone_until_there_is_a_recording(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"older")
            file.flush()
            command_line.check_places(command_line.parse(["--record", file.name]))
            self.assertEqual(os.path.getsize(file.name), 5)

    def test_build_folder_without_programs_is_named_before_the_scene_begins(self):
        self.assert_refused(1, "holds no Envoy", "--no-build")

    def test_program_that_is_missing_beside_envoy_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "envoy/envoy/_bin"))
            os.symlink(fixture.ENVOY, os.path.join(folder, "envoy/envoy/_bin/envoy"))
            self.assertTrue(os.access(programs.find_envoy(folder), os.X_OK))
            done = subprocess.run(
                [RUN, "--no-build", "--build-dir", folder], text=True, capture_output=True
            )
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("holds no phantomd; ", done.stderr)


if __name__ == "__main__":
    unittest.main()
