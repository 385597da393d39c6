"""Checks the Helm chart; see bin/chart. Everything that the chart sets is held against its source in this tree."""
import copy
import gzip
import http.server
import io
import json
import logging
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import threading

import yaml

tree = pathlib.Path(__file__).resolve().parents[2]
chart_folder = tree / "config/chart/lamplighter"
examples = chart_folder / "examples"

# The oldest one that Chart.yaml admits, one between, and the newest that the package has.
KUBERNETES = ["1.29.0", "1.33.0", "1.37.0"]
# Kinds of operators. Their schemas are not in kubernetes-validate.
FOREIGN = {"ServiceMonitor", "PrometheusRule", "ScaledObject", "HTTPRoute"}
# Findings of checkov that stay. README.md of the chart says why.
EXPLAINED = {"CKV_K8S_35", "CKV_K8S_15"}
DIGEST = {"image": {"digest": "sha256:" + 64 * "0"}}
# What no example has, by name.
CASES = {
    # Each component says something else than all of them, and the variables beside both.
    "narrower": {
        "settings": {"log.level": "info", "log.format": "json", "traces.endpoint": "http://collector:4318",
                     "console.oidc.issuer": "https://id.example.com"},
        "gateway": {"settings": {"log.level": "debug"},
                    "extraEnv": [{"name": "MALLOC_ARENA_MAX", "value": "4"}, {"name": "LAMPLIGHTER_LOG_FORMAT", "value": "ecs"}]},
        "worker": {"settings": {"log.format": "text", "pushes.export": "/exports"},
                   "extraVolumes": [{"name": "exports", "persistentVolumeClaim": {"claimName": "exports"}}],
                   "extraVolumeMounts": [{"name": "exports", "mountPath": "/exports"}]},
        "networkPolicy": {"extraEgress": {name: [{"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}], "ports": [{"port": port}]}]
                                          for name, port in (("gateway", 443), ("worker", 4318))}},
        "prometheusRule": {"enabled": True, "runbooks": "https://wiki.example.com/runbooks.md"},
    },
    # What a platform team asks of each chart.
    "labelled": {
        "commonLabels": {"team": "push"},
        "gateway": {"service": {"type": "LoadBalancer", "loadBalancerSourceRanges": ["192.0.2.0/24"]},
                    "autoscaling": {"enabled": True, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 600}}}},
        "worker": {"autoscaling": {"mode": "cpu"}}, "serviceMonitor": {"enabled": True}, "prometheusRule": {"enabled": True},
        "dashboard": {"enabled": True}, "ingress": {"enabled": True},
    },
    # An app without a file.
    "variables": {
        "config": {"secretName": ""}, "apnsKeys": {"secretName": ""},
        "ingress": {"enabled": True, "console": True, "parentRefs": [{"name": "public", "namespace": "gateways"}]},
    } | {component: {"extraEnv": [
            {"name": "LAMPLIGHTER_APP_KEY", "value": "shop"}, {"name": "LAMPLIGHTER_APP_BUNDLE_ID", "value": "com.example.shop"},
            {"name": name, "valueFrom": {"secretKeyRef": {"name": "shop", "key": "text"}}}]}
         for component, name in (("gateway", "LAMPLIGHTER_APP_SECRET"), ("worker", "LAMPLIGHTER_APNS_KEY"))},
}
problems = []


def check(is_right, text):
    if not is_right:
        problems.append(text)


def values_files():
    return {"values": {}} | CASES | {path.stem: yaml.safe_load(path.read_text()) for path in sorted(examples.glob("*.yaml"))}


def merged(values, more):
    result = copy.deepcopy(values)
    for key, value in more.items():
        result[key] = merged(result.get(key, {}), value) if isinstance(value, dict) else value
    return result


