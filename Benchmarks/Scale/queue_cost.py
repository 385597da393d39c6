"""Measures what the streams' node of Redis does for one push: CPU of a private Redis with config/redis.conf.

A push asks the slot of the streams for these commands, in this order:
  gateway     ZADD (open names), XADD, four XLEN and a ZCARD (queue depth)
  worker      XREADGROUP, then XACK and XDEL
  reconciler  queue-look and queue-forget, for each name

The rest of the push is on the name's slot and is not measured here. It needs redis-server, and a quiet machine.
"""
import os
import re
import socket
import subprocess
import tempfile
import time

STREAM, OPEN, DUE = "ll:{q}:shop:10", "ll:{q}:shop:open", "ll:{q}:shop:due"
STREAMS = [STREAM, STREAM + ":s", "ll:{q}:shop:5", "ll:{q}:shop:5:s"]
ROOT = os.path.join(os.path.dirname(__file__), "../..")


def script(name):
    """A script of lamplighter, with the locals that its head declares."""
    with open(os.path.join(ROOT, f"Sources/StoreGround/Lua/queue/{name}.lua"), encoding="utf-8") as file:
        text = file.read()
    names = {kind: re.findall(rf"^-- {kind} (\w+):", text, re.MULTILINE) for kind in ("key", "argument")}
    return f"local {', '.join(names['key'])} = unpack(KEYS)\nlocal {', '.join(names['argument'])} = unpack(ARGV)\n{text}"


def encoded(*words):
    """One command as Redis reads it."""
    parts = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def write(self, *commands):
        self.socket.sendall(b"".join(encoded(*command) for command in commands))

    def read(self, count=1):
        return [self.reply() for _ in range(count)]

    def ask(self, *command):
        self.write(command)
        return self.reply()

    def reply(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]
        return rest.decode()


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def accept(gateways, first):
    """The gateways' commands for one push on each of the connections."""
    depth = [("XLEN", stream) for stream in STREAMS] + [("ZCARD", DUE)]
    for number, gateway in enumerate(gateways, first):
        entry = ("XADD", STREAM, "*", "n", f"shop order-{number}", "p", f"{number:032x}", "k", "name")
        gateway.write(("ZADD", OPEN, 1, f"order-{number}"), entry, *depth)
    for gateway in gateways:
        gateway.read(2 + len(depth))


def work(worker, count):
    """A worker's commands: one read for all that wait, an acknowledgement for each."""
    found = worker.ask("XREADGROUP", "GROUP", "workers", "w", "COUNT", count, "BLOCK", 1000, "STREAMS", STREAM, ">")
    ids = [entry[0] for entry in found[0][1]]
    worker.write(*[command for id in ids for command in (("XACK", STREAM, "workers", id), ("XDEL", STREAM, id))])
    worker.read(2 * len(ids))


def reconcile(worker, count, look, forget):
    names = worker.ask("EVALSHA", look, 1, OPEN, 1, "2.5", count)
    worker.write(*[("EVALSHA", forget, 1, OPEN, name, "2.5") for name in names])
    worker.read(len(names))


def measure(path, pid, at_once, pushes):
    """CPU of Redis for one push, µs, while `at_once` gateways publish at a time."""
    gateways, worker = [Connection(path) for _ in range(at_once)], Connection(path)
    look, forget = [worker.ask("SCRIPT", "LOAD", script(name)) for name in ("queue-look", "queue-forget")]
    before = cpu_seconds(pid)
    for first in range(0, pushes, at_once):
        accept(gateways, first)
        work(worker, at_once)
        if first % 1024 == 0:
            reconcile(worker, 1024, look, forget)
    reconcile(worker, 1024, look, forget)
    return (cpu_seconds(pid) - before) / pushes * 1e6


def run():
    config = os.path.join(ROOT, "config/redis.conf")
    with tempfile.TemporaryDirectory(prefix="lamplighter-bench.") as folder:
        path = os.path.join(folder, "redis.sock")
        options = ["--dir", folder, "--port", "0", "--unixsocket", path, "--logfile", os.devnull]
        server = subprocess.Popen(["redis-server", config, *options], stdout=subprocess.DEVNULL)
        try:
            while not os.path.exists(path):
                time.sleep(0.05)
            Connection(path).ask("XGROUP", "CREATE", STREAM, "workers", "0", "MKSTREAM")
            print(f"{'pushes at once':>14} {'Redis µs a push, on the node of the streams':>45}")
            for at_once, pushes in ((1, 512), (8, 4096), (32, 16384)):
                print(f"{at_once:>14} {measure(path, server.pid, at_once, pushes):>45.0f}")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    run()
