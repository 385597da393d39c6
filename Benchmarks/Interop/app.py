"""An ASGI application with the answers of Benchmarks/Interop/servers.sh."""

import os
import re

GONE = re.compile(r"^/3/device/0[0-7]")
BODIES = {410: os.environ["GONE"].encode(), 400: os.environ["BAD"].encode(), 200: b""}


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    while (await receive()).get("more_body"):
        pass
    path = scope["path"]
    status = 410 if GONE.match(path) else 400 if path.startswith("/3/device/08") else 200
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": BODIES[status]})
