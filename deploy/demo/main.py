"""The demo of phantomd; deploy/demo/run builds what it needs and starts it.

A rolling update whose endpoints reach a real Envoy late, seen by the client, by Envoy, by nftables
and by phantomd, and what each of them missed.
"""

import argparse
import os
import sys
import time

import agent as agents
import checks
import observe
import report
import scene as scenes
import show
import undo

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
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


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="deploy/demo/run",
        description="Shows phantom connections and how phantomd counts them.",
    )
    parser.add_argument(
        "--eds-delay",
        type=float,
        default=3.0,
        metavar="SECONDS",
        help="how late endpoint changes reach Envoy (default: 3)",
    )
    parser.add_argument(
        "--keep", metavar="DIR", help="keep recording, logs and feeds in this folder"
    )
    parser.add_argument("--record", metavar="FILE", help="keep phantomd's recording as this file")
    parser.add_argument(
        "--build-dir",
        default=os.path.join(_ROOT, "build"),
        metavar="DIR",
        help="where phantomd, phantomctl and Envoy are (default: build)",
    )
    options = parser.parse_args(arguments)
    if not 0.2 <= options.eds_delay <= 20:
        parser.error("--eds-delay must be between 0.2 and 20 seconds")
    return options


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
    answers = checks.ask(agent)
    screens = {
        "rollouts": agent.text("rollouts"),
        "connections": agent.text("connections"),
        f"explain {plot.old[2].ip}": agent.text("explain", plot.old[2].ip),
    }
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
    began = time.monotonic()

    def say(text):
        print(f"{time.monotonic() - began:5.1f} s  {text}", flush=True)

    envoy = os.path.join(options.build_dir, "envoy/envoy/_bin/envoy")
    with scenes.Scene(envoy, options.eds_delay, say) as scene:
        agent = agents.Agent(scene, options.build_dir)
        try:
            return play(scene, agent)
        finally:
            if options.record:
                scene.copy_out("phantomd.rec", options.record)
            for name in KEPT if options.keep else ():
                scene.copy_out(name, os.path.join(options.keep, os.path.basename(name)))


def main():
    options = parse_arguments(sys.argv[1:])
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
        print(f"deploy/demo/run: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
