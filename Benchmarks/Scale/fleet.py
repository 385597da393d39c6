"""A fleet: gateways, Redis nodes, workers and APNs, and what a push costs each of them. See scale.py for what is left out."""
from bisect import bisect_left
from math import ceil

from engine import Pool, Server, Simulation

MICRO = 1e-6


def cost_of(sizes, one, tokens):
    """CPU of a whole push in µs, on straight lines between the measured sizes. `sizes`: (tokens, µs a token)."""
    points = [(1, one)] + [(size, size * each) for size, each in sizes]
    if tokens >= points[-1][0]:
        return tokens * sizes[-1][1]
    place = max(1, bisect_left(points, (tokens, 0)))
    (low, least), (high, most) = points[place - 1], points[place]
    return least + (most - least) * (tokens - low) / (high - low)


def redis_us(p, tokens):
    """Redis for a push after its acceptance."""
    return cost_of(p.by_size("redis.token_us"), p["redis.one_us"], tokens) - p["redis.accept_low_us"]


def worker_us(p, tokens):
    """A worker for a push, with the price of APNs being far away."""
    near = cost_of(p.by_size("worker.token_us"), p["worker.one_us"], tokens)
    flat = p["worker.token_us.1e7"]
    far = [(0, 0), (50, p["worker.token50_us"] - flat), (100, p["worker.token100_us"] - flat)]
    latency = min(100, p["apns.latency_ms"])
    (low, least), (high, most) = far[:2] if latency <= 50 else far[1:]
    return near + tokens * max(0, least + (most - least) * (latency - low) / (high - low))


def lane_rate(p):
    """Tokens a second that the streams of one connection allow."""
    streams = min(p["apns.streams"], p["worker.streams"]) * p["lane.for_large"]
    pause = p["lane.pace_ms"] if p["apns.latency_ms"] > 16 else 0.1
    return min(1 / (p["worker.lane_us"] * MICRO), streams / ((p["apns.latency_ms"] + pause) / 1000))


class Worker:
    """A worker process: its cores, and its connections as one line that tokens leave on."""

    def __init__(self, p, cores=None):
        self.cpu = cores or Server(int(p["worker.cores"]))
        self.lanes = p["worker.lanes"] * lane_rate(p)
        self.free = self.sent = 0.0

    def send(self, now, tokens, cpu_us):
        """When the last of these tokens has left. Small pages go before large ones (PageQueue.small)."""
        seconds = max(tokens / self.lanes, cpu_us * MICRO / self.cpu.count)
        self.free = max(now, self.free) + seconds
        self.sent += tokens
        return now + cpu_us * MICRO if tokens <= 32 else self.free


class Name:
    """An activity name: its node, and the pushes that wait while another is swept."""

    def __init__(self, node):
        self.node, self.is_swept, self.waiting = node, False, None


class Push:
    def __init__(self, name, tokens, at):
        self.name, self.tokens, self.published = name, tokens, at
        self.accepted = self.arrived = self.done = None
        self.is_superseded, self.left = False, 0


