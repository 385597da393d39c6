"""Provokes each alert of config/prometheus-alerts.yaml once: a real Prometheus scrapes a real deployment that has the
faults of the simulator, of Redis and of processes. Started by bin/alerts. The only changes to the rules are their times:
what takes minutes at night takes seconds here."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

from free_port import free_port
from processes import Processes

binary, work, only = sys.argv[1], sys.argv[2], sys.argv[3:]
SECRET, MASTER = "app-secret-0123456789", "master-secret-0123456789"
PATIENCE = 150


ports = {
    name: free_port()
    for name in ["redis", "gateway", "worker", "second", "prometheus", "webhook", "tls", "monitor"]}
processes = Processes("bin/alerts", work, PATIENCE)
start, stop, until = processes.start, processes.stop, processes.until


def call(method, url, body=None, user=None):
    request = urllib.request.Request(url, method=method, data=None if body is None else json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    if user:
        import base64
        request.add_header("Authorization", "Basic " + base64.b64encode(user.encode()).decode())
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def api(method, path, body=None):
    return call(method, f"http://127.0.0.1:{ports['gateway']}{path}", body, f"shop:{MASTER}")


def follow(name, count=1, seed=0):
    for number in range(count):
        token = f"{seed:04x}{number:060x}"
        status, text = api("PUT", f"/api/activities/{name}/channels/{name}-{number}", {"token": token})
        assert status == 200, text


def publish(name, **options):
    activity = {"name": name, "event": "update", "content_state": {"at": time.time()}, **options}
    return api("POST", "/api/push", {
        "audience": "all", "device_types": ["ios"], "notification": {"ios": {"live_activity": activity}}})[0]


def command(*arguments):
    return subprocess.run([binary, *arguments], env=environment, capture_output=True, text=True, timeout=120)


def faults(**fields):
    status, text = call("POST", announced["control_url"] + "/simulator/faults", fields)
    assert status == 200, text


def requests_in_flight():
    return json.loads(call("GET", announced["control_url"] + "/simulator/record")[1])["in_flight"] > 0


def redis(*arguments):
    return subprocess.run(
        ["redis-cli", "-p", str(ports["redis"]), *arguments], capture_output=True, text=True).stdout.strip()


def start_redis():
    start("redis", [
        "redis-server", "config/redis.conf", "--port", str(ports["redis"]), "--dir", work, "--save", "",
        "--appendonly", "no", "--logfile", ""])
    until("Redis answers", lambda: redis("ping") == "PONG")


def start_gateway():
    start("gateway", [binary, "serve", "--port", str(ports["gateway"])], **environment)
    until("the gateway answers", lambda: api("GET", "/healthz")[0] == 200)


def start_worker(name="worker", **more):
    start(name, [binary, "work", "--name", name, "--port", str(ports[name])], **{**environment, **more})
    until("a worker answers", lambda: call("GET", f"http://127.0.0.1:{ports[name]}/healthz")[0] == 200)


def metrics():
    return call("GET", f"http://127.0.0.1:{ports['gateway']}/metrics")[1].decode()


def restart_worker():
    stop("worker")
    start_worker()


seen = set()


def firing():
    answer = json.loads(call("GET", f"http://127.0.0.1:{ports['prometheus']}/api/v1/alerts")[1])
    return {alert["labels"]["alertname"] for alert in answer["data"]["alerts"] if alert["state"] == "firing"}


def expect(alert, again=None):
    """Waits until an alert fires. `again` repeats its cause now and then."""
    began = time.monotonic()

    def fires():
        if again:
            again()
        seen.update(firing())
        return alert in seen

    until(f"{alert} fires", fires)
    print(f"✓ {alert} fires ({time.monotonic() - began:.0f} s)", flush=True)


def rules():
    text = open("config/prometheus-alerts.yaml").read()
    text = re.sub(r"for: \d+m", "for: 1s", text)
    text = re.sub(r"\[\d+m\]", "[15s]", text)
    # Work that has waited for a minute: five seconds here.
    text = text.replace("> 60", "> 5")
    open(f"{work}/rules.yaml", "w").write(text)
    return set(re.findall(r"- alert: (\w+)", text))


def start_prometheus():
    targets = {"gateway": ["gateway", "monitor"], "worker": ["worker", "second"]}
    jobs = "".join(
        f"  - job_name: lamplighter-{job}\n    static_configs:\n      - targets: "
        + json.dumps([f"127.0.0.1:{ports[name]}" for name in names]) + "\n" for job, names in targets.items())
    open(f"{work}/prometheus.yml", "w").write(
        "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
        f"rule_files: [{work}/rules.yaml]\nscrape_configs:\n{jobs}")
    subprocess.run(["promtool", "check", "config", f"{work}/prometheus.yml"], check=True, stdout=subprocess.DEVNULL)
    start("prometheus", [
        "prometheus", f"--config.file={work}/prometheus.yml", f"--storage.tsdb.path={work}/tsdb",
        f"--web.listen-address=127.0.0.1:{ports['prometheus']}", "--log.level=error"])
    until("Prometheus answers", lambda: firing() is not None)


def without_a_worker():
    expect("LamplighterNoWorkers")
    for number in range(8):
        follow(f"early-{number}")
        publish(f"early-{number}")
    assert command("publish", "early-0", "--content-state", "{}", "--at", "+2s").returncode == 0
    expect("LamplighterQueueAges")
    expect("LamplighterSchedulesBehind")
    # No gateway reads the intake here.
    redis("XADD", "ll:in:{shop}", "*", "push", "{}")
    expect("LamplighterIntakeBehind")
    redis("DEL", "ll:in:{shop}")
    rejected_entries()
    numbers = iter(range(1_000_000))
    expect("LamplighterQueueFull", lambda: [publish(f"more-{next(numbers)}") for _ in range(10)])
    start_worker()
    until("the queue is empty", lambda: "LamplighterQueueAges" not in firing())


def rejected_entries():
    """A second gateway reads the intake, in which each entry is wrong."""
    start("monitor", [binary, "serve", "--port", str(ports["monitor"])], **{
        **environment, "LAMPLIGHTER_GATEWAY_INTAKE": "true"})
    expect("LamplighterIntakeRejects", lambda: redis("XADD", "ll:in:{shop}", "*", "push", "{}"))
    stop("monitor")
    redis("DEL", "ll:in:{shop}")


def silent_worker():
    start_worker("second")
    until("the second worker's heartbeat", lambda: 'state="live"} 2' in metrics())
    processes["second"].send_signal(signal.SIGSTOP)
    expect("LamplighterWorkerSilent")
    stop("second")


def slow_apns():
    follow("slow")
    faults(latency_ms=6_500)
    expect("LamplighterSlowFirstToken", lambda: publish("slow"))
    faults()


def errors_of_apns():
    follow("errors", 30, 1)
    faults(rejections={"ServiceUnavailable": 1})
    expect("LamplighterAPNsErrors", lambda: publish("errors", alert={"title": "t", "body": "b"}))
    faults(reset_share=1, reset_delivers=True)
    follow("twice", 30, 2)
    expect("LamplighterDuplicates", lambda: publish("twice", alert={"title": "t", "body": "b"}))
    faults(reject_all="TopicDisallowed")
    numbers = iter(range(1_000_000))

    def fail():
        name = f"refused-{next(numbers)}"
        follow(name)
        publish(name)

    expect("LamplighterDeadLetters", fail)
    faults()


def dead_tokens():
    follow("wrong", 60, 3)
    follow("gone", 60, 4)
    faults(dead_tokens=[{"prefix": "0004", "reason": "Unregistered"}, {"prefix": "0003", "reason": "BadDeviceToken"}])
    publish("gone")
    publish("wrong")
    expect("LamplighterPruneGuard")
    faults()


def expired():
    stop("worker")
    follow("late")
    assert command("publish", "late", "--content-state", "{}", "--expiry", "+2s").returncode == 0
    time.sleep(3)
    start_worker()
    expect("LamplighterExpired")


def refused_credentials():
    follow("halt")
    faults(reject_all="InvalidProviderToken")
    expect("LamplighterCredentialsRefused", lambda: publish("halt"))
    faults()
    restart_worker()
    publish("halt")


def unreachable_apns():
    follow("away")
    stop("worker")
    faults(refuse_connections=True)
    start_worker()
    expect("LamplighterAPNsUnreachable", lambda: publish("away"))
    faults()
    restart_worker()
    publish("away")


def poison():
    """Workers die over one task again and again: each is killed while it waits for APNs. Later its lease is no longer held,
    since a request without an answer leaves its page soon."""
    follow("poison")
    faults(stall_share=1)
    publish("poison")

    def kill():
        if requests_in_flight():
            stop("worker", signal.SIGKILL)
            until("its connections are closed", lambda: not requests_in_flight())
            start_worker()

    expect("LamplighterPoisonTask", kill)
    faults()
    restart_worker()


def webhook():
    """The app's webhook is a closed port, and the alarm comes after a minute."""
    expect("LamplighterAlarm", lambda: publish("early-1"))


