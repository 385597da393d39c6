"""A small discrete-event engine. A process is a generator that yields the time at which it wants to go on."""
from collections import deque
from heapq import heapify, heappop, heappush, heapreplace

PARKED = None


class Simulation:
    def __init__(self):
        self.now, self.current = 0.0, None
        self.events, self.number = [], 0

    def start(self, process, at=None):
        self.wake(process, self.now if at is None else at, None)

    def wake(self, process, at, value):
        self.number += 1
        heappush(self.events, (at, self.number, process, value))

    def run(self, until=float("inf")):
        """Goes on until nothing is left to do, or until that time."""
        while self.events and self.events[0][0] <= until:
            self.now, _, self.current, value = heappop(self.events)
            process = self.current
            try:
                at = process.send(value)
            except StopIteration:
                continue
            if at is not PARKED:
                self.wake(process, at, None)


class Server:
    """Equal servers with one queue, first come, first served. A Redis node is one; a gateway's cores are several."""

    def __init__(self, count=1):
        self.free = [0.0] * count
        heapify(self.free)
        self.count, self.busy = count, 0.0

    def serve(self, now, seconds):
        """When work that comes now is done."""
        done = max(now, self.free[0]) + seconds
        heapreplace(self.free, done)
        self.busy += seconds
        return done

    def use(self, seconds):
        """The share of the time that it was busy."""
        return self.busy / self.count / seconds if seconds else 0.0


class Pool:
    """Permits of workers: `take` gives the worker whose permit has been free for longest."""

    def __init__(self, simulation, workers, permits):
        self.simulation = simulation
        self.free = deque(worker for _ in range(int(permits)) for worker in workers)
        self.count, self.waiting = len(self.free), deque()
        self.changed = self.area = 0.0

    def take(self):
        self.note()
        if self.free:
            return self.free.popleft()
        self.waiting.append(self.simulation.current)
        worker = yield PARKED
        return worker

    def give(self, worker):
        self.note()
        if self.waiting:
            self.simulation.wake(self.waiting.popleft(), self.simulation.now, worker)
        else:
            self.free.append(worker)

    def note(self):
        """Adds up how many permits were taken for how long."""
        now = self.simulation.now
        self.area += (self.count - len(self.free)) * (now - self.changed)
        self.changed = now

    def use(self, seconds):
        return self.area / self.count / seconds if seconds else 0.0
