"""Includes point one way: cmd -> edges -> wire -> engine -> {verdict, ledger} -> {lifecycle, belief} -> base.

Edges never include one another, and the pure rooms include no header of a library that does I/O.
"""
import re

import source_tree

PURE = ("lifecycle", "belief", "verdict", "ledger", "engine")
EDGES = ("probe", "kube", "envoy", "store", "recording", "serve")

# Which other rooms a room may include.
ALLOWED = {
    "base": (),
    "lifecycle": ("base",),
    "belief": ("base",),
    "verdict": ("lifecycle", "belief", "base"),
    # A verdict is what the ledger counts; it includes the value, never asks for one.
    "ledger": ("verdict", "lifecycle", "belief", "base"),
    "engine": ("verdict", "ledger", "lifecycle", "belief", "base"),
    "wire": PURE + ("base",),
}
ALLOWED.update({edge: ("wire", "base") + PURE for edge in EDGES})
ALLOWED["cmd"] = EDGES + ("wire", "base") + PURE

FORBIDDEN_IN_PURE = re.compile(
    r"^(bpf/|linux/|curl/|simdjson|google/protobuf|phantom/v1/|grpc|sqlite3|prometheus|spdlog|sys/|netinet/|"
    r"unistd\.h|fcntl\.h|fstream|iostream|thread$|mutex$|ctime$|time\.h)")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def find_complaints(root):
    complaints = []
    for path in source_tree.sources(root, ("agent",)):
        parts = path.relative_to(root).parts
        room = parts[1]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            included = match.group(1)
            where = f"{path.relative_to(root)}:{number}"
            if included.startswith("agent/"):
                other = included.split("/")[1]
                if other != room and other not in ALLOWED.get(room, ()):
                    complaints.append(f"{where}: {room} must not include {other}")
            elif included.startswith(("tests/", "bench/")):
                complaints.append(f"{where}: product code must not include {included}")
            elif included.startswith(("bpf/connect", "bpf/connect_event.h")) and room != "probe":
                complaints.append(f"{where}: the kernel's records are for probe alone")
            elif room in PURE and FORBIDDEN_IN_PURE.match(included):
                complaints.append(f"{where}: {room} is pure and must not include <{included}>")
    return complaints


if __name__ == "__main__":
    source_tree.run("include direction", find_complaints)