class UniqueKeys(yaml.SafeLoader):
    """A later entry of the same name would silently replace the first."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value]
        for key in set(keys):
            check(keys.count(key) == 1, f"'{key}' stands twice in one object, line {node.start_mark.line}")
        return super().construct_mapping(node, deep)


def render(chart, values, **more):
    """The text of the objects, and the objects."""
    parts = [text for name, text in sorted(chart.render(values, **{"name": "demo", "namespace": "push"} | more).items())
             if name.endswith(".yaml")]
    text = "\n---\n".join(part.strip("\n") for part in parts if part.strip())
    return text, [item for item in yaml.load_all(text, UniqueKeys) if item]


def refusal(chart, values, name="demo"):
    """The error, or None."""
    from helm_python import HelmError
    try:
        chart.render(merged(chart.values, values), name=name, namespace="push")
        chart.validate_schema(values)
    except HelmError as error:
        return str(error)


def pod_of(item):
    return item["spec"]["template"]["spec"] if item["kind"] in ("Deployment", "Job") else None


def documented_settings():
    """The variables of config/lamplighter.yaml, where all settings but those of apps are listed."""
    names, sections = {"LAMPLIGHTER_CONFIG"}, []
    for line in (tree / "config/lamplighter.yaml").read_text().splitlines():
        if found := re.match(r"( *)([a-z_]+):$", line):
            sections = [*sections[:len(found.group(1)) // 2], found.group(2)]
        elif found := re.match(r"((?:  )+)# ([a-z_0-9]+): ", line):
            names.add("_".join(["LAMPLIGHTER", *sections[:len(found.group(1)) // 2], found.group(2)]).upper())
    return names


def check_objects(name, objects):
    known = documented_settings()
    names = {(item["kind"], item["metadata"]["name"]) for item in objects}
    check(len(names) == len(objects), f"{name}: two objects have one name")
    check(not any(kind == "Secret" for kind, _ in names), f"{name}: the chart makes a Secret")
    pods = [(item, pod_of(item)) for item in objects if pod_of(item)]
    variables_of = {item["metadata"]["name"]: pod["containers"][0]["env"] for item, pod in pods}
    for item in objects:
        where = f"{name}: {item['kind']} {item['metadata']['name']}"
        check(item["metadata"].get("namespace") == "push", f"{where} has no namespace")
        spec = item.get("spec", {})
        if target := spec.get("scaleTargetRef"):
            check(("Deployment", target["name"]) in names, f"{where} scales nothing")
            owner = next(one for one in objects if one["metadata"]["name"] == target["name"] and one["kind"] == "Deployment")
            check("replicas" not in owner["spec"], f"{where}: the Deployment sets replicas too")
        if item["kind"] == "Service":
            chosen = [pod for owner, pod in pods if spec["selector"].items() <= owner["spec"]["template"]["metadata"]["labels"].items()]
            ports = [port["name"] for pod in chosen for port in pod["containers"][0].get("ports", [])]
            check(len(chosen) == 1, f"{where} selects {len(chosen)} Deployments")
            check(all(port["targetPort"] in ports for port in spec["ports"]), f"{where} names an unknown port")
        if item["kind"] == "ServiceMonitor":
            chosen = [one for one in objects if one["kind"] == "Service"
                      and spec["selector"]["matchLabels"].items() <= one["metadata"]["labels"].items()]
            check(len(chosen) == 1, f"{where} selects {len(chosen)} Services")
            for endpoint in spec["endpoints"]:
                check(endpoint["port"] in [port["name"] for one in chosen for port in one["spec"]["ports"]], f"{where}: no such port")
                check(re.fullmatch("lamplighter.*", endpoint["relabelings"][0]["replacement"]), f"{where}: no alert knows the job")
        if item["kind"] == "HTTPRoute":
            reached = {(one["metadata"]["name"], port["port"]) for one in objects if one["kind"] == "Service" for port in one["spec"]["ports"]}
            check(all((one["name"], one["port"]) in reached for rule in spec["rules"] for one in rule["backendRefs"]), f"{where} reaches nothing")
    for item, pod in pods:
        where = f"{name}: {item['kind']} {item['metadata']['name']}"
        container, context = pod["containers"][0], pod["containers"][0]["securityContext"]
        check(context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"] and context["runAsNonRoot"]
              and context["capabilities"] == {"drop": ["ALL"]} and context["seccompProfile"] == {"type": "RuntimeDefault"}
              and pod["securityContext"]["runAsUser"] == 10001 and not pod["automountServiceAccountToken"],
              f"{where} has rights that it does not need")
        variables = [one["name"] for one in container["env"]]
        check(len(set(variables)) == len(variables), f"{where}: a variable is set twice")
        for one in container["env"]:
            if one["name"].startswith("LAMPLIGHTER_") and not re.match("LAMPLIGHTER_(APP|APNS|FCM)_", one["name"]):
                check(one["name"] in known, f"{where}: {one['name']} is no setting")
            if re.search("SECRET|REDIS_URL|APNS_KEY$", one["name"]):
                check("value" not in one, f"{where}: {one['name']} is in the open")
        if item["kind"] == "Job":
            component = item["metadata"]["name"].split("-")[-2]
            own = variables_of.get(f"demo-lamplighter-{component}", [])
            own = [one for one in own if one["name"] != "LAMPLIGHTER_REDIS_URL"]
            check(own and all(one in container["env"] for one in own), f"{where} lacks a variable of the {component}")
        volumes = {one["name"] for one in pod["volumes"]}
        check({one["name"] for one in container["volumeMounts"]} == volumes, f"{where}: volumes and mounts differ")


def check_sources(name, objects):
    rules = yaml.safe_load((tree / "config/prometheus-alerts.yaml").read_text())
    dashboard = json.loads((tree / "config/grafana-dashboard.json").read_text())
    records = {rule["record"] for group in rules["groups"] for rule in group["rules"] if "record" in rule}
    seen = set()
    for item in objects:
        seen.add(item["kind"])
        if item["kind"] == "PrometheusRule":
            if runbooks := CASES.get(name, {}).get("prometheusRule", {}).get("runbooks"):
                for alert in [rule for group in rules["groups"] for rule in group["rules"] if "alert" in rule]:
                    alert["annotations"]["runbook_url"] = f"{runbooks}#{alert['annotations'].pop('runbook').split('#')[1]}"
            check(item["spec"] == rules, f"{name}: the rules are not those of config/prometheus-alerts.yaml")
        if item["kind"] == "ConfigMap":
            check(json.loads(item["data"]["lamplighter.json"]) == dashboard, f"{name}: the dashboard is not that of config")
        if item["kind"] == "ScaledObject":
            query = item["spec"]["triggers"][0]["metadata"]["query"]
            check(any(record in query for record in records), f"{name}: no rule records what '{query}' asks for")
    return seen


def check_labelled(objects):
    """A value that a platform team sets is in each object that it is about, and in no selector."""
    for item in objects:
        where = f"labelled: {item['kind']} {item['metadata']['name']}"
        pod = item["spec"].get("template", {}).get("metadata", {}) if "spec" in item else {}
        check(all(one.get("labels", {}).get("team") == "push" for one in (item["metadata"], pod) if one), f"{where} lacks commonLabels")
        check("team" not in json.dumps([item.get("spec", {}).get(name) for name in ("selector", "podSelector")]), f"{where} selects by them")
    gateway = {item["kind"]: item["spec"] for item in objects if item["metadata"]["name"] == "demo-lamplighter-gateway" and "spec" in item}
    check(gateway["Service"].get("loadBalancerSourceRanges") == ["192.0.2.0/24"], "labelled: the load balancer takes everybody")
    check(gateway["HorizontalPodAutoscaler"].get("behavior") == {"scaleDown": {"stabilizationWindowSeconds": 600}}, "labelled: no behavior")


def check_versions():
    about = yaml.safe_load((chart_folder / "Chart.yaml").read_text())
    version = re.search(r'version = "(.*)"', (tree / "Sources/Commands/Terminal/Release.swift").read_text()).group(1)
    check(about["version"] == about["appVersion"] == version, f"Chart.yaml: version and appVersion must be {version}")
    docker = (tree / "config/container/Dockerfile").read_text()
    check("USER 10001:10001" in docker, "the image's user is not the chart's")
    for link in (chart_folder / "files").iterdir():
        check(link.is_symlink() and link.exists(), f"{link.relative_to(tree)} must be a link to its source")


def check_drain(objects):
    worker = next(item for item in objects if item["metadata"]["name"] == "demo-lamplighter-worker" and item["kind"] == "Deployment")
    unit = (tree / "config/systemd/lamplighter-worker@.service").read_text()
    default = re.search(r"# drain_timeout: (\d+)s", (tree / "config/lamplighter.yaml").read_text()).group(1)
    seconds = {one["name"]: one.get("value") for one in pod_of(worker)["containers"][0]["env"]}.get("LAMPLIGHTER_WORKER_DRAIN_TIMEOUT")
    check(seconds == default + "s", "worker.drainTimeoutSeconds is not the program's default")
    grace = pod_of(worker)["terminationGracePeriodSeconds"]
    check(f"TimeoutStopSec={grace}\n" in unit, "a worker's grace differs from that of its systemd unit")
    gateway = next(item for item in objects if item["metadata"]["name"] == "demo-lamplighter-gateway" and item["kind"] == "Deployment")
    stop = re.search(r"TimeoutStopSec=(\d+)", (tree / "config/systemd/lamplighter-gateway.service").read_text()).group(1)
    sleep = pod_of(gateway)["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1]
    check(pod_of(gateway)["terminationGracePeriodSeconds"] == int(stop) + int(sleep), "a gateway's grace differs from that of its unit")


def check_probe(objects):
    """Runs the probe that bash makes against a server that wants the secret."""
    worker = next(pod_of(item) for item in objects if item["metadata"]["name"] == "demo-lamplighter-worker" and item["kind"] == "Deployment")
    command = worker["containers"][0]["readinessProbe"]["exec"]["command"]

    class Ready(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            right = self.path == "/readyz" and self.headers["Authorization"] == "Bearer right"
            self.send_response(200 if right else 401)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Ready)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    command = command[:2] + [command[2].replace("/9090", f"/{server.server_port}")]
    for secret, expected in (("right", True), ("wrong", False)):
        done = subprocess.run(command, env={"PATH": os.environ["PATH"], "LAMPLIGHTER_MONITOR_SECRET": secret}, capture_output=True)
        check((done.returncode == 0) == expected, f"the readiness probe ends with {done.returncode} for the {secret} secret")
    server.shutdown()


def check_schema(chart):
    wrong = [
        {"gateway": {"replica": 3}}, {"settings": {"redis.url": "redis://:password@host"}}, {"settings": {"monitor.secret": "x"}},
        {"image": {"digest": "latest"}}, {"worker": {"autoscaling": {"mode": "yes"}}}, {"settings": {"worker.lanes": 4}},
        {"redis": {"tls": {"certKey": "tls.crt"}}}, {"networkPolicy": {"apnsCIDRs": ["api.push.apple.com"]}},
        *({"settings": {name: "x"}} for name in ("worker.lane", "app.master_secret", "apns.key", "traces.headers", "console.oidc.client_secret")),
    ]
    for values in wrong:
        check(refusal(chart, values), f"values.schema.json takes {json.dumps(values)}")
    # A policy that closes what a setting needs names the rule that opens it.
    for setting, component in (("console.oidc.issuer", "gateway"), ("traces.endpoint", "gateway"), ("traces.endpoint", "worker")):
        open_ = {one: [{"ports": [{"port": 443}]}] for one in ("gateway", "worker") if one != component}
        for values in ({"settings": {setting: "https://x.example.com"}}, {component: {"settings": {setting: "https://x.example.com"}}}):
            error = refusal(chart, values | {"networkPolicy": {"extraEgress": open_}}) or ""
            check(f"networkPolicy.extraEgress.{component}" in error, f"{json.dumps(values)}: {error}")
            check(not refusal(chart, values | {"networkPolicy": {"enabled": False}}), f"{json.dumps(values)} needs the policies")
    for name in ("LAMPLIGHTER_APP_WEBHOOK_URL", "LAMPLIGHTER_FCM_SERVICE_ACCOUNT_FILE"):
        values = {component: {"extraEnv": [{"name": name, "value": "x"}]} for component in ("gateway", "worker")}
        error = refusal(chart, values) or ""
        check("networkPolicy.extraEgress.worker" in error, f"{json.dumps(values)}: {error}")


def check_names(chart):
    """Kubernetes allows 63 characters, and no dot or digit at the beginning of a Service's name."""
    for name in ("a" * 36, "a" * 53, "a" * 46 + "-b", "my.release", "lamplighter"):
        for values in ({}, {"fullnameOverride": name}):
            for item in render(chart, merged(values_files()["sentinel"], values), name=name)[1]:
                found = item["metadata"]["name"]
                check(re.fullmatch("[a-z]([-a-z0-9]{0,61}[a-z0-9])?", found), f"{name}: {item['kind']} {found} is no name")
    check("fullnameOverride" in (refusal(chart, {}, name="1st") or ""), "a release whose name begins with a digit is not refused")


