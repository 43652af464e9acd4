"""The initial file system of a guest: a shell, the tools the tests call, kernel modules, the tests and their libraries.

Every program lies where it lies on this machine, so that what it finds by its own path it finds there too.
"""
import pathlib
import re
import shutil
import subprocess

# Busybox serves for the rest; its shell would take its own ip and sysctl for these.
TOOLS = ("/bin/dash", "/usr/sbin/ip", "/usr/sbin/nft", "/usr/sbin/tc", "/usr/sbin/sysctl", "/usr/sbin/modprobe",
         "/usr/bin/unshare")
# The kernel loads what a test asks for by itself; these parts of its tree, and what they depend on, are at hand.
MODULES = (*(f"kernel/net/{part}/" for part in ("core", "ipv4", "ipv6", "netfilter", "sched")),
           "kernel/drivers/net/veth.", "kernel/drivers/net/dummy.")


def _put(stage, path, source=None):
    target = stage / str(path).lstrip("/")
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source or path, target)
    return target


def _put_program(stage, path):
    """A program without its debug information, and the libraries it is linked with."""
    target = _put(stage, path)
    subprocess.run(["strip", "--strip-debug", target], check=True)
    libraries = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
    for library in re.findall(r"(/\S+) \(0x", libraries):
        _put(stage, library)


def with_dependencies(wanted, modules_dep):
    """The wanted prefixes' modules and all they need, from the text of modules.dep."""
    needs = {}
    for line in modules_dep.splitlines():
        module, _, needed = line.partition(":")
        needs[module] = needed.split()
    out = set()
    for module in needs:
        if module.startswith(wanted):
            out.update((module, *needs[module]))  # modules.dep lists needs of needs too
    return sorted(out)


def _put_modules(stage, kernel):
    target = pathlib.Path("/lib/modules") / kernel.version
    for module in with_dependencies(MODULES, (kernel.modules / "modules.dep").read_text()):
        _put(stage, target / module, kernel.modules / module)
    for index in kernel.modules.glob("modules.*"):
        _put(stage, target / index.name, index)


def _put_applets(stage):
    _put(stage, "/bin/busybox")
    (stage / "bin/sh").symlink_to("dash")
    applets = subprocess.run(["/bin/busybox", "--list"], check=True, capture_output=True, text=True).stdout.split()
    for name in {*applets} - {"sh", "busybox", *(pathlib.PurePath(tool).name for tool in TOOLS)}:
        (stage / "bin" / name).symlink_to("busybox")


def build(kernel, programs, files, init, folder):
    """Writes the image and returns its path.

    programs: executables to run in the guest and beside each other; files: guest path -> text.
    """
    stage = folder / f"{kernel.series}.root"
    shutil.rmtree(stage, ignore_errors=True)
    for directory in ("bin", "sbin", "dev", "proc", "sys", "tmp", "run", "etc"):
        (stage / directory).mkdir(parents=True)
    _put(stage, "/init", init).chmod(0o755)
    for program in (*TOOLS, *programs):
        _put_program(stage, program)
    (stage / "sbin/modprobe").symlink_to("/usr/sbin/modprobe")
    _put_applets(stage)
    _put_modules(stage, kernel)
    for path, text in files.items():
        target = stage / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    image = folder / f"{kernel.series}.cpio"
    # Not compressed: an emulated processor unpacks slowly.
    with image.open("wb") as out:
        names = subprocess.run(["find", "."], cwd=stage, check=True, capture_output=True)
        subprocess.run(["cpio", "--quiet", "--create", "--format=newc", "--owner=0:0"], cwd=stage, check=True,
                       input=names.stdout, stdout=out)
    shutil.rmtree(stage)
    return image
