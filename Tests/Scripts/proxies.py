"""Sends requests through nginx, Caddy and HAProxy, each with its file of config/proxies, to two gateways. Started by
bin/proxies. The only changes to the files are ports, names and the certificate."""

import base64
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

from free_port import free_port
from processes import Processes

binary, work, names = sys.argv[1], sys.argv[2], sys.argv[3:]
MASTER = "master-secret-0123456789"
# The client's end of its connections, so that it is not the proxy's address.
CLIENT = "127.0.0.9"
# Only a proxy that stands still needs so long: one that ends is seen at once.
PATIENCE = 60
processes = Processes("bin/proxies", work, PATIENCE)
start, stop, until = processes.start, processes.stop, processes.until
checks = 0

ports = {name: free_port() for name in ["one", "two", "proxy"]}


def fail(what):
    raise SystemExit(f"bin/proxies: ✗ {what}; the logs are in {work}")


def check(what, holds):
    global checks
    checks += 1
    if not holds:
        fail(what)


def text(path, changes):
    """A file of config/proxies with these changes, each of which must apply."""
    content = open(f"config/proxies/{path}").read()
    for before, after in changes.items():
        if before not in content:
            fail(f"{path} does not hold {before!r}")
        content = content.replace(before, after)
    return content


def write(name, content):
    with open(f"{work}/{name}", "w") as file:
        file.write(content)
    return f"{work}/{name}"


def gateway_ports():
    return {"127.0.0.1:8080": f"127.0.0.1:{ports['one']}", "127.0.0.1:8081": f"127.0.0.1:{ports['two']}"}


