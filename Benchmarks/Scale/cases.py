"""The four cases: what is published, and the fleets that are simulated for it."""
import random
from dataclasses import dataclass, field

from fleet import Fleet, Name, redis_us, share, worker_us

FLEETS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 22, 25, 28, 32, 36, 40, 48, 56, 64, 80, 100, 125, 150, 175, 200]


@dataclass
class Shape:
    """Names of `tokens` each, all published every `period` seconds."""
    title: str
    names: int
    tokens: float
    period: float
    goal: float
    pushes: int = 20

    @property
    def rate(self):
        return self.names * self.tokens / self.period


@dataclass
class Outcome:
    p50: float
    p99: float
    superseded: float
    use: list = field(default_factory=list)

    @property
    def first(self):
        """What is fullest."""
        return self.use[0]

    def meets(self, goal, fill):
        return self.superseded == 0 and self.p99 <= goal and self.first[1] <= fill


def at_priority_5(p):
    """A worker has fewer permits for such pushes."""
    return p.replaced_by(worker__small_permits=p["worker.small_low"], worker__shard_permits=p["worker.shard_low"])


def final_shapes(p):
    """Three shapes of the same number of updates a minute."""
    second = p["final.tokens"] / 60
    goal = p["final.goal_s"]
    return [
        Shape(f"one name of {second:,.0f}, each second", 1, second, 1, goal),
        Shape(f"one name of {second * 30:,.0f}, each 30 s", 1, second * 30, 30, 30 * goal, 3),
        Shape(f"{second / 100:,.0f} names of 100, each second", int(second / 100), 100, 1, goal, 3),
    ]


def alert_shape(p, names=1):
    return Shape(f"{names} names of {p['alert.tokens'] / names:,.0f}", names, p["alert.tokens"] / names, 1e9, p["alert.goal_s"], 1)


def run(p, shape, workers, nodes=1, gateway_cores=2):
    """Publishes a shape: names of a period are spread evenly over it."""
    fleet = Fleet(p, workers, nodes, gateway_cores)
    names = [Name(fleet.nodes[number % nodes]) for number in range(shape.names)]
    spread = shape.period / shape.names if shape.pushes > 1 else 0
    for turn in range(shape.pushes):
        for number, name in enumerate(names):
            at = turn * shape.period + number * spread
            fleet.simulation.start(fleet.publish(name, shape.tokens), at=at)
    fleet.simulation.run()
    return outcome(fleet)


def run_orders(p, rate, workers, nodes=1, gateway_cores=2, most=8000):
    """Pushes to one token each, to names of their own, at random times: about `most` of them."""
    fleet, chance, at = Fleet(p, workers, nodes, gateway_cores), random.Random(13), 0.0
    for number in range(int(min(most, rate * 20))):
        at += chance.expovariate(rate)
        fleet.simulation.start(fleet.publish(Name(chance.choice(fleet.nodes)), 1), at=at)
    fleet.simulation.run()
    return outcome(fleet)


def outcome(fleet):
    delays = fleet.delays()
    return Outcome(share(delays, 0.5), share(delays, 0.99), fleet.superseded() / len(fleet.pushes), fleet.use())


def smallest(least, run_with, is_enough):
    """The smallest fleet that is enough, with its outcome. Arithmetic says that fewer than `least` are not."""
    for workers in (size for size in FLEETS if size >= least):
        found = run_with(workers)
        if is_enough(found):
            return workers, found
    raise SystemExit(f"scale: {FLEETS[-1]} workers are not enough")


def enough_workers(p, shape, nodes=1, gateway_cores=2):
    """A single push may fill a resource, because only its time counts."""
    fill = p["fill"] if shape.pushes > 1 else 1.01
    rate = shape.rate if shape.pushes > 1 else shape.names * shape.tokens / shape.goal
    return smallest(
        rate / Fleet(p, 1).workers[0].lanes, lambda workers: run(p, shape, workers, nodes, gateway_cores),
        lambda found: found.meets(shape.goal, fill))


def enough_for_orders(p, rate, nodes, gateway_cores):
    return smallest(
        rate * p["apns.latency_ms"] / 1000 / p["worker.small_permits"],
        lambda workers: run_orders(p, rate, workers, nodes, gateway_cores),
        lambda found: found.meets(p["orders.goal_s"], p["fill"]))


def worker_bounds(p, tokens=1e7):
    """Tokens a second that each part of one worker allows for a large push."""
    lanes = Fleet(p, 1).workers[0].lanes
    open_tokens = p["worker.shard_permits"] * p["worker.open_pages"] * p["worker.page"]
    cpu = p["worker.cores"] * 1e6 * tokens / worker_us(p, tokens)
    return {"streams": lanes, "open pages": open_tokens / (p["apns.latency_ms"] / 1000 + 1e-9), "CPU": cpu}


def orders_bounds(p, nodes):
    """Pushes to one token a second at which each kind of node is full: (a node of names, the node of the streams)."""
    partitions = min(nodes, max(1, int(p["queue.partitions"])))
    queue = p["redis.queue_us"] / partitions
    names = (p["redis.accept_us"] + redis_us(p, 1) - p["redis.queue_us"]) / nodes
    return 1e6 / (names if partitions < nodes else names + queue), 1e6 / (names + queue)


def crowd(p, gateway_cores, nodes, first_minutes=None, form="put"):
    """Registrations as a fluid, in steps of 10 ms: the longest wait in seconds at (gateways, Redis), and the most waiting there.

    Evenly over the time, or half of them in the first minutes. All names are on one node if `nodes` is 1.
    """
    total, seconds, step = p["crowd.registrations"], p["crowd.minutes"] * 60, 0.01
    serve = gateway_cores * 1e6 / p[f"gateway.{form}_us"]
    store = nodes * 1e6 / p[f"redis.{form}_us"]
    at_gateways = at_redis = most_gateways = most_redis = 0.0
    for number in range(int(seconds / step)):
        at_gateways += step * arrival_rate(total, seconds, number * step, first_minutes)
        served = min(at_gateways, serve * step)
        at_gateways -= served
        at_redis = max(0.0, at_redis + served - store * step)
        most_gateways, most_redis = max(most_gateways, at_gateways), max(most_redis, at_redis)
    return most_gateways / serve, most_redis / store, most_gateways + most_redis


def arrival_rate(total, seconds, now, first_minutes):
    if not first_minutes:
        return total / seconds
    first = first_minutes * 60
    return total / 2 / first if now < first else total / 2 / (seconds - first)
