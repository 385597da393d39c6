"""The second stage of Dockerfile without a container engine: its RUN lines run in a fresh Debian root (debootstrap).

`image` packs what it makes, `try` runs it.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
tree = here.parents[1]
mounted = []


def fail(text):
    sys.exit(f"  ✗ {text}")


def good(text):
    print(f"  ✓ {text}", flush=True)


def sh(command, **more):
    done = subprocess.run(command, shell=isinstance(command, str), capture_output=True, text=True, **more)
    if done.returncode:
        fail(f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout.strip()


def base(suite):
    """A fresh Debian, made once."""
    return sh([str(tree / "config/debian/root"), suite])


def second_stage():
    """The suite of Debian, and the instructions of the image that is shipped as pairs of a word and its rest."""
    text = re.sub(r"(?m)^#.*\n", "", (here / "Dockerfile").read_text()).replace("\\\n", "")
    lines = text.split("\nFROM ")[-1].splitlines()[1:]
    return re.search(r"ARG DEBIAN=debian:(\w+)-slim", text).group(1), [tuple(line.split(" ", 1)) for line in lines if line.strip()]


def version():
    return re.search(r'version = "(.*)"', (tree / "Sources/Commands/Terminal/Release.swift").read_text()).group(1)


def program():
    """The program that bin/release made."""
    path = tree / f".build/dist/lamplighter-{version()}-linux-{os.uname().machine}/lamplighter"
    if not path.exists():
        fail(f"there is no {path.relative_to(tree)}: run bin/release first")
    return path


class Root:
    """A directory with changes of its own. `changes` has what differs."""

    def __init__(self, name, lower, work):
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        (self.changes, overlay, self.root) = (work / f"{name}-{part}" for part in ("changes", "overlay", "root"))
        for path in (self.changes, overlay, self.root):
            path.mkdir()
        sh(["mount", "-t", "overlay", "overlay", "-o", f"lowerdir={lower},upperdir={self.changes},workdir={overlay}", str(self.root)])
        mounted.append(self.root)

    def run(self, text):
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        return sh(["unshare", "--mount", "--pid", "--fork", "sh", "-c",
            f"mount -t proc proc {self.root}/proc && exec chroot {self.root} sh -ec {shlex.quote(text)}"],
           env=self.environment | {"DEBIAN_FRONTEND": "noninteractive", "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", "0")})


class Stage(Root):
    """What the second stage makes. `copied` are the paths that COPY made, `config` is the image's configuration."""

    def __init__(self, work, program):
        suite, instructions = second_stage()
        super().__init__("stage", base(suite), work)
        self.copied = []
        self.config = {"Env": [f"PATH={self.environment['PATH']}"]}
        for word, rest in instructions:
            if word == "RUN":
                self.run(rest)
            elif word == "COPY":
                source, target = rest.replace("--from=build ", "").split()
                source = program if source == "/image/lamplighter" else tree / source
                target = target.lstrip("/") + ("" if not target.endswith("/") else source.name)
                (self.root / target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, self.root / target)
                self.copied.append(target)
            elif word == "ENV":
                self.config["Env"] += shlex.split(rest)
            elif word == "USER":
                self.config["User"] = rest
            elif word == "EXPOSE":
                self.config["ExposedPorts"] = {f"{rest}/tcp": {}}
            elif word == "STOPSIGNAL":
                self.config["StopSignal"] = rest
            elif word == "HEALTHCHECK":
                options, check = rest.split(" CMD ")
                self.config["Healthcheck"] = {"Test": ["CMD"] + json.loads(check)} | {
                    "".join(part.title() for part in name.split("-")): int(seconds) * 10**9
                    for name, seconds in re.findall(r"--([a-z-]+)=(\d+)s", options)}
            elif word in ("ENTRYPOINT", "CMD"):
                self.config[word.title()] = json.loads(rest)
            else:
                fail(f"Dockerfile: {word} is not known here")


def clean_up(work):
    for root in mounted:
        subprocess.run(["umount", str(root)], capture_output=True)
    shutil.rmtree(work, ignore_errors=True)