def full_redis():
    used = int(re.search(r"used_memory:(\d+)", redis("info", "memory")).group(1))
    redis("config", "set", "maxmemory", str(int(used * 1.04)))
    expect("LamplighterRedisFull")
    redis("config", "set", "maxmemory", str(used // 2))
    expect("LamplighterRedisRefusesWrites", lambda: publish("early-2"))
    expect("LamplighterGatewayErrors", lambda: [publish("early-3") for _ in range(20)])
    redis("config", "set", "maxmemory", "0")


def busy_redis():
    loop = (
        "local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end "
        "local start = now() while now() - start < 900 do end")
    expect("LamplighterRedisBusy", lambda: [redis("eval", loop, "0") for _ in range(3)])


def certificate():
    """A second gateway, whose certificate expires tomorrow. Its metrics have a port without TLS."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", f"{work}/tls.key",
         "-out", f"{work}/tls.pem"], check=True, capture_output=True)
    start("tls", [binary, "serve", "--port", str(ports["tls"])], **{
        **environment, "LAMPLIGHTER_GATEWAY_CERT_FILE": f"{work}/tls.pem",
        "LAMPLIGHTER_GATEWAY_KEY_FILE": f"{work}/tls.key", "LAMPLIGHTER_MONITOR_PORT": str(ports["monitor"])})
    expect("LamplighterCertificateEnds")
    stop("tls")


def no_redis():
    stop("redis", signal.SIGKILL)
    expect("LamplighterRedisAway")
    start_redis()


def files_and_processes():
    pid = processes["gateway"].pid
    count = len(os.listdir(f"/proc/{pid}/fd"))
    hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (count + 4, hard))
    expect("LamplighterFilesFull")
    stop("gateway", signal.SIGKILL)
    expect("LamplighterProcessDown")


def ended(*_):
    # The `finally` below ends the processes.
    raise SystemExit(143)


signal.signal(signal.SIGTERM, ended)
steps = [
    without_a_worker, silent_worker, slow_apns, errors_of_apns, dead_tokens, expired, refused_credentials,
    unreachable_apns, poison, webhook, full_redis, busy_redis, certificate, no_redis, files_and_processes,
]
announced = {}
environment = {}
try:
    alerts = rules()
    start_redis()
    start("simulator", [binary, "simulate", "--json", "--port", "0", "--directory", f"{work}/apns"])
    until("the simulator listens", lambda: announced.update(json.load(open(f"{work}/simulator.out"))) or True)
    with open(f"{work}/lamplighter.yaml", "w") as file:
        file.write(f"""
redis: {{url: "redis://127.0.0.1:{ports['redis']}/0"}}
gateway: {{max_queue: 20}}
worker: {{claim_after: 2s}}
guard: {{answers: 20}}
events: {{keep: 1000}}
apps:
  - key: shop
    secret: {SECRET}
    master_secret: {MASTER}
    bundle_id: com.example.shop
    webhook:
      url: http://127.0.0.1:{ports['webhook']}/
      secret: hook-secret-0123456789
      events: done, failed
      allow_http: true
      allow_private: true
    apns:
      team_id: {announced['team_id']}
      key_id: {announced['key_id']}
      key_file: {announced['key_file']}
      url: {announced['url']}
      manage_url: {announced['manage_url']}
      ca_file: {announced['ca_file']}
""")
    environment.update(
        {"LAMPLIGHTER_CONFIG": f"{work}/lamplighter.yaml", "PATH": os.environ["PATH"],
         "LAMPLIGHTER_GATEWAY_URL": f"http://127.0.0.1:{ports['gateway']}"})
    start_gateway()
    start_prometheus()
    chosen = [step for step in steps if not only or step.__name__ in only or step is without_a_worker]
    for step in chosen:
        step()
    missing = set() if only else alerts - seen
    if missing:
        raise SystemExit(f"bin/alerts: ✗ did not fire: {', '.join(sorted(missing))}")
    print(f"bin/alerts: ✓ {len(seen)} of {len(alerts)} alerts fired")
finally:
    for name in list(processes):
        stop(name, signal.SIGKILL)
