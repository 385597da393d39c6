"""Simulates the machine of Benchmarks/measurements.md at the sizes that were measured there, and prints both beside each other.

The machine has two cores. A worker has one of them. Redis, gateway and the simulator of APNs share the other.
"""
from engine import Server, Simulation
from fleet import Fleet, MICRO, Name, share
from tables import table

WHY = """
Where it is off:

- **Tokens a second, next to the simulator of APNs.** That simulator is the bound. Its cost is from `bin/bench send`, where it has its core
  alone. Here it shares the core, and the model has no cost for that.
- **Tokens a second, APNs far away.** The model fills a connection's streams at every moment. A real lane fills them in three round trips.
- **Publishes and PUTs a second.** The model keeps the gateway busy at every moment. The load generator and the disk take their part.
- **Bulk registrations.** The client that imports is the bound, and the model does not have it.
- **Milliseconds of small pushes.** The model has no scheduler, no disk and no wake-ups of threads, and four processes on one core wait for
  all of these. So its milliseconds are what the queues add. Add about 5 ms, and more if a machine is full.
- **Not checked:** CPU, Redis's µs and bytes. These are what the simulation is given. No row has more than two workers or a cluster."""


def closed_loop(connections, count, *costs):
    """Callers with one request at a time, through servers that need these µs for it: requests/s, median ms."""
    simulation, waits, left = Simulation(), [], [count]
    stages = [(Server(), micros) for micros in costs]

    def caller():
        while left[0] > 0:
            left[0] -= 1
            began = simulation.now
            for server, micros in stages:
                yield server.serve(simulation.now, micros * MICRO)
            waits.append(simulation.now - began)

    for _ in range(connections):
        simulation.start(caller())
    simulation.run()
    return count / simulation.now, share(sorted(waits), 0.5) * 1000


def machine(p, workers=1):
    """The two cores of a measurement with `bin/bench whole`."""
    sender, other = Server(), Server()
    return Fleet(p, workers=workers, gateways=other, redis=other, worker=sender, apns=other,
                 apns_us=1e6 / p["simulator.rate"])


def one_name(p, tokens, workers=1):
    """Tokens a second of one push, from acceptance to its last settlement."""
    fleet = machine(p, workers)
    fleet.simulation.start(fleet.publish(Name(fleet.nodes[0]), tokens))
    fleet.simulation.run()
    push = fleet.pushes[0]
    return tokens / (push.done - push.accepted)


def many_names(p, count, tokens, connections):
    """Median seconds from acceptance to settlement of the last 20, published by these connections."""
    fleet, left = machine(p), list(range(count))

    def next_push(_=None):
        if left:
            left.pop()
            fleet.simulation.start(fleet.publish(Name(fleet.nodes[0]), tokens, next_push))

    for _ in range(connections):
        next_push()
    fleet.simulation.run()
    return share(sorted(push.done - push.accepted for push in fleet.pushes[-20:]), 0.5)


def beside(p, tokens, rate, count):
    """Small pushes at `rate` a second, beside one name that always sends, if `tokens` > 0: its tokens/s; p50, p99 ms of the small."""
    fleet = Fleet(p, workers=1, apns=Server(), apns_us=1e6 / p["simulator.rate"])
    for number in range(count):
        fleet.simulation.start(fleet.publish(Name(fleet.nodes[0]), 1), at=number / rate)
    if tokens:
        fleet.simulation.start(one_after_another(fleet, tokens, count / rate))
    fleet.simulation.run()
    small = sorted((push.arrived - push.accepted) * 1000 for push in fleet.pushes if push.tokens == 1)
    large = [push for push in fleet.pushes if push.tokens > 1]
    sent = sum(push.tokens for push in large) / max([push.done for push in large], default=1)
    return sent, share(small, 0.5), share(small, 0.99)


def one_after_another(fleet, tokens, until):
    name = Name(fleet.nodes[0])
    while fleet.simulation.now < until:
        yield from fleet.publish(name, tokens)
        while name.is_swept:
            yield fleet.simulation.now + 0.001


def simulated(p):
    """What the simulation says for each `measured.` parameter."""
    near = p.replaced_by(apns__latency_ms=0, network__rtt_ms=0)
    at50 = p.replaced_by(apns__latency_ms=50, network__rtt_ms=0)
    at100 = p.replaced_by(apns__latency_ms=100, network__rtt_ms=0)
    low = near.replaced_by(gateway__accept_us=p["gateway.accept_low_us"], redis__accept_us=p["redis.accept_low_us"])
    curl = near.replaced_by(**{f"worker__token_us__1e{digits}": p["libcurl.token_us"] for digits in range(3, 8)})
    during = beside(at50, 300000, 50, 500)
    publishes, publish_ms = closed_loop(32, 20000, p["gateway.accept_us"], p["redis.accept_us"])
    return {
        "publishes": publishes,
        "publish_ms": publish_ms,
        "tokens.1e4": one_name(near, 1e4),
        "tokens.1e5": one_name(near, 1e5),
        "tokens.1e6": one_name(near, 1e6),
        "tokens.1e7": one_name(near, 1e7),
        "two_workers": one_name(near, 1e6, 2),
        "libcurl": one_name(curl, 1e6),
        "far": one_name(at100, 1e5),
        "names_s": many_names(near, 200, 1e3, 200),
        "small_ms": many_names(low, 2000, 1, 4) * 1000,
        "beside": during[0],
        "idle_ms": beside(at50, 0, 50, 500)[1],
        "during_ms": during[2],
        "puts": closed_loop(32, 20000, p["gateway.put_us"], p["redis.put_us"])[0],
        "bulk": closed_loop(32, 20000, p["gateway.bulk_us"], p["redis.bulk_us"])[0],
    }


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def check(p):
    """Prints the table. Returns how many parameters do not stand in their documents any more."""
    rows = []
    for name, value in simulated(p).items():
        name = f"measured.{name}"
        ratio = value / p[name] if "/s" in p.unit[name] else p[name] / value
        rows.append([p.unit[name], number(p[name]), number(value), f"{ratio:.2f}", p.source[name].split(";")[0]])
    table("Ratio: how much better the simulation is than the machine",
          ["what", "measured", "simulated", "ratio", "heading of measurements.md"], rows)
    print(WHY)
    stale = p.stale()
    for name, source in stale:
        print(f"{name}: {p.text[name]} no longer stands in: {source}")
    return len(stale)
