"""Where the programs of the demo are, and how they are built."""

import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def find(build_dir, name):
    """phantomd or phantomctl."""
    return _executable(build_dir, name, (f"bin/{name}", f"agent/cmd/{name}"))


def find_envoy(build_dir):
    return _executable(build_dir, "Envoy", ("envoy/envoy/_bin/envoy",))


def build(build_dir):
    """Installs what is missing and builds both programs, with what the tools have to say."""
    _run(os.path.join(ROOT, "deploy", "install-packages"), build_dir)
    if not os.path.exists(os.path.join(build_dir, "build.ninja")):
        _run("cmake", "--preset", "release", "-B", build_dir)
    _run("ninja", "-C", build_dir, "phantomd", "phantomctl")


def _executable(build_dir, name, places):
    for place in places:
        path = os.path.join(build_dir, place)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise RuntimeError(f"{build_dir} holds no {name}; without --no-build it is made")


def _run(*command):
    try:
        process = subprocess.Popen(command, cwd=ROOT)
    except OSError as error:
        raise RuntimeError(f"{command[0]} cannot be run: {error.strerror}") from None
    try:
        code = process.wait()
    except BaseException:
        process.terminate()  # Ninja ends its compilers then.
        process.wait()
        raise
    if code != 0:
        raise RuntimeError(f"{os.path.basename(command[0])} failed with exit code {code}")
