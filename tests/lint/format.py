"""clang-format decides how the code looks."""
import subprocess

import source_tree


def find_complaints(root):
    # vmlinux.h follows the kernel's own layout.
    files = [str(path) for path in source_tree.sources(root) if path.name != "vmlinux.h"]
    result = subprocess.run(["clang-format-16", "--dry-run", "--Werror", *files], cwd=root,
                            capture_output=True, text=True, check=False)
    return [line for line in result.stderr.splitlines() if "error:" in line or "No such" in line]


if __name__ == "__main__":
    source_tree.run("format", find_complaints)
