"""What the nodes' stand-in logged, by tenancy, and how bounds are held against it."""


def of(lines):
    """(address, pod UID) -> "pod" and "node", names; "up", "alive", "dead" and "gone", instants.

    On CLOCK_BOOTTIME (ns). The process lived at "alive" and was dead at "dead".
    """
    out = {}
    for line in lines:
        tenancy = out.setdefault(
            (line["ip"], line["uid"]), {"pod": line["pod"], "node": line["node"]}
        )
        tenancy[line["what"]] = line["boot"]
        if line["what"] == "dead":
            tenancy |= {"alive": line["alive"], "dead": line["dead"]}
    return out


def overlap(bounds, begin, end):
    """Whether an instant of [begin, end] lies between the bounds; None bounds nothing."""
    earliest, latest = bounds
    return (earliest is None or earliest <= end) and (latest is None or latest >= begin)
