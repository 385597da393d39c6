"""A port of 127.0.0.1 that was free just now. `python3 Tests/Scripts/free_port.py` prints one."""

import itertools
import os
import random
import socket

# bin/test gives each of two scripts that run side by side 5,000 ports of its own: the variable is the first.
FIRST = int(os.environ.get("TEST_PORTS", 10_000))
COUNT = 5_000 if "TEST_PORTS" in os.environ else 10_000
numbers = itertools.count(random.randrange(COUNT))


def free_port():
    """Another one each time. It is below the ports that the system gives to clients (from 32768), or else a client's
    connection could take it before the server does, or keep it for a minute after its end."""
    for number in itertools.islice(numbers, 1_000):
        port = FIRST + number % COUNT
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    raise SystemExit(f"no port from {FIRST} to {FIRST + COUNT - 1} is free")


if __name__ == "__main__":
    print(free_port())
