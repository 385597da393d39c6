"""What the cases need in machines, memory, bandwidth and money: the fleets that the other tables found, added up."""
from dataclasses import dataclass
from math import ceil

from cases import alert_shape, at_priority_5, crowd, enough_for_orders, enough_workers, final_shapes
from tables import gateway_cores, nodes_for_orders, percent, seconds, table, thousands

WEEKS = 52 / 12


@dataclass
class Plan:
    title: str
    gateway_cores: int
    workers: int
    nodes: int
    redis_bytes: float  # of one copy
    peak_rate: float  # requests a second to APNs
    is_one_name: bool
    asked_bytes: float  # a second, at the gateways
    requests: float  # to APNs a month
    time: str
    first: str

    def connections(self, p):
        return self.workers * int(p["worker.lanes"])

    def redis_gb(self, p):
        """Of all copies."""
        return self.redis_bytes * p["redis.room"] * p["redis.copies"] / 1e9

    def all_nodes(self, p):
        """Primaries: enough threads and enough memory. A cluster has three or more."""
        nodes = max(self.nodes, ceil(self.redis_gb(p) / p["redis.copies"] / p["redis.node_gb"]))
        return nodes if nodes == 1 else max(3, nodes)

    def machines(self, p):
        """Cores of all machines, and dollars a month with their memory."""
        cores = self.gateway_cores + self.workers * p["worker.cores"] + self.all_nodes(p) * p["redis.cores"] * p["redis.copies"]
        small_gb = (self.workers * p["worker.peak_mb"] + self.gateway_cores * p["gateway.peak_mb"]) / 1000
        return cores, cores * p["price.core"] + (self.redis_gb(p) + small_gb) * p["price.gb"]

    def traffic(self, p):
        """TB a month to APNs, and dollars."""
        terabytes = self.requests * p["wire.request_bytes"] / 1e12
        return terabytes, terabytes * p["price.tb_out"]

    def fleet_row(self, p):
        return [self.title, self.gateway_cores, self.workers, self.connections(p), self.all_nodes(p), self.time,
                "Redis memory" if self.all_nodes(p) > self.nodes else self.first]

    def price_row(self, p):
        cores, machines = self.machines(p)
        terabytes, traffic = self.traffic(p)
        read = self.peak_rate * p["redis.token_bytes"] / (1 if self.is_one_name else self.all_nodes(p))
        rates = (self.asked_bytes, self.peak_rate * p["wire.request_bytes"], self.peak_rate * p["wire.answer_bytes"], read)
        return ([self.title, f"{self.redis_gb(p):,.1f}"] + [f"{rate * 8 / 1e6:,.0f}" for rate in rates] +
                [f"{cores:,.0f}", f"{machines:,.0f}", f"{terabytes:,.1f}", f"{traffic:,.0f}"])


FLEET = ["case", "gateway cores", "workers", "connections", "Redis nodes", "p50, p99 or last", "fullest"]
PRICE = ["case", "Redis GB", "to gateways", "to APNs", "from APNs", "out of a node", "cores", "$ machines", "TB", "$ traffic"]


def both(p, title, found):
    table(f"{title}: fleets, without the copies of Redis", FLEET, [one.fleet_row(p) for one in found])
    table(f"{title}: memory with the copies, Mbit/s at the peak, a month's price", PRICE, [one.price_row(p) for one in found])


def ledgers(p, pushes_a_month, names_a_month=0):
    """Bytes of the pushes that are kept, and of names that had one."""
    kept = p["keep.push_hours"] / (WEEKS * 168)
    return kept * (pushes_a_month * p["redis.push_bytes"] + names_a_month * p["redis.pushed_bytes"])


def final(p, shape, title):
    """At priority 5, because updates each second use up a device's budget otherwise."""
    workers, found = enough_workers(at_priority_5(p), shape)
    pushes_a_second = shape.names / shape.period
    month = p["final.hours"] * 3600
    stored = shape.names * shape.tokens * p["redis.token_bytes"] + ledgers(p, pushes_a_second * month)
    return Plan(title, gateway_cores(p, pushes_a_second, "accept"), max(2, workers), 1, stored, shape.rate,
                shape.names == 1, pushes_a_second * p["wire.publish_bytes"], shape.rate * month,
                f"{seconds(found.p50)}, {seconds(found.p99)}", percent(found.first))


def alert(p):
    shape = alert_shape(p)
    workers, found = enough_workers(p, shape)
    tokens = p["alert.tokens"]
    return Plan("alert", 2, workers, 1, tokens * p["redis.token_bytes"], tokens / found.p99, True, 0,
                tokens * p["alert.pushes"],
                seconds(found.p99), percent(found.first))


def orders(p, pushes, title):
    a_second = p["orders.a_minute"] / 60
    rate = a_second * pushes
    cores, nodes = gateway_cores(p, rate, "accept") + gateway_cores(p, a_second, "put"), nodes_for_orders(p, rate)
    workers, found = enough_for_orders(p, rate, nodes, cores)
    month = p["orders.hours"] * 3600
    followed = a_second * month / 30 * p["redis.name_bytes"]  # a day's: their tokens live for 13 hours
    stored = followed + ledgers(p, rate * month, a_second * month)
    asked = rate * p["wire.publish_bytes"] + a_second * p["wire.register_bytes"]
    return Plan(title, cores, max(2, workers), nodes, stored, rate, False, asked, rate * month,
                f"{seconds(found.p50)}, {seconds(found.p99)}", percent(found.first))


def crowds(p, nodes, bytes_each, title):
    rate = p["crowd.registrations"] / p["crowd.minutes"] / 60
    cores = gateway_cores(p, rate, "put")
    waits = crowd(p, cores, nodes)
    uses = [("gateway CPU", rate * p["gateway.put_us"] / 1e6 / cores), ("Redis node", rate * p["redis.put_us"] / 1e6 / nodes)]
    return Plan(title, cores, 0, nodes, p["crowd.registrations"] * bytes_each, 0, True,
                rate * p["wire.register_bytes"], 0, f"waits {seconds(max(waits[:2]))}",
                percent(max(uses, key=lambda use: use[1])))


def plans(p):
    second, minute, many = final_shapes(p)
    return [
        final(p, second, "final, one name, each second"),
        final(p, minute, "final, one name, each 30 s"),
        final(p, many, "final, many names"),
        alert(p),
        orders(p, 1, "orders, a push each"),
        orders(p, p["orders.pushes"], f"orders, {p['orders.pushes']:.0f} pushes each"),
        crowds(p, 1, p["redis.token_bytes"], "crowd, one name"),
        crowds(p, 3, p["redis.name_bytes"], "crowd, a name each"),
    ]


def plan(p):
    both(p, f"APNs {p['apns.latency_ms']:.0f} ms away, {p['apns.streams']:,.0f} streams, ledgers for "
            f"{p['keep.push_hours']:.0f} h", plans(p))
    orders_a_day = p["orders.a_minute"] * 60 * p["orders.hours"] / 30
    print(f"\nOrders keep {orders_a_day:,.0f} names followed at once (`limits.names` is 1,000,000 by default).")
    short = p.replaced_by(keep__push_hours=48)
    both(short, "The same with ledgers for 48 h, the least", [
        final(short, final_shapes(p)[2], "final, many names"),
        orders(short, 1, "orders, a push each"),
        orders(short, p["orders.pushes"], f"orders, {p['orders.pushes']:.0f} pushes each"),
    ])
