"""Makes the calls of Clients/Backends through a proxy that misbehaves; see bin/clients.

backends.py URL APP_KEY APP_SECRET MASTER_SECRET

Each call is a process of its own. A fault holds for the first request or for all, and the proxy counts what arrives. Each
language has a proxy of its own, because most of the time is pauses. One that is not installed is left out.
"""

import concurrent.futures
import datetime
import email.utils
import http.server
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import urllib.request
import uuid

from checks import check, passed

gateway, key, secret, master = sys.argv[1:]
folder = os.path.join(os.path.dirname(__file__), "../../Clients/Backends")
CHANNEL = "3f0c8a51-8a3e-4b9b-9a66-0c8a3f0c8a51"
TOMORROW = email.utils.format_datetime(datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(1), usegmt=True)


def answer(status, body="", **headers):
    lines = [f"HTTP/1.1 {status} Text", *(f"{name.replace('_', '-')}: {text}" for name, text in headers.items())]
    if "Content_Length" not in headers:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join([*lines, "Connection: close", "", ""]) + body).encode()


class Proxy(http.server.BaseHTTPRequestHandler):
    """Passes requests on to the gateway, but for those that meet the fault."""

    def do_GET(self):
        server = self.server
        server.seen.append(dict(self.headers))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = server.fault if len(server.seen) == 1 or not server.only_first else None
        self.close_connection = True
        if fault == "hangs":
            server.released.wait()
        elif fault == "drips":
            self.wfile.write(answer(200, Content_Length=1000))
            while not server.released.wait(0.2):
                self.wfile.write(b" ")
        elif fault == "is reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        elif isinstance(fault, bytes):
            self.wfile.write(fault)
        elif fault != "closes":
            names = ("Authorization", "Content-Type", "Idempotency-Key", "X-UA-Channel-ID")
            headers = {name: self.headers[name] for name in names if self.headers[name]}
            request = urllib.request.Request(gateway + self.path, body or None, headers, method=self.command)
            with urllib.request.urlopen(request, timeout=60) as good:
                text = good.read().decode()
            # The gateway has done it, and only its answer is lost: the repetition must not send it twice.
            self.wfile.write(answer(202, text[:20], Content_Length=len(text)) if fault == "is cut off" else answer(202, text))

    do_POST = do_GET

    def log_message(self, *_):
        pass

    def finish(self):
        try:
            super().finish()
        except OSError:
            pass


class Server(http.server.ThreadingHTTPServer):
    def __init__(self, fault=None):
        super().__init__(("127.0.0.1", 0), Proxy)
        self.fault, self.only_first, self.seen, self.released = fault, fault is None, [], threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass


settings = {"LAMPLIGHTER_APP_KEY": key, "LAMPLIGHTER_APP_SECRET": secret,
            "LAMPLIGHTER_APP_MASTER_SECRET": master}
work = tempfile.TemporaryDirectory(prefix="lamplighter-backends.")


def programs():
    """The command of each language that is installed, and how it calls publish with a key that is no text."""
    python = "import os, sys; sys.path.insert(0, sys.argv[1]); from lamplighter import Lamplighter\n" \
        "Lamplighter(os.environ['LAMPLIGHTER_GATEWAY_URL'], 'a', 'b', 'c').publish('n', {}, None)"
    node = "const { Lamplighter } = await import(process.argv[1] + '/lamplighter.mjs')\n" \
        "await new Lamplighter({ url: process.env.LAMPLIGHTER_GATEWAY_URL, appKey: 'a', appSecret: 'b', masterSecret: 'c' })" \
        ".publish('n', {})"
    yield "Python", [sys.executable, "-B", f"{folder}/lamplighter.py"], [sys.executable, "-B", "-c", python, folder]
    if shutil.which("node"):
        yield "Node", ["node", f"{folder}/lamplighter.mjs"], ["node", "--input-type=module", "-e", node, os.path.abspath(folder)]
    if shutil.which("go"):
        program = f"{work.name}/lamplighter"
        cache = {"GOCACHE": os.path.abspath(os.path.join(folder, "../../.build/go"))}
        subprocess.run(["go", "build", "-o", program, f"{folder}/lamplighter.go"], check=True, env=os.environ | cache)
        yield "Go", [program], [program, "publish", "n", "{}", ""]


