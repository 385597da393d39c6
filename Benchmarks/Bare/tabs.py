"""Open tabs of the console, as far as the gateway sees them: holds streams of server-sent events and reads them.

  tabs.py PORT COOKIES COUNT PATH…    COUNT streams, 20 with each cookie, over the paths in turn; says "open" once all
                                      are, until SIGTERM
"""

import selectors
import signal
import socket
import sys

port, cookies, count, paths = int(sys.argv[1]), sys.argv[2].split(","), int(sys.argv[3]), sys.argv[4:]
selector = selectors.DefaultSelector()
for number in range(count):
    tab = socket.create_connection(("127.0.0.1", port))
    path = paths[number % len(paths)]
    tab.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: lamplighter_console={cookies[number // 20]}\r\n\r\n".encode())
    answer = tab.recv(65536)
    if not answer.startswith(b"HTTP/1.1 200"):
        sys.exit(f"{path}: {answer[:200].decode()}")
    tab.setblocking(False)
    selector.register(tab, selectors.EVENT_READ)
events = 0


def finish(*_):
    print(f"{events} events", flush=True)
    sys.exit(0)


signal.signal(signal.SIGTERM, finish)
print("open", flush=True)
while True:
    for key, _ in selector.select():
        read = key.fileobj.recv(1 << 20)
        if not read:
            sys.exit("a stream ended")
        events += read.count(b"\n\n")
