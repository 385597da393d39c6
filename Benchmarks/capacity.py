#!/usr/bin/env python3
# What one name and some large cases need, by arithmetic from the costs in Benchmarks/measurements.md. It starts nothing.
#   bin/bench capacity [--latency MS] [--lanes N] [--streams N] [--concurrency N] [--cores N] [--fill SHARE] [--seconds S]
#   bin/bench capacity --check     whether docs/capacity.md shows these tables (part of bin/lint)
#   bin/bench capacity --write     puts the tables into docs/capacity.md
# Each cost is read from its row of measurements.md, so a new measurement changes the tables. All else is assumed.
import argparse
import re
import sys
from math import ceil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/capacity.md"
MEASUREMENTS = (ROOT / "Benchmarks/measurements.md").read_text(encoding="utf-8")

# What a fleet is assumed to be. Each is an option.
ASSUMED = {
    "latency": (50, "ms of a round trip to APNs, with Apple's work"),
    "lanes": (2, "connections of a worker: worker.lanes"),
    "streams": (1000, "requests of a connection at once, which Apple allows"),
    "concurrency": (48, "small pushes of a worker at once: worker.concurrency"),
    "cores": (2, "cores of a worker"),
    "fill": (0.7, "the most of each core, stream and permit that is planned for"),
    "seconds": (30, "of a push, in the first table"),
    "node-gb": (64, "of one node of Redis, a third of it for growth"),
}
# A worker has a quarter of its permits for pushes at priority 5 (Worker.permits).
LOW_SHARE = 0.25
# A push has 64 shards, so more workers make one name no faster (SweepStore.mostShards).
MOST_SHARDS = 64


def missing(what):
    sys.exit(f"Benchmarks/measurements.md:1: has no {what}; Benchmarks/capacity.py reads it")


def section(heading):
    """The lines below a heading of measurements.md."""
    found = re.search(rf"^##+ {re.escape(heading)}\n(.*?)(?=^##|\Z)", MEASUREMENTS, re.MULTILINE | re.DOTALL)
    if not found:
        missing(f"section {heading}")
    return found[1]


def number(text):
    """The last number of a cell, which may hold several runs."""
    return float(re.findall(r"[\d.,]*\d", text)[-1].replace(",", ""))


def cell(heading, row, column):
    """The number in a table below this heading: of the row that begins with these cells, in this column."""
    for line in section(heading).splitlines():
        if line.strip().startswith(f"| {row} |"):
            return number(line.strip().strip("|").split("|")[column - 1])
    missing(f"row '{row}' below {heading}")


def said(heading, words):
    """The number after these words of a paragraph."""
    found = re.search(re.escape(words) + r" ([\d.,]*\d)", section(heading).replace("\n", " "))
    if not found:
        missing(f"words '{words}' below {heading}")
    return number(found[1])


class Costs:
    """CPU in µs and memory in bytes, as measured on one machine of two cores."""
    publish = cell("A whole push", "nghttp2 | 1, to 2,000 names", 6)  # gateway
    put = cell("Registrations", "PUT", 3)  # gateway
    redis_put = cell("Registrations", "PUT", 4)
    redis_push = cell("A whole push", "nghttp2 | 1, to 2,000 names", 5)
    redis_token = {size: cell("A whole push", f"nghttp2 | {row}", 5) for size, row in (
        (1_000, "1,000, to 200 names at once"), (10_000, "10,000"), (100_000, "100,000"), (1_000_000, "1,000,000"),
        (10_000_000, "10,000,000"))}
    worker_push = cell("A whole push", "nghttp2 | 1, to 2,000 names", 4)
    worker_token = said("A push to one, beside a push to many", "At 50 ms the worker costs")  # 2.2 next to APNs
    # Two connections of 1,000 streams sent so many a second, 50 ms away. So a stream is free again after this time.
    turn_ms = 2 * 1000 / cell("A push to one, beside a push to many", "nghttp2", 4) * 1000
    token_bytes = said("The model", "ten million tokens of one name take") * 1e9 / 10e6
    name_bytes = said("The model", "a name of one token some")
    pushed_name_bytes = said("What a finished push leaves", "A name that had a push takes")
    push_bytes = cell("What a finished push leaves", "1024", 3)  # with 250 bytes of content state


