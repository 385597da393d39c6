"""Sends requests with broken bytes to a gateway: framing, paths, queries, headers, bodies, and forms of the console.

raw_fuzz.py URL KEY SECRET SECONDS SEED. Exits 1 if an answer is a 500, 502, 503 or 504, or the gateway answers nobody.
A request that was answered so is printed as Python bytes.
"""
import collections, html, http.cookies, json, random, re, socket, sys, threading, time, urllib.parse, urllib.request
from base64 import b64encode

url, key, secret, seconds, seed = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), int(sys.argv[5])
host, port = urllib.parse.urlsplit(url).hostname, urllib.parse.urlsplit(url).port
basic = b"Authorization: Basic " + b64encode(f"{key}:{secret}".encode()) + b"\r\n"
NUMBERS = [b"9223372036854775807", b"-9223372036854775808", b"9223372036854775808", b"18446744073709551616", b"0", b"-1",
           b"1e308", b"1e-400", b"9007199254740993", b"99999999999999999999999999999999", b"NaN", b"253402300800"]
ODD = [b"\0", b"\r\n", b"\xff", b"\xc3", "\u202e".encode(), "\u00e9".encode(), b"%00", b"%2F", b"/../", b"//", b"%", b'"', b"\\",
       b"{" * 70, b"[" * 70, b"A" * 9000, b"&", b"=", b";", b"'", b"<b>"]
CHANNEL = "6f1b7a52-8c1d-4e0f-9d55-0a2b3c4d5e6f"
PLACES = {"name": "match-1", "type": "Match", "id": CHANNEL, "channel": CHANNEL}


def request(method, target, body=b"", headers=b""):
    return method, target, headers + b"Content-Length: %d\r\n" % len(body), body


def api():
    """The calls of the API, with the examples of openapi.json."""
    document = json.load(urllib.request.urlopen(url + "/openapi.json"))
    for path, calls in document["paths"].items():
        target = re.sub(r"{(\w+)}", lambda it: PLACES.get(it[1], "match-1"), path).encode()
        for method, call in calls.items():
            if method not in ("get", "put", "post", "delete"):
                continue
            content = call.get("requestBody", {}).get("content", {})
            bodies = [b"{}"] if content else [b""]
            for kind in content.values():
                for example in [kind.get("example")] + [one.get("value") for one in kind.get("examples", {}).values()]:
                    if example is not None:
                        bodies.append(example.encode() if isinstance(example, str) else json.dumps(example).encode())
            for body in bodies:
                yield request(method.upper().encode(), target, body, basic + b"Content-Type: application/json\r\n")


def console():
    """The pages of the console and their forms, with the session of one operator."""
    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_): return None

    fields = urllib.parse.urlencode({"app_key": key, "secret": secret}).encode()
    try:
        answer = urllib.request.build_opener(Stay).open(url + "/console/sign-in", fields)
    except urllib.error.HTTPError as redirect:
        answer = redirect
    pairs = http.cookies.SimpleCookie(answer.headers["Set-Cookie"])
    cookie = "; ".join(f"{name}={one.value}" for name, one in pairs.items()).encode()
    headers = b"Cookie: " + cookie + b"\r\n"
    seen, waiting = set(), ["/console"]
    while waiting and len(seen) < 60:
        path = waiting.pop()
        if path in seen or "sign-out" in path or path.endswith("/live") or "/assets/" in path:
            continue
        seen.add(path)
        try:
            page = urllib.request.urlopen(urllib.request.Request(url + path, headers={"Cookie": cookie.decode()})).read().decode()
        except urllib.error.HTTPError:
            continue
        yield request(b"GET", path.encode(), headers=headers)
        waiting += [html.unescape(one) for one in re.findall(r'href="(/console[^"#]*)"', page)]
        for action, form in re.findall(r'<form[^>]*action="([^"]+)"[^>]*>(.*?)</form>', page, re.S):
            names = re.findall(r'name="([^"]+)"(?:[^>]*value="([^"]*)")?', form)
            body = urllib.parse.urlencode([(html.unescape(name), html.unescape(value) or "1") for name, value in names]).encode()
            if "sign-out" not in action:
                kind = headers + b"Content-Type: application/x-www-form-urlencoded\r\n"
                yield request(b"POST", html.unescape(action).encode(), body, kind)


