"""A port of 127.0.0.1 that was free just now. `python3 Tests/Scripts/free_port.py` prints one."""

import itertools
import random
import socket

numbers = itertools.count(random.randrange(10_000))


def free_port():
    """Another one each time. It is below the ports that the system gives to clients (from 32768), or else a client's
    connection could take it before the server does, or keep it for a minute after its end."""
    for number in itertools.islice(numbers, 1_000):
        port = 10_000 + number % 10_000
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    raise SystemExit("no port from 10000 to 19999 is free")


if __name__ == "__main__":
    print(free_port())
