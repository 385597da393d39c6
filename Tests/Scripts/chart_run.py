"""Runs a gateway, a worker and the chart's jobs as the chart starts them, but for the container; see bin/chart --run."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from free_port import free_port

SECRETS = {"lamplighter-redis": {"url": "redis://127.0.0.1:{redis}/0"}, "lamplighter-monitor": {"secret": "secret-of-the-monitor"}}
SETTINGS = """apps:
  - key: shop
    secret: 0123456789abcdef0123
    master_secret: fedcba98765432100123
    bundle_id: com.example.shop
    defaults:
      device_tags: false
    apns:
      team_id: LAMPLIGHT1
      key_id: SIMULATOR1
      key_file: AuthKey_SIMULATOR1.p8
      url: https://127.0.0.1:{apns}
      manage_url: https://127.0.0.1:{manage}
      ca_file: ca.pem
"""


def wait_for(what, text):
    deadline = time.time() + 60
    while not what():
        if time.time() > deadline:
            sys.exit(f"bin/chart: ✗ {text}")
        time.sleep(0.1)


class Deployment:
    def __init__(self, tree, binary, objects, work):
        self.tree, self.binary, self.objects, self.work = tree, binary, objects, work
        self.ports = {name: free_port() for name in ("redis", "apns", "manage", "control")}
        self.folder, self.processes = work / "etc", []

    def mount(self, name):
        """A Secret as a kubelet mounts it: links to ..data, a link to a dated directory that is replaced at once."""
        dated = self.folder / f"..{name}"
        dated.mkdir(parents=True)
        for file in ("ca.pem", "AuthKey_SIMULATOR1.p8"):
            shutil.copy(self.work / "apns" / file, dated)
            (dated / file).chmod(0o440)
        (dated / "lamplighter.yaml").write_text(SETTINGS.format(**self.ports))
        (dated / "lamplighter.yaml").chmod(0o440)
        (self.folder / "..data_tmp").symlink_to(dated.name)
        (self.folder / "..data_tmp").rename(self.folder / "..data")
        for file in dated.iterdir():
            if not (self.folder / file.name).is_symlink():
                (self.folder / file.name).symlink_to(f"..data/{file.name}")

    def container(self, kind, end, of=None):
        return next(one["spec"]["template"]["spec"]["containers"][0] for one in self.objects[of or end.split("-")[0]]
                    if one["kind"] == kind and one["metadata"]["name"].endswith(end))

    def environment(self, container):
        result = {"PATH": f"{self.binary.parent}:{os.environ['PATH']}"}
        for one in container["env"]:
            if "value" in one:
                text = one["value"]
            else:
                reference = one["valueFrom"]["secretKeyRef"]
                text = SECRETS[reference["name"]][reference["key"]].format(**self.ports)
            result[one["name"]] = text.replace("/etc/lamplighter/", f"{self.folder}/")
        return result

    def start(self, name, command, environment=None):
        log = open(self.work / f"{name}.log", "w")
        process = subprocess.Popen(command, cwd=self.work, env=environment, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def log(self, name):
        return (self.work / f"{name}.log").read_text()

    def job(self, end, of=None):
        container = self.container("Job", end, of)
        command = ["/bin/bash", "-c", container["command"][2]]
        return subprocess.run(command, cwd=self.work, env=self.environment(container), capture_output=True, text=True)

    def end(self, process, number):
        process.send_signal(number)
        return process.wait(timeout=40)

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()


def status(port, path):
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5).status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def check_pod(run, name, process):
    """The probes of a pod, in the order of a kubelet."""
    container = run.container("Deployment", name)
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}

    def asked(probe):
        where = container[probe]["httpGet"]
        return status(ports[where["port"]], where["path"]) == 200

    wait_for(lambda: asked("startupProbe") or process.poll() is not None, f"{name} does not start: {run.log(name)}")
    assert process.poll() is None, run.log(name)
    assert asked("livenessProbe"), f"{name} does not live"
    assert status(ports["monitor"], "/readyz") == 401, f"{name}: /readyz needs no secret"
    probe = subprocess.run(container["readinessProbe"]["exec"]["command"], env=run.environment(container), capture_output=True, text=True)
    assert probe.returncode == 0, f"{name} is not ready: {probe.stderr}"
    print(f"  ✓ {name} starts, lives, and is ready by its secret", flush=True)


def run(tree, binary, render):
    """`render` makes objects of values."""
    binary = pathlib.Path(binary).resolve()
    more = {"monitor": {"secretName": "lamplighter-monitor"}, "listenAddress": "127.0.0.1"}
    objects = {}
    # All pods share one address here.
    for name in ("gateway", "worker"):
        values = {**more, "monitor": {**more["monitor"], "port": free_port()}, "gateway": {"port": free_port(), "preStopSeconds": 0}}
        objects[name] = render(values)
    objects["wrong"] = render({**more, "worker": {"settings": {"worker.lanes": "abc"}}})
    with tempfile.TemporaryDirectory(prefix="lamplighter-chart.") as work:
        work = pathlib.Path(work)
        deployment = Deployment(tree, binary, objects, work)
        try:
            story(deployment)
        except AssertionError as error:
            sys.exit(f"bin/chart: ✗ {error}")
        finally:
            deployment.close()


def story(run):
    ports = run.ports
    run.start("redis", ["redis-server", str(run.tree / "config/redis.conf"), "--port", str(ports["redis"]), "--dir", str(run.work)])
    run.start("simulator", [str(run.binary), "simulate", "--port", str(ports["apns"]), "--manage-port", str(ports["manage"]),
                            "--control-port", str(ports["control"]), "--directory", str(run.work / "apns")])
    wait_for(lambda: "what the tokens received" in run.log("simulator"), "the simulator does not start")
    run.mount("1")
    pods = {}
    for name, command in (("gateway", "serve"), ("worker", "work")):
        container = run.container("Deployment", name)
        assert container["args"] == [command]
        pods[name] = run.start(name, [str(run.binary), command], run.environment(container))
        check_pod(run, name, pods[name])

    for component in ("gateway", "worker"):
        done = run.job(f"{component}-doctor")
        assert done.returncode == 0 and "✗" not in done.stdout and "!" not in done.stdout, f"helm test: {done.stdout}{done.stderr}"
        assert run.job(f"{component}-upgrade").returncode == 0, "an upgrade is stopped without a reason"
    done = run.job("worker-upgrade", "wrong")
    assert done.returncode != 0 and "worker.lanes" in done.stdout, f"a wrong setting of the workers does not stop an upgrade: {done.stdout}"
    print("  ✓ the tests and the jobs before an upgrade pass, and a wrong setting of one component stops it", flush=True)

    key = run.work / "apns/AuthKey_SIMULATOR1.p8"
    made = ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", str(key)]
    subprocess.run(made, check=True, capture_output=True)
    run.mount("2")
    shutil.rmtree(run.folder / "..1")
    wait_for(lambda: "read changed files again" in run.log("worker"), f"the worker does not see a changed Secret: {run.log('worker')}")
    print("  ✓ the worker reads a changed Secret", flush=True)

    assert run.end(pods["gateway"], signal.SIGTERM) == 0, run.log("gateway")
    print("  ✓ the gateway ends SIGTERM with 0", flush=True)

    subprocess.run(["redis-cli", "-p", str(ports["redis"]), "hset", "ll:meta", "format", "999"], check=True, capture_output=True)
    assert run.job("gateway-upgrade").returncode != 0, "a rollback behind a newer format is not stopped"
    assert pods["worker"].wait(timeout=40) == 78, run.log("worker")
    print("  ✓ behind a newer format the job stops a rollback, and the worker ends with 78", flush=True)
