"""What the lint checks share: the source files of a tree and a way to report what is wrong with them."""
import pathlib
import sys

SUFFIXES = (".h", ".cc", ".c")
FOLDERS = ("agent", "bpf", "tests", "bench")


def sources(root, folders=FOLDERS):
    """Every C and C++ file below the folders, in a stable order."""
    root = pathlib.Path(root)
    return sorted(path for folder in folders for path in (root / folder).rglob("*")
                  if path.suffix in SUFFIXES and path.is_file())


def report(check, complaints):
    """Prints the complaints; the exit code of the check."""
    for complaint in complaints:
        print(complaint)
    print(f"{check}: {len(complaints)} complaints")
    return 1 if complaints else 0


def run(check, find_complaints):
    sys.exit(report(check, find_complaints(pathlib.Path(sys.argv[1]))))
