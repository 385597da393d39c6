"""The tables of `bin/bench scale`, in Markdown, as Benchmarks/simulation.md has them."""
from math import ceil

from cases import (alert_shape, at_priority_5, crowd, enough_for_orders, enough_workers, final_shapes, orders_bounds, run,
                   run_orders, Shape, worker_bounds)

LATENCIES = (20, 50, 100, 150)


def table(title, heads, rows):
    """Prints a table, with a title that begins with a capital letter."""
    title = title[0].upper() + title[1:]
    cells = [heads] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    print(f"\n{title}\n")
    for number, row in enumerate(cells):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def seconds(value):
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s" if value < 10 else f"{value:,.0f} s"


def thousands(value):
    return f"{round(value, -2 if value >= 10000 else 0):,.0f}"


def percent(use):
    return f"{use[0]} {use[1] * 100:.0f} %"


def at(p, latency, **changes):
    return p.replaced_by(apns__latency_ms=latency, **changes)


def worker(p):
    """How much one worker sends to one large name."""
    lanes_and_streams = ((2, 100), (2, 500), (2, 1000), (2, 1500), (4, 1000), (8, 1000), (16, 1000))
    rows = []
    for latency in LATENCIES:
        row = [f"{latency} ms"]
        for lanes, streams in lanes_and_streams:
            q = at(p, latency, worker__lanes=lanes, worker__streams=streams, apns__streams=streams)
            bounds = worker_bounds(q)
            found = run(q, Shape("", 1, 5e5, 1e9, 1e9, 1), 1)
            row.append(f"{thousands(5e5 / found.p99)} ({min(bounds, key=bounds.get)})")
        rows.append(row)
    heads = ["APNs"] + [f"{lanes} × {streams:,}" for lanes, streams in lanes_and_streams]
    table("Tokens a second of one worker, one name of 500,000: connections × streams (and what bounds it)", heads, rows)


def final(p):
    rows = []
    for shape in final_shapes(p):
        for latency in LATENCIES:
            workers, found = enough_workers(at(p, latency), shape)
            low, _ = enough_workers(at_priority_5(at(p, latency)), shape)
            more, _ = enough_workers(at(p, latency, worker__lanes=8), shape)
            rows.append([shape.title, f"{latency} ms", workers, workers * int(p["worker.lanes"]), seconds(found.p99),
                         percent(found.first), low, more, more * 8])
    heads = ["final", "APNs", "workers", "connections", "p99", "fullest", "at priority 5", "with 8 lanes", "connections"]
    table(f"Workers for {p['final.tokens']:,.0f} updates a minute", heads, rows)
    shape, rows = final_shapes(p)[0], []
    for workers in (1, 2, 3, 4, 5, 6, 8, 16, 64, 200):
        found = run(p, shape, workers)
        rows.append([workers, f"{found.superseded * 100:.0f} %", seconds(found.p50), seconds(found.p99), percent(found.first)])
    table(f"{shape.title}, APNs {p['apns.latency_ms']:.0f} ms away: a name sweeps one push at a time",
          ["workers", "superseded", "p50", "p99", "fullest"], rows)


def alert(p):
    shape, rows = alert_shape(p), []
    for workers in (10, 22, 64, 200):
        row = [workers, f"{workers * int(p['worker.lanes']):,}"]
        row += [seconds(run(at(p, latency), shape, workers).p99) for latency in LATENCIES]
        found = run(at(p, 50, worker__lanes=8), shape, workers)
        rows.append(row + [f"{workers * 8:,}", seconds(found.p99), percent(found.first)])
    heads = ["workers", "connections"] + [f"{latency} ms" for latency in LATENCIES]
    table(f"Time to the last of {p['alert.tokens']:,.0f} tokens of one name, on one node",
          heads + ["8 lanes", "50 ms", "fullest"], rows)
    rows = []
    for nodes in (1, 3, 10, 30):
        found = run(at(p, 50, worker__lanes=8), alert_shape(p, 60), 100, nodes)
        rows.append([nodes, seconds(found.p99), f"{p['alert.tokens'] / found.p99:,.0f}", percent(found.first)])
    table("The same, spread over 60 names: 100 workers with 8 lanes, APNs 50 ms away",
          ["nodes", "last token", "tokens/s", "fullest"], rows)


def orders(p):
    rows = []
    for nodes in (1, 3, 6, 10, 30):
        for partitions in sorted({1, nodes}):
            q = p.replaced_by(queue__partitions=partitions)
            names, streams = orders_bounds(q, nodes)
            most = min(names, streams)
            workers = max(2, ceil(p["fill"] * most / 500))
            found = run_orders(q, p["fill"] * most, workers, nodes, ceil(most * p["gateway.accept_us"] / 1e6))
            first = "streams" if streams < names else "names"
            rows.append([nodes, partitions, thousands(most), first, thousands(p["fill"] * most), seconds(found.p99)])
    table("One-token pushes a second that Redis bounds, and the p99 to APNs at the share that is planned for",
          ["nodes", "partitions", "most", "bound by the node of", f"at {p['fill'] * 100:.0f} %", "p99"], rows)
    rows = []
    for pushes in (1, p["orders.pushes"]):
        rate = p["orders.a_minute"] * pushes / 60
        nodes = nodes_for_orders(p, rate)
        for latency in LATENCIES:
            cores = gateway_cores(p, rate, "accept")
            workers, found = enough_for_orders(at(p, latency), rate, nodes, cores)
            more, _ = enough_for_orders(at(p, latency, worker__small_permits=256), rate, nodes, cores)
            rows.append([thousands(rate), nodes, f"{latency} ms", workers, more, seconds(found.p50), seconds(found.p99),
                         percent(found.first)])
    table("Workers for these pushes, with worker.concurrency 48 and 256",
          ["pushes/s", "nodes", "APNs", "workers", "with 256", "p50", "p99", "fullest"], rows)


def nodes_for_orders(p, rate):
    """One server, or the smallest cluster whose threads are enough."""
    return next(nodes for nodes in [1, *range(3, 31)] if min(orders_bounds(p, nodes)) * p["fill"] >= rate)


def gateway_cores(p, rate, form):
    return max(2, ceil(rate * p[f"gateway.{form}_us"] / 1e6 / p["fill"]))


def crowd_table(p):
    rows = []
    for form in ("put", "bulk"):
        for cores in (2, 3, 4, 6, 8) if form == "put" else (2,):
            even = crowd(p, cores, 1, None, form)
            rush = crowd(p, cores, 1, 2, form)
            spread = crowd(p, cores, 3, 2, form)
            rows.append([form, cores] + [seconds(value) for value in even[:2] + rush[:2]] + [f"{rush[2]:,.0f}"] +
                        [seconds(spread[1])])
    heads = ["form", "gateway cores", "even: gateways", "Redis", "rush: gateways", "Redis", "most waiting", "Redis, 3 nodes"]
    table(f"Longest wait of {p['crowd.registrations']:,.0f} registrations in {p['crowd.minutes']:.0f} minutes, evenly, "
          "and half of them in the first two (rush)", heads, rows)
