"""Simulates a fleet of Lamplighter: bin/bench scale. Benchmarks/scale.sh has the options, Benchmarks/simulation.md the results.

What is modelled, from the numbers in parameters.txt:
- Gateways: cores with one queue. A publish or registration needs a core for its measured CPU.
- Redis: each node has one thread with one queue. Each name is on one node. The streams and timers of all apps are on one slot, or on
  `queue.partitions` slots. A push costs both nodes their part.
- Workers: permits for small pushes and for shards, open pages of a shard, cores. All connections of a worker are one line: it sends as
  many tokens a second as its streams and the round trip to APNs allow, or as its cores do.
- Names: one sweep at a time; a push that waits is superseded by the next.
- APNs: an answer comes one round trip after the request.
Registrations and memory are fluids: rates and sums. All else is a discrete simulation, page by page and push by push.

What is left out:
- Apple's throttles, which no document tells. Every number here takes for granted that Apple accepts the rate.
- Faults, retries, dead tokens, rotations, a connection that begins with one stream, wake-ups of threads, the disk.
- The three round trips of a publish in a cluster cost what the one of a single server costs. No cluster was measured.
- The network to Redis. It was measured through a unix socket; TCP and TLS cost both sides more (Benchmarks/measurements.md).
- Audiences. Each tag of an audience costs Redis another 0.35 µs a token.
- Traffic between the processes, the append-only file, and Redis's memory for anything but tokens, names and pushes.
"""
import argparse
import contextlib
import io
import os
import re
import shlex
import sys

import check
import plan
import tables
from parameters import Parameters, ROOT

TABLES = {
    "worker": tables.worker,
    "final": tables.final,
    "alert": tables.alert,
    "orders": tables.orders,
    "crowd": tables.crowd_table,
    "plan": plan.plan,
}


DOCUMENT = os.path.join(ROOT, "Benchmarks/simulation.md")
BLOCK = re.compile(r"(<!-- bin/bench scale (.*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def arguments(words=None):
    parser = argparse.ArgumentParser(prog="bin/bench scale")
    parser.add_argument("--table", action="append", choices=TABLES, help="only this table; may be repeated")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="replace a parameter")
    parser.add_argument("--check", action="store_true", help="simulate what was measured")
    parser.add_argument("--list", action="store_true", help="the parameters and their sources")
    parser.add_argument("--write", action="store_true", help="write the tables of Benchmarks/simulation.md anew")
    return parser.parse_args(words)


def list_parameters(p):
    for name, value in p.items():
        print(f"{name:<24} {value:<12,g} {p.unit[name]:<34} {p.source[name]}")


def write():
    """Puts the output of the command that each block of the document names into the block."""
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read()
    with open(DOCUMENT, "w", encoding="utf-8") as file:
        file.write(BLOCK.sub(lambda block: block[1] + output(shlex.split(block[2])) + block[3], text))


def output(words):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        run(arguments(words))
    return f"{text.getvalue().rstrip()}\n\n"


def run(options):
    """Returns the exit code."""
    p = Parameters()
    for assignment in options.set:
        p.replace(assignment)
    if options.list:
        list_parameters(p)
    elif options.write:
        write()
    elif options.check:
        return 1 if check.check(p) else 0
    else:
        if p.replaced:
            print("\nWith", ", ".join(f"`{name}` {value:,g}" for name, value in p.replaced.items()))
        for name in options.table or TABLES:
            TABLES[name](p)
    return 0


if __name__ == "__main__":
    sys.exit(run(arguments()))