def checkov(texts, work):
    """Runs checkov on the objects as they are rendered. Returns how many of its rules passed."""
    for name, text in texts.items():
        (work / f"{name}.yaml").write_text(text)
    done = subprocess.run(
        [tree / ".build/chart/checkov/bin/checkov", "--directory", work, "--framework", "kubernetes", "secrets", "--output", "json",
         "--compact", "--quiet", "--skip-download", "--skip-check", ",".join(sorted(EXPLAINED))],
        capture_output=True, text=True, env=os.environ | {"LOG_LEVEL": "ERROR"})
    try:
        reports = json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"bin/chart: checkov ended with {done.returncode}: {done.stderr[-2000:]}")
    reports = [one for one in (reports if isinstance(reports, list) else [reports]) if "results" in one]
    for one in reports:
        for finding in one["results"]["failed_checks"]:
            problems.append(f"checkov: {finding['check_id']} {finding['check_name']}: {finding['resource']} in {finding['file_path']}")
        check(not one["results"].get("parsing_errors"), "checkov could not read the objects")
    passed = sum(one["summary"]["passed"] for one in reports)
    check(passed > 0, "checkov checked nothing")
    return passed


def same_bytes(archive):
    """Helm writes the time at which it runs into its archive. Write the commit's time, so that the archive can be made again."""
    time = int(os.environ["SOURCE_DATE_EPOCH"])
    with tarfile.open(archive) as old:
        entries = [(entry, old.extractfile(entry).read()) for entry in old]
    with open(archive, "wb") as file, gzip.GzipFile("", "wb", mtime=time, fileobj=file) as packed, \
            tarfile.open(fileobj=packed, mode="w") as new:
        for entry, content in sorted(entries, key=lambda one: not one[0].name.endswith("/Chart.yaml")):
            entry.mtime, entry.pax_headers = time, {}
            new.addfile(entry, io.BytesIO(content))
    return archive


