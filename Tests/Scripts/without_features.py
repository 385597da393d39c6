"""Takes features out of a tree: their folders, rows, targets, and their lines of the lists."""

import pathlib
import re
import shutil
import sys

import sources

DECLARED = re.compile(r"\b(?:let|var|func|struct|class|enum|actor|protocol|typealias)\s+`?(\w+)")
SUITE = re.compile(r"\b(?:struct|extension) (\w+Tests)\b")


def declared(tree: pathlib.Path, name: str) -> set[str]:
    """What the feature's files declare, and so what a list may name."""
    found = set()
    for root in ["Sources", "Tests"]:
        for file in (tree / root / "Features" / name).rglob("*.swift"):
            found |= set(DECLARED.findall(file.read_text()))
    return found


def expression(text: str, start: int) -> int:
    """The end of a call that begins at `start`."""
    depth = 0
    for position in range(text.index("(", start), len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position + 1
    raise ValueError(text[start:start + 80])


def without_targets(manifest: str, name: str) -> str:
    """The manifest without the targets in the feature's folders, and without dependencies on them."""
    while place := re.search(rf'path: "(?:Sources|Tests)/Features/{name}/(\w+)"', manifest):
        starts = re.finditer(r"^ {8}\.\w+\(", manifest[:place.start()], re.M)
        start = [each.start() for each in starts][-1]
        end = expression(manifest, start)
        manifest = manifest[:start] + re.sub(r"^,?\n?", "", manifest[end:], count=1)
        manifest = re.sub(rf'"{place.group(1)}",\s?|,\s*"{place.group(1)}"(?=\])', "", manifest)
    return manifest


def laid_out(lists: str) -> str:
    """As `swift format` lays out lists that became short."""
    return re.sub(r"\[\n    \]", "[]", re.sub(r"(\[\n        [\w.]+),(\n    \])", r"\1\2", lists))


def without(tree: pathlib.Path, name: str) -> None:
    own = declared(tree, name)
    for root in ["Sources", "Tests"]:
        shutil.rmtree(tree / root / "Features" / name, ignore_errors=True)
        for file in (tree / root / "Features").glob("Features+*.swift"):
            lines = file.read_text().split("\n")
            element = re.compile(r"^        (\w+)(?:\.self)?,?$")
            kept = [line for line in lines if not ((found := element.match(line)) and found.group(1) in own)]
            file.write_text(laid_out("\n".join(kept)))
    package = tree / "Package.swift"
    manifest = package.read_text()
    row = next(row for row in sources.feature_rows(manifest) if row.group(1) == name)
    manifest = manifest[:row.start()] + manifest[row.end() + 1:]
    manifest = without_targets(manifest, name)
    if not sources.feature_rows(manifest):
        manifest = manifest.replace("let features: KeyValuePairs = [\n]", "let features: KeyValuePairs<String, [String]> = [:]")
    package.write_text(manifest)


def of_documents(tree: pathlib.Path) -> set[str]:
    """The suites that compare files of the tree, which still name the features, with the code."""
    suites = set()
    for file in (tree / "Tests").rglob("*.swift"):
        text = file.read_text()
        if re.search(r"\bRepository\.", text):
            suites |= set(SUITE.findall(text))
    return suites


def main() -> None:
    tree, *names = sys.argv[1:]
    tree = pathlib.Path(tree)
    known = [row.group(1) for row in sources.feature_rows((tree / "Package.swift").read_text())]
    if names == ["--list"]:
        return print("\n".join(known))
    if names == ["--suites"]:
        return print("|".join(sorted(of_documents(tree))))
    for name in known if names == ["all"] else names:
        if name not in known:
            sys.exit(f"bin/features: there is no feature {name}; the features are {', '.join(known)}")
        without(tree, name)


main()
