"""The demo's command line: read, and found usable, before anything is installed, built or made."""

import argparse
import os
import tempfile

import programs

DELAYS = (0.2, 20.0)  # seconds that EDS may be late


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"{self.prog}: {message}; --help tells what there is\n")


def parse(arguments):
    parser = _Parser(
        prog="deploy/demo/run",
        description="Shows phantom connections and how phantomd counts them.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--no-build",
        action="store_true",
        help="install and build nothing: take the programs that are in the build folder",
    )
    parser.add_argument(
        "--eds-delay",
        type=float,
        default=3.0,
        metavar="SECONDS",
        help="how late endpoint changes reach Envoy, from {:g} to {:g} (default: 3); below 2 some "
        "of the shown things are too rare to happen in every run".format(*DELAYS),
    )
    parser.add_argument(
        "--keep", metavar="DIR", help="keep recording, logs and feeds in this folder"
    )
    parser.add_argument("--record", metavar="FILE", help="keep phantomd's recording as this file")
    parser.add_argument(
        "--build-dir",
        type=os.path.abspath,
        default=os.path.join(programs.ROOT, "build"),
        metavar="DIR",
        help="the build folder: where phantomd, phantomctl and Envoy are (default: build)",
    )
    options = parser.parse_args(arguments)
    if not DELAYS[0] <= options.eds_delay <= DELAYS[1]:
        parser.error("argument --eds-delay: must be from {:g} to {:g} seconds".format(*DELAYS))
    return options


def check_places(options):
    """RuntimeError if what is to be kept could not be written where it was asked for."""
    if options.keep:
        _check_folder("--keep", options.keep, options.keep)
    if options.record:
        if os.path.isdir(options.record):
            raise RuntimeError(f"--record {options.record}: is a folder, not a file")
        folder = os.path.dirname(os.path.abspath(options.record))
        _check_folder("--record", options.record, folder)


def _check_folder(option, value, folder):
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise RuntimeError(
            f"{option} {value}: nothing can be written to {folder}: {error.strerror}"
        ) from None