class Case:
    """Names of so many tokens that are all published every `period` seconds, or registrations."""

    def __init__(self, title, names=0, tokens=0, period=1, low=False, registrations=0, stored=0, hours=0, kept_names=0):
        self.title, self.names, self.tokens, self.low, self.registrations = title, names, tokens, low, registrations
        self.pushes, self.sends = names / period, names * tokens / period
        self.is_one_name = names == 1
        self.stored = stored  # bytes of Redis without ledgers
        self.pushes_a_day, self.names_a_day = self.pushes * hours * 3600, kept_names * hours * 3600

    def redis_gb(self, kept_hours):
        days = kept_hours / 24
        kept = self.pushes_a_day * Costs.push_bytes + self.names_a_day * Costs.pushed_name_bytes
        return (self.stored + days * kept) / 1e9

    def needs(self, given):
        """How many cores, workers or nodes the case would fill, for each resource."""
        turn = given.latency + Costs.turn_ms - 50
        lane = given.streams / turn * 1000
        token_us = Costs.redis_token[max([size for size in Costs.redis_token if size <= self.tokens], default=1_000)]
        redis_us = self.pushes * Costs.redis_push + (self.sends * token_us if self.tokens > 1 else 0)
        worker_us = self.pushes * Costs.worker_push + (self.sends * Costs.worker_token if self.tokens > 1 else 0)
        permits = given.concurrency * (LOW_SHARE if self.low else 1)
        return {
            "gateway cores": (self.pushes * Costs.publish + self.registrations * Costs.put) / 1e6,
            "streams to APNs": self.sends / lane / given.lanes,
            "worker CPU": worker_us / 1e6 / given.cores,
            "permits of small pushes": self.pushes * turn / 1000 / permits if self.tokens <= 1000 else 0,
            "Redis CPU": (redis_us + self.registrations * Costs.redis_put) / 1e6,
        }

    def row(self, given):
        needs = self.needs(given)
        workers = {name: needs[name] for name in ("streams to APNs", "worker CPU", "permits of small pushes")}
        gateways = max(2, ceil(needs["gateway cores"] / given.fill))
        fleet = max(2, ceil(max(workers.values()) / given.fill)) if self.sends else 0
        busy = ceil(needs["Redis CPU"] / given.fill)
        full = ceil(self.redis_gb(168) / (given.node_gb * 2 / 3))
        nodes = max(1, busy, full)
        nodes = nodes if nodes == 1 else max(3, nodes)  # A cluster has three or more.
        shares = {name: need / fleet for name, need in workers.items() if fleet}
        shares |= {"gateway CPU": needs["gateway cores"] / gateways, "Redis CPU": needs["Redis CPU"] / nodes}
        first = "Redis memory" if full > max(1, busy) else max(shares, key=shares.get)
        if self.is_one_name and (nodes > 1 or fleet > MOST_SHARDS):
            first = "the one name: split it"
        return [self.title, f"{self.sends or self.registrations:,.0f}", gateways, fleet, fleet * given.lanes, nodes,
                gb(self.redis_gb(168)), gb(self.redis_gb(48)), first]


def cases():
    tokens, orders, hours = Costs.token_bytes, 100_000 / 60, 4
    day = orders * hours * 3600  # The orders of a day: their tokens live for 13 hours at most.
    return [
        Case("a final: one name of 150,000, each second", 1, 150_000, 1, True, stored=150_000 * tokens, hours=5),
        Case("a final: one name of 4.5 million, each 30 s", 1, 4_500_000, 30, stored=4_500_000 * tokens, hours=5),
        Case("a final: 1,500 names of 100, each second", 1_500, 100, 1, True, stored=150_000 * tokens, hours=5),
        Case("an alert: one name of 50 million, in 60 s", 1, 50_000_000, 60, stored=50_000_000 * tokens),
        Case("100,000 orders a minute, 5 pushes each", orders * 5, 1, 1, registrations=orders, stored=day * Costs.name_bytes,
             hours=hours, kept_names=orders),
        Case("10 million registrations in 10 min, one name", registrations=10e6 / 600, stored=10e6 * tokens),
        Case("… a name each", registrations=10e6 / 600, stored=10e6 * Costs.name_bytes),
    ]


def gb(value):
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def table(heads, rows):
    return "\n".join(["| " + " | ".join(map(str, row)) + " |" for row in [heads, *rows]]).replace(
        "\n", "\n|" + "---|" * len(heads) + "\n", 1)


def one_name(given):
    rows = []
    for tokens in (100_000, 1_000_000, 3_000_000, 4_500_000):
        case = Case("", 1, tokens, given.seconds, stored=tokens * Costs.token_bytes)
        needs = case.needs(given)
        connections = needs["streams to APNs"] * given.lanes / given.fill
        rows.append([f"{tokens:,}", f"{case.sends:,.0f}", ceil(needs["worker CPU"] * given.cores / given.fill),
                     ceil(connections), f"{case.stored / 1e6:,.0f} MB"])
    return table(["tokens of a push", "sends/s", "worker cores", "connections", "Redis memory"], rows)


def large(given):
    heads = ["case", "sends or registrations/s", "gateway cores", "workers", "connections", "Redis nodes", "GB, ledgers 168 h",
             "48 h", "full first"]
    return table(heads, [case.row(given) for case in cases()])


def main():
    parser = argparse.ArgumentParser(prog="bin/bench capacity", description="What one name and some large cases need.")
    for name, (value, what) in ASSUMED.items():
        parser.add_argument(f"--{name}", type=type(value), default=value, metavar=name.upper(), help=f"{what} ({value})")
    parser.add_argument("--check", action="store_true", help="whether docs/capacity.md shows these tables")
    parser.add_argument("--write", action="store_true", help="puts the tables into docs/capacity.md")
    given = parser.parse_args()
    tables = {"one name": one_name(given), "large cases": large(given)}
    if not (given.check or given.write):
        print("\n\n".join(tables.values()))
        return
    before = page = PAGE.read_text(encoding="utf-8")
    for name, text in tables.items():
        begin = f"<!-- bin/bench capacity: {name} -->"
        page = re.sub(rf"({re.escape(begin)}\n\n).*?(\n\n<!-- end -->)", lambda found: found[1] + text + found[2], page,
                      flags=re.DOTALL)
        if begin not in page:
            sys.exit(f"docs/capacity.md:1: has no line {begin}")
    if given.write:
        PAGE.write_text(page, encoding="utf-8")
    elif page != before:
        sys.exit("docs/capacity.md:1: its tables are not those of Benchmarks/measurements.md: bin/bench capacity --write")


main()
