"""The demo of phantomd; deploy/demo/run starts it.

A rolling update whose endpoints reach a real Envoy late, seen by the client, by Envoy, by nftables
and by phantomd, and what each of them missed.
"""

import os
import select
import sys
import threading
import time

import agent as agents
import checks
import command_line
import observe
import programs
import report
import scene as scenes
import show
import undo

KEPT = (
    "pods.json",
    "endpointslices.json",
    "nodes.json",
    "calls.jsonl",
    "servers.log",
    "load.log",
    "phantomd.log",
    "phantomd.rec",
    "proxy/envoy.log",
    "proxy/log/access.log",
)


def check_machine():
    if os.geteuid() != 0:
        raise RuntimeError("must run as root: it makes network namespaces and loads BPF programs")
    if not os.access("/sys/kernel/btf/vmlinux", os.R_OK):
        raise RuntimeError("this kernel has no BTF (/sys/kernel/btf/vmlinux), which phantomd needs")


def play(scene, agent):
    """The whole show; returns whether every check held."""
    agent.start()
    scene.say("phantomd runs and follows the Kubernetes feeds")
    old = show.set_up(scene)
    agent.wait_for_proxy()
    scene.say("phantomd has found the Envoy and knows what it believes")
    plot = show.play(scene, old)
    view = observe.of(scene)
    agent.wait_for_verdicts(plot.ended_wall_ns)
    scene.say("phantomd has judged every connection")
    screens = {
        "rollouts": agent.text("rollouts"),
        "connections": agent.text("connections"),
        f"explain {plot.old[2].ip}": agent.text("explain", plot.old[2].ip),
    }
    answers = checks.ask(scene, agent)
    agent.stop()
    checks.replay(agent, answers)

    for title, text in screens.items():
        report.command(title, text, lines=12 if title == "connections" else None)
    report.observers(plot, view, answers)
    report.addresses(plot, view, answers)
    report.differences(plot, view, answers)
    return report.verdicts(checks.compare(plot, view, answers))


def keep(scene, options):
    if options.record:
        scene.copy_out("phantomd.rec", options.record)
    if options.keep:
        for name in KEPT:
            scene.copy_out(name, os.path.join(options.keep, os.path.basename(name)))


def run(options):
    check_machine()
    command_line.check_places(options)
    if not options.no_build:
        programs.build(options.build_dir)
    began = time.monotonic()

    def say(text):
        try:
            print(f"{time.monotonic() - began:5.1f} s  {text}")
        except BrokenPipeError:
            # The control plane speaks on a thread of its own; the main one notices by itself.
            if threading.current_thread() is threading.main_thread():
                raise

    envoy = programs.find_envoy(options.build_dir)
    phantomd = programs.find(options.build_dir, "phantomd")
    phantomctl = programs.find(options.build_dir, "phantomctl")
    with scenes.Scene(envoy, options.eds_delay, say) as scene:
        try:
            return play(scene, agents.Agent(scene, phantomd, phantomctl))
        finally:
            keep(scene, options)


def nobody_reads():
    """Whether the other end of standard output is closed."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(events & select.POLLERR for _, events in poll.poll(0))


def sentence(error):
    """What went wrong, for the one who started the demo."""
    if isinstance(error, BrokenPipeError) and nobody_reads():
        # What is still in the buffer would fail once more at the interpreter's end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return "nobody reads the output any more; everything is removed"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return error


def main():
    options = command_line.parse(sys.argv[1:])
    sys.stdout.reconfigure(line_buffering=True)
    undo.raise_on_signals()
    try:
        return 0 if run(options) else 1
    except undo.Interrupted as interruption:
        print(
            f"deploy/demo/run: interrupted by {interruption}; everything is removed",
            file=sys.stderr,
        )
        return 128 + interruption.number
    except (RuntimeError, OSError) as error:
        print(f"deploy/demo/run: {sentence(error)}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
