"""Compares the versions of dependencies that this build takes with those that were tested (versions.json).

versions.py             exit code 1 if one differs
versions.py --accept    writes down what Package.resolved has, after `swift package update` and all tests

Package.swift names ranges, so that another day's build could be another program. versions.json has the form of
Package.resolved: the image copies it there before it builds.
"""

import json
import pathlib
import shutil
import sys

here = pathlib.Path(__file__).parent
tested, taken = here / "versions.json", here.parents[1] / "Package.resolved"


def versions(path):
    return {pin["identity"]: pin["state"].get("version", "") + " " + pin["state"]["revision"]
            for pin in json.loads(path.read_text())["pins"]}


if sys.argv[1:] == ["--accept"]:
    shutil.copy(taken, tested)
    sys.exit()
if not taken.exists():
    shutil.copy(tested, taken)
old, new = versions(tested), versions(taken)
wrong = [f"  {name}: {new.get(name, 'none')}, tested {old.get(name, 'none')}"
         for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]
if wrong:
    sys.exit("these dependencies are not the tested ones (config/release/versions.json):\n" + "\n".join(wrong)
             + "\ncp config/release/versions.json Package.resolved; or test these, then versions.py --accept")