class Fleet:
    """`shared` are servers that several parts use, for machines of a measurement: `gateways`, `redis`, `worker`, `apns`."""

    def __init__(self, p, workers=2, nodes=1, gateway_cores=2, **shared):
        self.p, self.simulation = p, Simulation()
        self.gateways = shared.get("gateways") or Server(gateway_cores)
        self.nodes = [shared.get("redis") or Server() for _ in range(nodes)]
        self.apns, self.apns_us = shared.get("apns"), shared.get("apns_us", 0)
        self.workers = [Worker(p, shared.get("worker")) for _ in range(workers)]
        self.small = Pool(self.simulation, self.workers, p["worker.small_permits"])
        self.shards = Pool(self.simulation, self.workers, p["worker.shard_permits"])
        self.pushes, self.partitions, self.costs = [], max(1, int(p["queue.partitions"])), {}
        self.latency, self.rtt = p["apns.latency_ms"] / 1000, p["network.rtt_ms"] / 1000
        self.simulation.start(self.idle())

    def idle(self):
        """Workers without work ask the nodes of the streams for timers and new entries."""
        each = self.p["redis.idle_us"] * MICRO
        rate = len(self.workers) * self.p["redis.idle_commands"] / self.partitions
        while self.simulation.events or self.simulation.now == 0:
            for partition in range(self.partitions):
                self.queue_node(partition).serve(self.simulation.now, 0.1 * rate * each)
            yield self.simulation.now + 0.1

    def queue_node(self, number):
        return self.nodes[number % self.partitions % len(self.nodes)]

    def ask(self, node, micros):
        """When a node has answered."""
        return node.serve(self.simulation.now, micros * MICRO) + self.rtt

    # A push, step by step. Each `yield` is a wait.

    def publish(self, name, tokens, then=None):
        """From the publisher to the sweep. The queue's part of the acceptance is half of `redis.queue_us`."""
        p, push = self.p, Push(name, tokens, self.simulation.now)
        self.pushes.append(push)
        number, queue_us = len(self.pushes), p["redis.queue_us"] / 2
        yield self.gateways.serve(self.simulation.now, p["gateway.accept_us"] * MICRO)
        yield self.ask(name.node, p["redis.accept_us"] - queue_us)
        yield self.ask(self.queue_node(number), queue_us)
        push.accepted = self.simulation.now
        if then:
            then(push)
        yield from self.sweep(push, number)

    def sweep(self, push, number):
        """A name sweeps one push at a time. One that waits is superseded by the next."""
        name = push.name
        if name.is_swept:
            if name.waiting:
                name.waiting.is_superseded = True
            name.waiting = push
            return
        name.is_swept = True
        queue = self.queue_node(number)
        worker = yield from self.small.take()
        yield self.ask(queue, self.p["redis.queue_us"] / 2)
        shards = self.plan(push.tokens)
        if shards == 1:
            yield from self.small_push(push, worker)
            self.small.give(worker)
        else:
            yield self.ask(queue, shards * self.p["redis.queue_us"] / 2)
            self.small.give(worker)
            push.left = shards
            for _ in range(shards):
                self.simulation.start(self.shard(push, push.tokens / shards, queue))

    def cost(self, tokens):
        """µs of a push of this size: Redis, a worker, and of that what its lanes have (the rest needs a core beside them)."""
        if tokens not in self.costs:
            redis, worker = redis_us(self.p, tokens), worker_us(self.p, tokens)
            self.costs[tokens] = (redis, worker, min(worker, tokens * worker_us(self.p, 1e7) / 1e7))
        return self.costs[tokens]

    def plan(self, tokens):
        """As shared-sweep.lua: a power of two, each with 16 buckets or more."""
        shards = 1
        while shards < self.p["push.most_shards"] and shards * 2 * self.p["push.shard_tokens"] <= tokens:
            shards *= 2
        return shards

    def small_push(self, push, worker):
        """One shard under one permit: begin and read, send, settle."""
        redis, cpu, sending = self.cost(push.tokens)
        half_redis = max(0, redis - self.p["redis.queue_us"] / 2) / 2
        half_cpu = (cpu - sending) / 2 * MICRO
        yield worker.cpu.serve(self.simulation.now, half_cpu)
        yield self.ask(push.name.node, half_redis)
        yield from self.send(push, worker, push.tokens, sending)
        yield worker.cpu.serve(self.simulation.now, half_cpu)
        yield self.ask(push.name.node, half_redis)
        self.finish(push)

    def shard(self, push, tokens, queue):
        """Reads page after page; at most `worker.open_pages` are on the way."""
        p = self.p
        worker = yield from self.shards.take()
        yield self.ask(queue, p["redis.queue_us"] / 2)
        redis, cpu = [micros / push.tokens for micros in self.cost(push.tokens)[:2]]
        window = Pool(self.simulation, [None], p["worker.open_pages"])
        pages = ceil(tokens / p["worker.page"])
        for _ in range(pages):
            yield self.ask(push.name.node, tokens / pages * redis / 2)
            yield from window.take()
            self.simulation.start(self.page(push, worker, tokens / pages, redis, cpu, window))
        for _ in range(int(p["worker.open_pages"])):
            yield from window.take()
        yield self.ask(queue, p["redis.queue_us"] / 2)
        self.shards.give(worker)
        push.left -= 1
        if push.left == 0:
            self.finish(push)

    def page(self, push, worker, tokens, redis, cpu, window):
        yield from self.send(push, worker, tokens, tokens * cpu)
        yield self.ask(push.name.node, tokens * redis / 2)
        window.give(None)

    def send(self, push, worker, tokens, cpu_us):
        """Over the wire. `arrived` is when the last token reached APNs, half a round trip after it left."""
        yield worker.send(self.simulation.now, tokens, cpu_us)
        for _ in range(ceil(tokens / 32) if self.apns else 0):  # a part of a page (PageQueue.small)
            yield self.apns.serve(self.simulation.now, min(32, tokens) * self.apns_us * MICRO)
        push.arrived = max(push.arrived or 0, self.simulation.now + (0 if self.apns else self.latency / 2))
        yield self.simulation.now + self.latency

    def finish(self, push):
        push.done = self.simulation.now
        name = push.name
        name.is_swept = False
        if name.waiting:
            following, name.waiting = name.waiting, None
            self.simulation.start(self.sweep(following, len(self.pushes)))

    # What a run says.

    def delays(self):
        """From publish to the last token's arrival at APNs, sorted."""
        return sorted(push.arrived - push.published for push in self.pushes if push.done)

    def superseded(self):
        return sum(push.is_superseded for push in self.pushes)

    def use(self):
        """The share of each resource that was used until the last push was done, the fullest first."""
        seconds = max([push.done for push in self.pushes if push.done], default=0)
        cpu = sum(self.cost(push.tokens)[1] for push in self.pushes if push.done) * MICRO
        sent = sum(worker.sent for worker in self.workers)
        found = {
            "gateway CPU": self.gateways.use(seconds),
            "worker CPU": cpu / seconds / sum(worker.cpu.count for worker in self.workers),
            "streams to APNs": sent / seconds / sum(worker.lanes for worker in self.workers),
            "permits of small pushes": self.small.use(seconds),
            "Redis node of a name": max(node.use(seconds) for node in self.nodes),
        }
        queue = max(self.queue_node(number).use(seconds) for number in range(self.partitions))
        if len(self.nodes) > 1 and queue >= found["Redis node of a name"]:
            found["Redis node of the streams"] = found.pop("Redis node of a name")
        return sorted(found.items(), key=lambda item: -item[1])


def share(values, of):
    """A percentile of sorted values."""
    return values[int((len(values) - 1) * of)] if values else float("nan")
