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
    _both("client", view, lambda path: f"{path.ends.total()} calls: {_counts(path.ends)}; "
          f"{path.slow} of the ok took over 0.5 s")
    flags = collections.Counter(f"{line['code']} \"{line['flags'] or '-'}\"" for line in view.access_log)
    retried = sum(int(line["attempts"] or 1) > 1 for line in view.access_log)
    _row("HTTP access log", f"{_counts(flags)}; {retried} took more than one attempt",
         "no line: tcp_proxy has no HTTP log")
    _both("Envoy's cluster", view, lambda path: ", ".join(
        f"{name.removeprefix('upstream_')} {path.stats.get(name, 0)}" for name in
        ("upstream_cx_total", "upstream_cx_connect_fail", "upstream_cx_connect_timeout",
         "upstream_rq_retry", "upstream_rq_pending_failure_eject")))
    gone = {pod.ip for pod in plot.old}
    _both("Envoy's hosts", view, lambda path:
          f"{len(gone & set(path.per_host))} of the {len(gone)} dead addresses listed; the "
          f"{len(path.per_host)} hosts there: {_sum(path, 'cx_total')}, {_sum(path, 'cx_connect_fail')}")
    _both("nftables", view, lambda path:
          f"{len(path.syns)} connections begun, {len(path.phantom_syns)} of them to dead addresses")
    _row("phantomd", *(_phantomd(answers, path) for path in ("http", "tls")))


def _sum(path, counter):
    return f"{counter} {sum(host.get(counter, 0) for host in path.per_host.values())}"


def _phantomd(answers, path):
    mine = [entry for entry in answers.connections
            if checks.PATH_OF_LAYER.get(entry.get("layer")) == path]
    kinds = collections.Counter(" ".join(part for part in checks.kind(entry)[:3]) for entry in mine)
    return _counts(kinds)


def addresses(plot, view, answers):
    """The two independent counts side by side."""
    heading("Connections that Envoy began after the pod behind the address was gone")
    print(f"{'address':<14}{'its pod':<31}{'nftables':>9}{'phantomd':>9}   DEAD and REUSED, by outcome")
    seen = set().union(*(path.phantom_syns for path in view.paths.values()))
    for pod in plot.old:
        mine = [entry for entry in answers.connections if checks.is_phantom(entry)
                and checks.endpoint(entry["destination"])[0] == pod.ip]
        kinds = collections.Counter(f"{entry['destinationClass']} {entry.get('outcome', '-')}"
                                    for entry in mine)
        counted = sum(entry[2] == pod.ip for entry in seen)
        print(f"{pod.ip:<14}{pod.name:<31}{counted:>9}{len(mine):>9}   {_counts(kinds)}")


def differences(plot, view, answers):
    heading("Why they differ")
    http, tls = view.paths["http"], view.paths["tls"]
    phantoms = {path: [entry for entry in answers.connections if checks.is_phantom(entry)
                       and checks.PATH_OF_LAYER.get(entry.get("layer")) == path]
                for path in ("http", "tls")}
    lasted = {path: sum(entry.get("outcome") == "ESTABLISHED" for entry in entries)
              for path, entries in phantoms.items()}
    failed = tls.ends.total() - tls.ends["ok"]
    lines = [
        f"HTTP hides them: {len(phantoms['http'])} phantoms, {http.ends.total() - http.ends['ok']} failed "
        f"calls. Envoy retried ({http.stats.get('upstream_rq_retry', 0)} times): the caller saw a slow "
        f"200, the log a 200 without a flag.",
        f"Callers are not connections: {failed} TLS calls failed, {len(phantoms['tls'])} connections were "
        f"phantoms. One connect timeout ends every call that waits on that pool and worker "
        f"({tls.stats.get('upstream_rq_pending_failure_eject', 0)} were ejected), and a call that waits "
        f"takes over a SYN already under way.",
        f"Envoy counts failures, not phantoms: its {tls.stats.get('upstream_cx_connect_fail', 0)} TLS "
        f"connect failures include the {len(tls.refused - tls.phantom_syns)} refusals of a crashed "
        f"container, and lack the {lasted['tls']} that connected.",
        f"The reused address connects: {lasted['http']} HTTP and {lasted['tls']} TLS connections reached "
        f"{plot.thief.pod.workload.name}. {http.answered_by['inventory']} HTTP calls got its answer as "
        f"200, {tls.ends['wrong certificate']} TLS calls noticed by its certificate.",
        f"Counters die with the host: each was dropped from Envoy's host set together with its "
        f"cx_connect_fail, when EDS removed it.",
        f"Impatient callers leave no failure: those who give up before Envoy's connect timeout "
        f"({tls.ends['gave up after 0.6 s']} after 0.6 s) are no failed call in any of Envoy's counters.",
        f"Health checks do no harm: {len(view.control_syns)} of them by Envoy's main thread, some to dead "
        f"addresses, are PROXY_CONTROL and never judged.",
    ]
    for line in lines:
        print(textwrap.fill(line, WIDTH, initial_indent="* ", subsequent_indent="  "))


def verdicts(results):
    """The checks; returns whether all of them hold."""
    heading("Checked")
    for holds, sentence in results:
        print(textwrap.fill(sentence, WIDTH, initial_indent="ok      " if holds else "FAILED  ",
                            subsequent_indent="        "))
    return all(holds for holds, _ in results)


def command(title, text, lines=None):
    """What a phantomctl command prints, as an operator would see it."""
    heading(f"$ phantomctl {title}")
    printed = text.rstrip("\n").split("\n")
    print("\n".join(printed[:lines]))
    if lines is not None and len(printed) > lines:
        print(f"... and {len(printed) - lines} lines more")