def broken(chance, data):
    """Some bytes with a few of them changed."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at = chance.randrange(len(data) + 1)
        way = chance.randrange(4)
        if way == 0 and data:
            data[at % len(data)] = chance.randrange(256)
        elif way == 1:
            data[at:at] = chance.choice(ODD)
        elif way == 2:
            del data[at:at + chance.randrange(1, 9)]
        else:
            data[at:at] = data[:at][-chance.randrange(1, 40):]
    return bytes(data)


def with_number(chance, data):
    found = list(re.finditer(rb"-?\d+(?:\.\d+)?|(?<==)[^&]*", data))
    if not found:
        return data + chance.choice(NUMBERS)
    one = chance.choice(found)
    return data[:one.start()] + chance.choice(NUMBERS) + data[one.end():]


def chunked(chance, body):
    size = b"%x" % len(body)
    form = chance.choice((size, size.upper(), b"0" * 20 + size, size + b";a=b", b"-" + size, b"0x" + size, b"f" * 17, size + b" "))
    end = chance.choice((b"0\r\n\r\n", b"0\r\nA: b\r\n\r\n", b"", b"0\r\n", b"0\n\n"))
    return chance.choice((b"chunked", b"Chunked", b"gzip, chunked", b"chunked, chunked", b"identity", b" chunked")), \
        form + b"\r\n" + body + b"\r\n" + end


def raw(chance, one):
    method, target, headers, body = one
    way = chance.randrange(13)
    version = b"HTTP/1.1"
    hosts = b"Host: " + host.encode() + b"\r\n"
    if way == 0:
        body = broken(chance, body)
        headers = re.sub(rb"Content-Length: \d+", b"Content-Length: %d" % len(body), headers)
    elif way in (1, 2):
        body = with_number(chance, body)
        headers = re.sub(rb"Content-Length: \d+", b"Content-Length: %d" % len(body), headers)
    elif way == 3:
        target = with_number(chance, target + b"?limit=1&after=1&contains=a&name=match-1&state=done")
    elif way == 4:
        target = broken(chance, target)
    elif way == 5:
        headers = broken(chance, headers)
    elif way == 6:
        kind, body = chunked(chance, body)
        kept = chance.choice((headers, re.sub(rb"Content-Length: \d+\r\n", b"", headers)))
        headers = kept + b"Transfer-Encoding: " + kind + b"\r\n"
    elif way == 7:
        length = chance.choice((b"%d" % (len(body) + 1), b"+1", b"-1", b"1e1", b"0x1", b"99999999999999999999", b"1, 2", b" 1 "))
        headers = chance.choice((headers, b"")) + b"Content-Length: " + length + b"\r\n"
    elif way == 8:
        version = chance.choice((b"HTTP/1.0", b"HTTP/2.0", b"HTTP/1.9", b"HTTP/9", b"http/1.1", b""))
        hosts = chance.choice((hosts, b"", hosts * 2, b"Host: \r\n", b"Host: a b\r\n"))
    elif way == 9:
        headers += b"".join(b"X-%d: %s\r\n" % (count, b"a" * chance.choice((1, 100, 4000))) for count in range(chance.randrange(200)))
        headers += chance.choice((b"Idempotency-Key: \xff", b"Accept: \x00", b" folded", b"Upgrade: h2c", b"Expect: 100-continue")) + b"\r\n"
    elif way == 10:
        method = chance.choice((b"OPTIONS", b"HEAD", b"CONNECT", b"TRACE", b"get", b"POST ", b"\x16\x03\x01", method + b"\t"))
    elif way == 12:
        # Very many fields fit into a small form.
        field = chance.choice((b"%d=", b"f:%d=1", b"entry=%d", b"name=%d", b"%d"))
        many = b"&".join(field % number for number in range(chance.choice((10, 1_199, 1_300, 30_000))))
        if chance.randrange(4) == 0:
            target += b"?" + many[:7_000]
        body += b"&" + many
        headers = re.sub(rb"Content-Length: \d+", b"Content-Length: %d" % len(body), headers)
    data = b"%s %s %s\r\n%s%s\r\n%s" % (method, target, version, hosts, headers, body)
    if way == 11:
        data = chance.choice((broken(chance, data), data[:chance.randrange(len(data))], data * chance.randrange(2, 6)))
    return data


def statuses(data):
    """The statuses of the answers in the bytes. Bodies are left out, which may hold anything."""
    found, at = [], 0
    while True:
        head = re.compile(rb"HTTP/1\.[01] (\d{3})[^\r]*\r\n((?:[^\r]+\r\n)*)\r\n").match(data, at)
        if not head:
            return found
        found.append(int(head[1]))
        length = re.search(rb"(?i)content-length: (\d+)", head[2])
        at = head.end() + (int(length[1]) if length else 0)
        if b"chunked" in head[2]:
            at = data.find(b"0\r\n\r\n", at) + 5


def send(data, patience=0.25):
    with socket.create_connection((host, port), timeout=10) as connection:
        connection.settimeout(patience)
        answer = b""
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while some := connection.recv(1 << 16):
                answer += some
        except OSError:
            pass
        return answer


def main():
    seeds = [*api(), *console()]
    print(f"raw_fuzz: {len(seeds)} requests to change, seed {seed}", flush=True)
    counts, faults, slowest = collections.Counter(), [], 0.0
    end = time.monotonic() + seconds

    def run(number):
        nonlocal slowest
        chance = random.Random(seed * 1000 + number)
        while time.monotonic() < end and len(faults) < 20:
            data = raw(chance, chance.choice(seeds))
            try:
                answer = statuses(send(data))
                began = time.monotonic()
                if counts.total() % 16 == 0:
                    # A debug build on a busy machine may be slow. Here only silence counts.
                    if statuses(send(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 30)) != [200]:
                        raise OSError("no answer to /healthz")
                    slowest = max(slowest, time.monotonic() - began)
            except OSError as problem:
                faults.append((str(problem), data))
                continue
            counts.update(answer or ["none"])
            # 501 and 505 name what HTTP/1.1 does not ask of a server.
            faults.extend((status, data) for status in answer if status >= 500 and status not in (501, 505))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    print("raw_fuzz: " + ", ".join(f"{count} x {status}" for status, count in sorted(counts.items(), key=str)))
    print(f"raw_fuzz: /healthz took at most {slowest * 1000:.0f} ms beside them")
    for status, data in faults[:5]:
        print(f"raw_fuzz: {status}: {data[:600]!r}")
    sys.exit(1 if faults else 0)


main()
