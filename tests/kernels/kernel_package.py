"""Debian's cloud kernels, fetched and unpacked without being installed.

A series ("6.1") names whatever newest package of it the machine's package lists hold: security updates replace each
other and the archive keeps none for long. What is unpacked stays in a cache folder and is fetched once.
"""
import pathlib
import re
import shutil
import subprocess


class Kernel:
    """An unpacked kernel package: its boot image and its modules."""

    def __init__(self, series, root):
        self.series = series
        self.root = root
        self.version = next((root / "lib/modules").iterdir()).name
        self.image = root / "boot" / f"vmlinuz-{self.version}"
        self.modules = root / "lib/modules" / self.version


def newest(series, names):
    """The newest signed cloud kernel of a series among package names, or None."""
    pattern = re.compile(rf"linux-image-{re.escape(series)}\.\d\S*-cloud-amd64")
    return max((n for n in names if pattern.fullmatch(n)),
               key=lambda name: [int(number) for number in re.findall(r"\d+", name)], default=None)


def _listed(series):
    names = subprocess.run(["apt-cache", "pkgnames", f"linux-image-{series}."], check=True, capture_output=True,
                           text=True)
    return newest(series, names.stdout.split())


def _download(package, folder):
    if package is None:
        return False
    # apt would rather fetch as a user of its own, who may not write here.
    got = subprocess.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package], cwd=folder,
                         capture_output=True)
    return got.returncode == 0


def fetch(series, cache):
    """The newest kernel of the series, from the cache or else from Debian's archive."""
    package = _listed(series)
    if package is None or not (cache / package).is_dir():
        part = cache / f"{series}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        if not _download(package, part):
            # Lists older than the archive name a package that is gone, or none.
            subprocess.run(["apt-get", "-qq", "update"], check=False)
            package = _listed(series)
            if not _download(package, part):
                raise SystemExit(f"tests/kernels: no cloud kernel {series} can be had from the package archive"
                                 f" ({package or 'none is listed'})")
        deb = next(part.glob("*.deb"))
        subprocess.run(["dpkg", "-x", deb, part], check=True)
        deb.unlink()
        subprocess.run(["depmod", "-b", part, next((part / "lib/modules").iterdir()).name], check=True)
        shutil.rmtree(cache / package, ignore_errors=True)
        part.rename(cache / package)
    return Kernel(series, pathlib.Path(cache / package))
