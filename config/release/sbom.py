"""Writes sbom.cdx.json (CycloneDX) and LICENSES/ of a build: what was linked in, and which of the system's libraries it loads.

sbom.py BINARY LINKED VERSION TIME DIRECTORY <dependencies.json

LINKED lists the object files that were linked. dependencies.json is of `swift package show-dependencies --format json`.
Nothing is typed in by hand: versions come from these two, from the compiler and from dpkg.
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

binary, linked, version, time, directory = sys.argv[1:]
directory = pathlib.Path(directory)


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def licence(text):
    if "Apache License" in text and "Version 2.0" in text:
        return "Apache-2.0 WITH Swift-exception" if "Runtime Library Exception" in text else "Apache-2.0"
    if "Permission is hereby granted, free of charge" in text:
        return "MIT"
    sys.exit("bin/release: config/release/sbom.py knows no licence with this text: " + text[:200])


def keep(name, folder):
    """Copies the licence and notices of a component. Returns the licence's name."""
    found = sorted(path for path in folder.iterdir() if re.match(r"(?i)(license|notice|copying)", path.name))
    licences = [path for path in found if not path.name.lower().startswith("notice")]
    if not licences:
        sys.exit(f"bin/release: {folder} has no licence")
    for path in found:
        target = directory / "LICENSES" / name / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    return licence(licences[0].read_text())


def component(name, version, purl, expression=None):
    found = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    if expression:
        found["licenses"] = [{"expression": expression}]
    return found


def packages(node):
    for one in node["dependencies"]:
        yield one
        yield from packages(one)


# The packages with a module that was linked. Others were only looked at, such as those of a package's tests.
modules = set(re.findall(r"/([^/]+)\.build/", pathlib.Path(linked).read_text()))
root = json.load(sys.stdin)
inside = []
for package in {one["identity"]: one for one in packages(root)}.values():
    folder = pathlib.Path(package["path"])
    if any((folder / "Sources" / module).is_dir() for module in modules):
        place = re.sub(r"^https://|\.git$", "", package["url"])
        purl = f"pkg:swift/{place}@{package['version']}"
        inside.append(component(package["identity"], package["version"], purl, keep(package["identity"], folder)))

compiler = re.search(r"Swift version ([0-9.]+)", output("swift", "--version")).group(1)
swift = pathlib.Path(os.path.realpath(output("which", "swift").strip())).parents[1] / "share/swift"
inside.append(component("swift", compiler, f"pkg:github/swiftlang/swift@swift-{compiler}-RELEASE", keep("swift", swift)))

# The system's libraries that the binary loads, and their packages.
distribution = dict(re.findall(r'^(\w+)="?([^"\n]*)', pathlib.Path("/etc/os-release").read_text(), re.M))
outside = {}
for path in re.findall(r"=> (/\S+)", output("ldd", binary)):
    # dpkg knows a library by the place where its package put it, with or without /usr.
    for name in {path, os.path.realpath(path), re.sub(r"^/usr", "", os.path.realpath(path)), "/usr" + path}:
        answer = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True).stdout
        if answer:
            break
    else:
        sys.exit(f"bin/release: no package owns {path}")
    package = answer.split(": ")[0]
    found, architecture = output("dpkg-query", "-W", "-f", "${Version} ${Architecture}", package).split()
    package = package.split(":")[0]
    purl = (f"pkg:deb/{distribution['ID']}/{package}@{found}?arch={architecture}"
            f"&distro={distribution['ID']}-{distribution['VERSION_ID']}")
    direct = os.path.basename(path) in output("readelf", "-d", binary)
    outside[purl] = component(package, found, purl) | {"scope": "required" if direct else "optional"}

own = component("lamplighter", version, f"pkg:generic/lamplighter@{version}", keep("lamplighter", pathlib.Path(root["path"])))
own["type"] = "application"
own["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(pathlib.Path(binary).read_bytes()).hexdigest()}]
components = sorted(inside, key=lambda one: one["name"]) + sorted(outside.values(), key=lambda one: one["name"])
bom = {
    "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
    "metadata": {"timestamp": time, "component": own},
    "components": components,
    "dependencies": [{"ref": own["bom-ref"], "dependsOn": [one["bom-ref"] for one in components]}],
}
(directory / "sbom.cdx.json").write_text(json.dumps(bom, indent=1) + "\n")
print(f"{len(inside)} components inside, {len(outside)} packages of the system beside it")