def run(proxy, command, fault=None, only_first=True):
    """Runs it to its end. An attempt that waits as long as the proxy asks, or that hangs, is killed and fails."""
    proxy.fault, proxy.only_first = fault, only_first
    proxy.seen.clear()
    environment = os.environ | settings | {"LAMPLIGHTER_GATEWAY_URL": proxy.url}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
        return done.returncode, done.stdout.strip(), done.stderr
    except subprocess.TimeoutExpired:
        return None, "", "it did not end"


def is_push(text):
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def check_language(language, command, without_key):
    # The other is the host that redirects name.
    proxy, other = Server(), Server(answer(200, "{}"))

    def publish(fault, only_first=True):
        number = str(uuid.uuid4())
        code, out, error = run(proxy, [*command, "publish", "match-1", '{"home":1}', number], fault, only_first)
        keys = {headers["Idempotency-Key"] for headers in proxy.seen}
        check(f"{language}: {fault}: another key: {keys}", keys == {number})
        return code, out, error

    def token(fault, only_first=True):
        return run(proxy, [*command, "token", CHANNEL], fault, only_first)

    def is_own_error(what, code, error):
        check(f"{language}: {what}: exit code {code}: {error}", code == 1)
        own = "LamplighterError" in error or language == "Go"
        check(f"{language}: {what}: no error of the client: {error}", own and "panic" not in error)

    # Repeated with the same key.
    page = "<html>We will be back soon</html>"
    foreign = [answer(200, text) for text in (page, '{"status":"maintenance"}', '{"push_ids":[],"token":""}', '{"push_ids":7,"token":7}', "[]", "")]
    for fault in ("closes", "is reset", "is cut off", b"garbage\r\n\r\n", *foreign,
                  answer(503, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"), answer(503, Retry_After="soon"),
                  answer(503, page, Content_Length=4000), answer(429, Retry_After="0")):
        code, out, error = publish(fault)
        check(f"{language}: {fault}: {code} {out} {error}", code == 0 and is_push(out) and len(proxy.seen) == 2)

    # The wait that the gateway asks for has a limit, which is short where a user waits.
    for asked in ("99999999", "99999999999999999999", "1e999", "Inf", "NaN", "-5", TOMORROW):
        code, out, error = token(answer(503, Retry_After=asked))
        check(f"{language}: Retry-After: {asked}: {code} {out} {error}", code == 0 and out.startswith("eyJ") and len(proxy.seen) == 2)
        check(f"{language}: Retry-After: {asked}: {error}", error == "")

    # A user waits for a token, so it has two attempts.
    for fault in ("closes", "hangs", "drips", answer(503), *foreign):
        code, _, error = token(fault, only_first=False)
        is_own_error(fault, code, error)
        check(f"{language}: {fault}: {len(proxy.seen)} attempts", len(proxy.seen) == 2)
    proxy.released.set()

    # A refusal and a redirect are final. Nothing goes to the other host.
    for status in (301, 302, 303, 307, 308, 400, 401, 404, 409):
        code, _, error = publish(answer(status, "no", Location=f"{other.url}/api/push"), only_first=False)
        is_own_error(status, code, error)
        check(f"{language}: {status}: {len(proxy.seen)} attempts, {error}", len(proxy.seen) == 1 and str(status) in error)
    check(f"{language}: a redirect is followed with {other.seen}", not other.seen)

    # A key that cannot be sent is refused before the first attempt.
    for wrong in ("ключ", "match\n42", "", "k" * 256):
        code, _, error = run(proxy, [*command, "publish", "match-1", "{}", wrong])
        check(f"{language}: the key {wrong!r} is sent: {error}", code == 1 and not proxy.seen and "key" in error)
    code, _, error = run(proxy, without_key)
    check(f"{language}: a publish without a key is sent: {error}", code == 1 and not proxy.seen and "key" in error)


languages = list(programs())
with concurrent.futures.ThreadPoolExecutor() as pool:
    for done in [pool.submit(check_language, *language) for language in languages]:
        done.result()
print("backends.py: " + ", ".join(language for language, *_ in languages))
passed()
