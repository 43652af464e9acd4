"""What the demo prints at its end: one table, and one line for each difference in it."""

import collections
import textwrap

import checks

WIDTH = 100
_LABEL = 17


def heading(text):
    print(f"\n{text}\n{'-' * WIDTH}")


def _counts(counter):
    return ", ".join(f"{count} {name}" for name, count in counter.most_common()) or "none"


def _row(label, left, right):
    column = (WIDTH - _LABEL - 2) // 2
    cells = [textwrap.wrap(text, column - 1) or [""] for text in (left, right)]
    for line in range(max(map(len, cells))):
        name = label if line == 0 else ""
        parts = [cell[line] if line < len(cell) else "" for cell in cells]
        print(f"{name:<{_LABEL}} {parts[0]:<{column}} {parts[1]}".rstrip())


def _both(label, view, text):
    _row(label, text(view.paths["http"]), text(view.paths["tls"]))


def observers(plot, view, answers):
    """One row per observer, one column per path."""
    heading(f"What each observer saw of the same {plot.load_seconds:.0f} seconds")
    _row("", "HTTP (retried)", "TLS passthrough")
    _both("client", view, _client)
    _row("HTTP access log", _access_log(view), "no line: tcp_proxy has no HTTP log")
    _both("Envoy's cluster", view, _cluster_counters)
    _both("Envoy's hosts", view, lambda path: _host_counters(path, {pod.ip for pod in plot.old}))
    _both("nftables", view, _syns)
    _row("phantomd", *(_phantomd(answers, path) for path in ("http", "tls")))


def _client(path):
    ends = _counts(path.ends)
    return f"{path.ends.total()} calls: {ends}; {path.slow} of the ok took over 0.5 s"


def _access_log(view):
    lines = (f"{line['code']} \"{line['flags'] or '-'}\"" for line in view.access_log)
    retried = sum(int(line["attempts"] or 1) > 1 for line in view.access_log)
    return f"{_counts(collections.Counter(lines))}; {retried} took more than one attempt"


def _cluster_counters(path):
    names = (
        "cx_total",
        "cx_connect_fail",
        "cx_connect_timeout",
        "rq_retry",
        "rq_pending_failure_eject",
    )
    return ", ".join(f"{name} {path.stats.get('upstream_' + name, 0)}" for name in names)


def _host_counters(path, dead):
    sums = (
        f"{name} {sum(host.get(name, 0) for host in path.per_host.values())}"
        for name in ("cx_total", "cx_connect_fail")
    )
    listed, there = len(dead & set(path.per_host)), len(path.per_host)
    return (
        f"{listed} of the {len(dead)} dead addresses listed; the {there} hosts there: "
        + ", ".join(sums)
    )


def _syns(path):
    dead = len(path.phantom_syns)
    return f"{len(path.syns)} connections begun, {dead} of them to dead addresses"


def _phantomd(answers, path):
    kinds = collections.Counter(
        " ".join(checks.kind(entry)[:3])
        for entry in answers.connections
        if checks.PATH_OF_LAYER.get(entry.get("layer")) == path
    )
    return _counts(kinds)


def _phantoms_of(answers, path):
    return [
        entry
        for entry in answers.connections
        if checks.is_phantom(entry) and checks.PATH_OF_LAYER.get(entry.get("layer")) == path
    ]


def addresses(plot, view, answers):
    """The two independent counts side by side."""
    heading("Connections that Envoy began after the pod behind the address was gone")
    titles = f"{'address':<14}{'its pod':<31}{'nftables':>9}{'phantomd':>9}"
    print(titles + "   DEAD and REUSED, by outcome")
    seen = set().union(*(path.phantom_syns for path in view.paths.values()))
    for pod in plot.old:
        mine = [
            entry
            for entry in answers.connections
            if checks.is_phantom(entry) and checks.endpoint(entry["destination"])[0] == pod.ip
        ]
        kinds = collections.Counter(
            f"{entry['destinationClass']} {entry.get('outcome', '-')}" for entry in mine
        )
        counted = sum(entry[2] == pod.ip for entry in seen)
        row = f"{pod.ip:<14}{pod.name:<31}{counted:>9}{len(mine):>9}   "
        indent = " " * len(row)
        print(textwrap.fill(_counts(kinds), WIDTH, initial_indent=row, subsequent_indent=indent))


def differences(plot, view, answers):
    heading("Why they differ")
    http, tls = view.paths["http"], view.paths["tls"]
    phantoms = {path: _phantoms_of(answers, path) for path in ("http", "tls")}
    reached = {
        path: sum(entry.get("outcome") == "ESTABLISHED" for entry in entries)
        for path, entries in phantoms.items()
    }
    failed = {name: path.ends.total() - path.ends["ok"] for name, path in view.paths.items()}
    stat = {name: path.stats.get for name, path in view.paths.items()}
    lines = [
        f"HTTP retries: {len(phantoms['http'])} phantoms, {failed['http']} failed calls. Envoy "
        f"retried {stat['http']('upstream_rq_retry', 0)} times; where that helped, the caller saw a "
        "slow 200 and the log has a 200 without a flag.",
        f"Callers are not connections: {failed['tls']} TLS calls failed, {len(phantoms['tls'])} "
        "connections were phantoms. One connect timeout ends every call that waits on that pool "
        f"and worker ({stat['tls']('upstream_rq_pending_failure_eject', 0)} were ejected), and a "
        "call that waits takes over a SYN already under way.",
        f"Envoy counts failures, not phantoms: its {stat['tls']('upstream_cx_connect_fail', 0)} "
        f"TLS connect failures include the {len(tls.refused - tls.phantom_syns)} refusals of a "
        f"crashed container, and lack the {reached['tls']} phantoms that connected.",
        f"The reused address connects: {reached['http']} HTTP and {reached['tls']} TLS connections "
        f"reached {plot.thief.pod.workload.name}. {http.answered_by['inventory']} HTTP calls got "
        f"its answer as 200, {tls.ends['wrong certificate']} TLS calls noticed by its certificate.",
        "Counters die with the host: each dead one was dropped from Envoy's host set together with "
        "its cx_connect_fail, when EDS removed it.",
        f"Envoy does not see who has left: {tls.ends['gave up after 0.6 s']} TLS callers gave up "
        "after 0.6 s; it went on connecting for them until its own timeout, and counts them with "
        f"the others ({stat['tls']('upstream_cx_connect_attempts_exceeded', 0)} "
        "connect_attempts_exceeded).",
        f"Health checks do no harm: {len(view.control_syns)} of them by Envoy's main thread, some "
        "to dead addresses, are PROXY_CONTROL and never judged.",
    ]
    for line in lines:
        print(textwrap.fill(line, WIDTH, initial_indent="* ", subsequent_indent="  "))


def verdicts(results):
    """The checks; returns whether all of them hold."""
    heading("Checked")
    for holds, sentence in results:
        print(
            textwrap.fill(
                sentence,
                WIDTH,
                initial_indent="ok      " if holds else "FAILED  ",
                subsequent_indent="        ",
            )
        )
    return all(holds for holds, _ in results)


def command(title, text, lines=None):
    """What a phantomctl command prints, as an operator would see it."""
    heading(f"$ phantomctl {title}")
    printed = text.rstrip("\n").split("\n")
    print("\n".join(printed[:lines]))
    if lines is not None and len(printed) > lines:
        print(f"... and {len(printed) - lines} lines more")
