#!/usr/bin/env python3
"""Checks that each feature is a room that can be shut (part of bin/lint). It prints what breaks a rule.

A feature X is the folder Sources/Features/X with a folder for each target T of which it has a part. Only
Sources/Features/Features+T.swift, the lists of T, may name it. Its tests are in Tests/Features/X in the same way, and the tests of the core do
not name it either. Without features there is nothing to check.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

import sources

MOST_LINES, MOST_TARGETS, MOST_LIST_LINES = 2_000, 9, 56

# The lines that a list of features may have. An element is one name, such as `.approval` or `ApprovalCommand.self`.
ALLOWED = re.compile(r"""
    \s*(//.*)?
    | ((public|package|internal)\ )?import\ \w+
    | (public\ |package\ )?extension\ [\w.]+\ \{
    | \s{4}((public|package)\ )?static\ let\ \w*[oO]fFeatures:\ \[.+\]\ =\ \[\]?
    | \s{8}(?P<element>[.\w]+),?
    | \s{4}\] | \}
    """, re.VERBOSE)


def rows():
    """The rows of Package.swift's list `features`: the targets of each feature."""
    found = sources.feature_rows(Path("Package.swift").read_text(encoding="utf-8"))
    return {row[1]: re.findall(r'"(\w+)"', row[2]) for row in found}


def parts(root):
    """The features with the targets to which each adds files."""
    features = (path for path in sorted(root.iterdir()) if path.is_dir()) if root.is_dir() else ()
    return {path.name: {part.name for part in path.iterdir() if part.is_dir()} for path in features}


def check_rows(folders, tests):
    listed = rows()
    for feature, targets in folders.items():
        targets = targets | tests.get(feature, set())
        if feature not in listed:
            yield f"Sources/Features/{feature}:1: has no row in the list features of Package.swift"
        for target in sorted(targets ^ set(listed.get(feature, targets))):
            place = "the row in Package.swift" if target in targets else "the folder"
            yield f"Sources/Features/{feature}:1: {place} lacks {target}"
    for feature in listed.keys() - folders.keys():
        yield f"Package.swift:1: the feature {feature} has no folder Sources/Features/{feature}"


def check_names(files, folders):
    """Types of a feature, and targets of its own, are named by the feature alone. A name that others declare too is not watched."""
    core = {file.target for file in files if not file.feature}
    owners = {target: feature for feature, targets in folders.items() for target in targets if target not in core}
    for file in files:
        if file.feature:
            owners |= {name: file.feature for name in file.declared if name[0].isupper()}
    for file in files:
        for name in file.declared:
            if owners.get(name) not in (None, file.feature):
                del owners[name]
    for file in files:
        if file.is_list:
            continue
        for match in re.finditer(r"(?<![\w.])[A-Z]\w*", file.code):
            if owners.get(match[0], file.feature) != file.feature and match[0] not in file.own:
                yield f"{file.name}:{file.line(match.start())}: names {match[0]} of the feature {owners[match[0]]}"


def check_lists(files, targets):
    for file in (file for file in files if file.is_list):
        rest = file.text.splitlines()
        if file.name != f"Sources/Features/Features+{file.target}.swift" or file.target not in targets:
            yield f"{file.name}:1: is no list Features+TARGET.swift of a target, and of no feature"
        if len(rest) > MOST_LIST_LINES:
            yield f"{file.name}:{len(rest)}: a list of features has at most {MOST_LIST_LINES} lines"
        for number, line in enumerate(rest, 1):
            found = ALLOWED.fullmatch(line)
            if not found or (found["element"] or "").split(".")[-1] == "all":
                yield f"{file.name}:{number}: only `static let …ofFeatures: [Type] = [` with a name of a feature a line may stand here"


def check_base_names(paths):
    """SwiftPM names the products of a target by the base names alone."""
    known = {}
    for path in paths:
        name = path.as_posix()
        key = sources.Source(path, name).target, path.name
        if known.setdefault(key, name) != name:
            yield f"{name}:1: {key[0]} has another {path.name}: {known[key]}"


def check_sizes(folders):
    for feature, targets in folders.items():
        folder = Path("Sources/Features") / feature
        size = sources.lines(path for path in folder.rglob("*") if path.suffix in (".swift", ".lua"))
        if size > MOST_LINES:
            yield f"{folder}:1: a feature of {size} lines of Swift and Lua is two features: {MOST_LINES} at most"
        if len(targets) > MOST_TARGETS:
            yield f"{folder}:1: a feature with parts of {len(targets)} targets is two features: {MOST_TARGETS} at most"


def main():
    root = Path("Sources/Features")
    if not root.is_dir():
        return
    folders = parts(root)
    files = sources.read()
    paths = [path for path in sorted(Path("Sources").rglob("*")) if path.is_file()]
    tests = parts(Path("Tests/Features"))
    findings = [*check_rows(folders, tests), *check_names(files, folders), *check_names(files + sources.read(top="Tests"), folders),
                *check_lists(files, {file.target for file in files if not file.is_list}),
                *check_base_names(paths), *check_sizes(folders)]
    print("".join(f"{finding}\n" for finding in dict.fromkeys(findings)), end="")
    sys.exit(bool(findings))


main()