def main():
    logging.disable(logging.INFO)
    from helm_python import Chart, helm_sdk_version, lint
    import kubernetes_validate
    chart = Chart.load(chart_folder)
    job, *rest = sys.argv[1:]
    if job == "package":
        pathlib.Path(rest[0]).mkdir(parents=True, exist_ok=True)
        return print(same_bytes(chart.save(rest[0])))
    if job == "run":
        import chart_run
        chart_run.run(tree, rest[0], lambda values: render(chart, values)[1])
        return print("bin/chart: ✓ the program runs with the chart's variables, probes and jobs")
    files = values_files()
    if job == "render":
        if rest[0] not in files:
            sys.exit(f"bin/chart: there is no examples/{rest[0]}.yaml; there are {', '.join(files)}")
        return print(render(chart, files[rest[0]])[0])

    check_versions()
    check_schema(chart)
    check_names(chart)
    kinds, texts, count = set(), {}, 0
    for name, values in files.items():
        report = lint(chart_folder, values, strict=True)
        for message in report["messages"]:
            # An icon is for catalogues.
            check(message["severity"] < 2, f"{name}: lint: {message['path']}: {message['error']}")
        text, objects = render(chart, merged(values, DIGEST))
        texts[name] = text
        check_objects(name, objects)
        kinds |= check_sources(name, objects)
        if name == "values":
            check_drain(objects)
        if name == "sentinel":
            check_probe(objects)
        if name == "labelled":
            check_labelled(objects)
        for item in objects:
            if item["kind"] in FOREIGN:
                continue
            count += 1
            for version in KUBERNETES:
                try:
                    kubernetes_validate.validate(item, version, strict=True)
                except Exception as error:
                    problems.append(f"{name}: {item['kind']} {item['metadata']['name']} in {version}: {str(error).splitlines()[0]}")
    check(FOREIGN | {"Ingress", "HorizontalPodAutoscaler", "NetworkPolicy", "PodDisruptionBudget", "Job", "ConfigMap"} <= kinds,
          "no file of examples/ makes every kind of object")
    with tempfile.TemporaryDirectory() as work:
        passed = checkov(texts, pathlib.Path(work))
    if problems:
        print("\n".join(dict.fromkeys(problems)))
        sys.exit(f"bin/chart: ✗ {len(set(problems))} problems")
    print(f"bin/chart: ✓ Helm {helm_sdk_version()}: {len(files)} files of values; {count} objects fit Kubernetes {', '.join(KUBERNETES)}; "
          f"{passed} checks of checkov passed")


main()