def nginx():
    headers = write("headers.conf", text("nginx-headers.conf", {"Connection": "Connection"}))
    server = text("nginx.conf", {
        **gateway_ports(), "listen 443 ssl": f"listen 127.0.0.1:{ports['proxy']} ssl",
        "/etc/ssl/push.example.com.pem": f"{work}/proxy.pem",
        "/etc/ssl/private/push.example.com.key": f"{work}/proxy.key",
        "/etc/nginx/lamplighter-headers.conf": headers})
    paths = "".join(
        f"{kind}_temp_path {work}/nginx-{kind};\n" for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
    path = write("nginx.conf", f"""
daemon off;
pid {work}/nginx.pid;
error_log {work}/nginx-error.log;
events {{}}
http {{
access_log off;
{paths}{server}}}
""")
    return ["nginx", "-c", path, "-e", f"{work}/nginx-error.log"]


def caddy():
    site = text("Caddyfile", {
        **gateway_ports(),
        "push.example.com {": f"https://push.example.com:{ports['proxy']} {{\n\ttls {work}/proxy.pem {work}/proxy.key"})
    path = write("Caddyfile", "{\n\tadmin off\n\tauto_https off\n}\n" + site)
    return ["caddy", "run", "--config", path, "--adapter", "caddyfile"]


def haproxy():
    path = write("haproxy.cfg", text("haproxy.cfg", {
        **gateway_ports(), "bind :443 ssl": f"bind 127.0.0.1:{ports['proxy']} ssl",
        "/etc/haproxy/push.example.com.pem": f"{work}/both.pem"}))
    return ["haproxy", "-f", path, "-db"]


class Client:
    """One connection to the proxy, over TLS, with the name that its file has."""

    def __init__(self, timeout=20):
        context = ssl.create_default_context(cafile=f"{work}/proxy.pem")
        plain = socket.create_connection(("127.0.0.1", ports["proxy"]), timeout, source_address=(CLIENT, 0))
        self.connection = http.client.HTTPConnection("push.example.com")
        self.connection.sock = context.wrap_socket(plain, server_hostname="push.example.com")

    def send(self, method, path, body=None, **headers):
        headers = {key.replace("_", "-"): value for key, value in headers.items()}
        headers.setdefault("Authorization", "Basic " + base64.b64encode(f"shop:{MASTER}".encode()).decode())
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read(), answer

    def json(self, method, path, body=None, **headers):
        status, content, _ = self.send(
            method, path, None if body is None else json.dumps(body), Content_Type="application/json", **headers)
        return status, json.loads(content)


def publish(client, name, key):
    activity = {"name": name, "event": "update", "content_state": {"at": time.time()}}
    body = {"audience": "all", "device_types": ["ios"], "notification": {"ios": {"live_activity": activity}}}
    return client.send(
        "POST", "/api/push", json.dumps(body), Content_Type="application/json", Idempotency_Key=key)[0]


def start_gateway(name):
    start(
        name, [binary, "serve", "--port", str(ports[name])], LAMPLIGHTER_CONFIG=f"{work}/lamplighter.yaml")
    until(f"the gateway {name} is ready", lambda: direct(name, "/readyz") == 200)


def direct(name, path):
    connection = http.client.HTTPConnection("127.0.0.1", ports[name], timeout=5)
    connection.request("GET", path)
    return connection.getresponse().status


def names_with_slashes(proxy):
    client = Client()
    for name in ["a/../b", "/a", "a/", "a//b", "..", "Köln 1:0", "a%2Fb", "x?y#z"]:
        path = "/api/activities/" + urllib.parse.quote(name, safe="")
        status, _ = client.json("PUT", path + "/channels/c1", {"token": "aa"})
        shown, body = client.json("GET", path)
        check(f"{proxy}: the name {name!r} arrives: {status} {body}", status == 200 and body.get("name") == name)


def upload(proxy):
    """Some megabytes in pieces: more than the proxies buffer."""
    client = Client(timeout=60)
    count = 4_000

    def lines():
        for number in range(0, count, 500):
            yield "".join(
                json.dumps({"channel": f"c-{each}", "token": f"{each:01024x}"}) + "\n"
                for each in range(number, number + 500)).encode()

    status, content, _ = client.send("POST", f"/api/activities/{proxy}/channels", lines(), Content_Type="application/x-ndjson")
    check(f"{proxy}: the bulk call: {status} {content[:200]}", status == 200 and json.loads(content)["accepted"] == count)


def addresses(proxy):
    """The client's address, and not what the client says of itself."""
    client = Client()
    status = client.send(
        "POST", "/api/pause", json.dumps({"name": "quiet"}), Content_Type="application/json", X_Forwarded_For="6.6.6.6")[0]
    check(f"{proxy}: the pause: {status}", status in (200, 204))
    _, body = client.json("GET", "/api/actions?limit=1")
    address = body["actions"][0]["address"]
    check(f"{proxy}: the client's address is {address}", address == CLIENT)


def closed_paths(proxy):
    client = Client()
    for path in ["/healthz", "/readyz", "/metrics", "/api/../metrics", "/api/%2e%2e/metrics", "//metrics"]:
        status, content, _ = client.send("GET", path)
        check(f"{proxy}: {path} is closed: {status}", status in (400, 401, 403, 404) and b"lamplighter_" not in content)


def live_page(proxy):
    """An event of the console's home page, which must not wait in a buffer."""
    client = Client()
    form = urllib.parse.urlencode({"app_key": "shop", "secret": MASTER})
    status, _, answer = client.send(
        "POST", "/console/sign-in", form, Content_Type="application/x-www-form-urlencoded", Authorization="")
    check(f"{proxy}: the sign-in: {status}", status == 303)
    cookie = answer.getheader("Set-Cookie").split(";")[0]
    client.connection.request("GET", "/console/live", headers={"Cookie": cookie, "Accept": "text/event-stream"})
    events = client.connection.getresponse()
    check(f"{proxy}: the event stream: {events.status}", events.status == 200)
    began = time.monotonic()
    first = events.readline()
    check(f"{proxy}: the first line of the stream: {first!r}", first != b"" and time.monotonic() - began < 5)
    client.connection.close()


def stop_of_a_gateway(proxy):
    """A gateway stops in the middle: each publish is accepted. Caddy needs repetitions with the same key until its next
    probe, the others at most one for a connection that ended in the wrong moment."""
    outcomes = []
    ended = threading.Event()

    def run(thread):
        number = 0
        while not ended.is_set():
            number += 1
            for attempt in range(10):
                try:
                    status = publish(Client(), f"{proxy}-{thread}", f"{proxy}-{thread}-{number}")
                except (OSError, http.client.HTTPException) as error:
                    status = repr(error)
                if status == 202:
                    break
                time.sleep(0.3)
            outcomes.append((attempt, status))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    stop("one")
    time.sleep(1)
    ended.set()
    for thread in threads:
        thread.join()
    wrong = [outcome for outcome in outcomes if outcome[1] != 202]
    check(f"{proxy}: a publish was lost as a gateway stopped: {wrong[:3]} of {len(outcomes)}", not wrong and outcomes)
    repeated = sum(attempt for attempt, _ in outcomes)
    check(f"{proxy}: {repeated} publishes were repeated", proxy == "caddy" or repeated <= 2)
    start_gateway("one")
    return len(outcomes), repeated


# The balancer of AWS runs nowhere here: its file is compared with the defaults of the gateway.
alb = open("config/proxies/aws-alb.yaml").read()
check("aws-alb.yaml: the idle timeout", 'idle_timeout.timeout_seconds, Value: "60"' in alb)
check("aws-alb.yaml: the probe", "HealthCheckPath: /readyz" in alb)
check("gateway.idle_timeout is above it", "# idle_timeout: 75s" in open("config/lamplighter.yaml").read())
os.environ["PATH"] += ":/usr/sbin:/sbin"
try:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=push.example.com", "-addext", "subjectAltName=DNS:push.example.com",
         "-keyout", f"{work}/proxy.key", "-out", f"{work}/proxy.pem"], check=True, stderr=subprocess.DEVNULL)
    write("both.pem", open(f"{work}/proxy.pem").read() + open(f"{work}/proxy.key").read())
    write("lamplighter.yaml", f"""
redis: {{url: "unix://{work}/redis.sock"}}
gateway:
  trusted_proxies: 127.0.0.1
  public_url: https://push.example.com
  max_connections_per_address: 0
apps:
  - key: shop
    secret: app-secret-0123456789
    master_secret: {MASTER}
    bundle_id: com.example.shop
""")
    start("redis", [
        "redis-server", "config/redis.conf", "--dir", work, "--port", "0", "--unixsocket", f"{work}/redis.sock",
        "--save", "", "--appendonly", "no", "--logfile", ""])
    until("Redis answers", lambda: os.path.exists(f"{work}/redis.sock"))
    for name in ["one", "two"]:
        start_gateway(name)
    for name in names:
        ports["proxy"] = free_port()
        start(name, globals()[name](), HOME=work, XDG_DATA_HOME=work, XDG_CONFIG_HOME=work)
        until(f"{name} answers", lambda: Client().json("GET", "/api/activities")[0] == 200)
        for step in [names_with_slashes, upload, addresses, closed_paths, live_page]:
            step(name)
        count, repeated = stop_of_a_gateway(name)
        stop(name)
        print(f"bin/proxies: ✓ {name}: of {count} publishes while a gateway stopped {repeated} were repeated")
    print(f"bin/proxies: ✓ {checks} checks")
finally:
    for name in list(processes):
        stop(name, signal.SIGKILL)
