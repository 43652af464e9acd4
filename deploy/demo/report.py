"""What the demo prints at its end: one table, and one line for each difference in it."""

import collections
import textwrap

import checks
import observe
from checks import plural

WIDTH = 100
_LABEL = 17
_GAVE_UP = "gave up after 0.6 s"  # as the load generator calls a hasty caller's end


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
    dead = path.phantom_syns.total()
    return f"{path.syns.total()} connections begun, {dead} of them to dead addresses"


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
    seen = observe.phantom_syns(view)
    for pod in plot.old:
        mine = [
            entry
            for entry in answers.connections
            if checks.is_phantom(entry) and checks.endpoint(entry["destination"])[0] == pod.ip
        ]
        kinds = collections.Counter(
            f"{entry['destinationClass']} {entry.get('outcome', '-')}" for entry in mine
        )
        counted = sum(entry[2] == pod.ip for entry in seen.elements())
        row = f"{pod.ip:<14}{pod.name:<31}{counted:>9}{len(mine):>9}   "
        indent = " " * len(row)
        print(textwrap.fill(_counts(kinds), WIDTH, initial_indent=row, subsequent_indent=indent))


def differences(plot, view, answers):
    heading("Why they differ")
    for line in _reasons(plot, view, answers):
        print(textwrap.fill(line, WIDTH, initial_indent="* ", subsequent_indent="  "))


def _reasons(plot, view, answers):
    """Only what happened: a small --eds-delay leaves some of it out."""
    http, tls = view.paths["http"], view.paths["tls"]
    phantoms = {path: len(_phantoms_of(answers, path)) for path in ("http", "tls")}
    failed = {name: path.ends.total() - path.ends["ok"] for name, path in view.paths.items()}
    stat = {
        name: lambda key, stats=path.stats: stats.get("upstream_" + key, 0)
        for name, path in view.paths.items()
    }
    if not any(phantoms.values()):
        yield "No phantoms: Envoy was told of every departure in time."
    if phantoms["http"]:
        retried = stat["http"]("rq_retry")
        yield (
            f"HTTP retries: {plural(phantoms['http'], 'phantom')}, "
            f"{plural(failed['http'], 'failed call')}. Envoy retried {plural(retried, 'time')}; "
            "where that helped, the caller saw a slow 200 and the log has a 200 without a flag."
        )
    if phantoms["tls"]:
        yield (
            f"Callers are not connections: {plural(failed['tls'], 'failed TLS call')}, "
            f"{plural(phantoms['tls'], 'phantom')}. One connect timeout ends every call that waits "
            f"on that pool and worker ({stat['tls']('rq_pending_failure_eject')} were ejected), "
            "and a call that waits takes over a SYN already under way."
        )
    refusals = len(tls.refused - set(tls.phantom_syns))
    if refusals or tls.reached:
        yield (
            "Envoy counts failures, not phantoms: its "
            f"{plural(stat['tls']('cx_connect_fail'), 'TLS connect failure')} include the "
            f"{plural(refusals, 'refusal')} of a crashed container"
            + (f", and lack the {_connected(tls)}." if tls.reached else ".")
        )
    if http.reached or tls.reached:
        yield (
            f"The reused address connects: {len(http.reached)} HTTP and {len(tls.reached)} TLS "
            f"connections reached {plot.thief.pod.workload.name}. "
            f"{plural(http.answered_by['inventory'], 'HTTP call')} got its answer as 200, "
            f"{plural(tls.ends['wrong certificate'], 'TLS call')} noticed by its certificate."
        )
    if any(phantoms.values()):
        yield (
            "Counters die with the host: each dead one was dropped from Envoy's host set together "
            "with its cx_connect_fail, when EDS removed it."
        )
    if tls.ends[_GAVE_UP]:
        yield (
            f"Envoy does not see who has left: {plural(tls.ends[_GAVE_UP], 'TLS caller')} "
            f"{_GAVE_UP}; it went on connecting until its own timeout, and counts them with the "
            f"others ({stat['tls']('cx_connect_attempts_exceeded')} connect_attempts_exceeded)."
        )
    yield (
        f"Health checks do no harm: {answers.control_syns} by Envoy's main thread, "
        f"{answers.control_phantom_syns} of them to dead addresses, are PROXY_CONTROL and "
        "never judged."
    )


def _connected(path):
    return plural(len(path.reached), "phantom") + " that connected"


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
