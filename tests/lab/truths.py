"""What the nodes' stand-in logged, by tenancy, and how bounds are held against it."""


def of(lines):
    """(address, pod UID) -> "pod" and "node", names, and instants on CLOCK_BOOTTIME (ns).

    The address came "up"; the server had been told of it when it was "reported"; the process lived
    when it was "alive" and not any more when it was "dead"; the address was "gone".
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
