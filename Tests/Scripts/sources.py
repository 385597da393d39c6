"""The Swift sources of a tree, by target and folder, with the names that each file declares. The text is searched, not parsed."""

import re
from functools import cached_property
from pathlib import Path

LITERAL = re.compile(r'"""(.*?)"""|"((?:[^"\\\n]|\\.)*)"|//[^\n]*', re.DOTALL)
INTERPOLATED = re.compile(r"\\\(([^)]*)\)")
MODIFIERS = r"(?:@\w+(?:\([^)]*\))? |(?:public|package|internal|final|indirect|static|class|mutating|lazy|weak|override|nonisolated)" \
    r"(?:\(\w+\))? (?!\()|private\(set\) )*"
KINDS = "struct|class|enum|protocol|actor|typealias"
# The sources are laid out by `swift format`, so what a file declares begins a line, and a member is one step further in.
TOP = re.compile(rf"^{MODIFIERS}(?:{KINDS}|func|let|var) `?(\w+)", re.MULTILINE)
NESTED = re.compile(rf"^ +(?:\w+ )*(?:{KINDS}) (\w+)|^(?:file)?private (?:final )?(?:{KINDS}) (\w+)", re.MULTILINE)
EXTENSION = re.compile(r"^(?:public |package )?extension \[?(\w+)[^\n]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FEATURE_ROW = re.compile(r'^ *"(\w+)": \[([^\]]*)\],?$', re.MULTILINE)
MEMBER = re.compile(rf"^    {MODIFIERS}(?:{KINDS}|func|let|var|case) `?(\w+)", re.MULTILINE)


class Source:
    """A file below Sources or Tests. `Sources/Features/X/T/…` is of the target T, as `Sources/T/…` is."""

    def __init__(self, path, name):
        self.path, self.name, parts = path, name, name.split("/")
        self.feature = parts[2] if parts[1] == "Features" and len(parts) > 3 else None
        # The one file of a target that names features: Sources/Features/Features+T.swift.
        self.is_list = parts[1] == "Features" and not self.feature
        if self.is_list:
            self.target, self.room = parts[2].removeprefix("Features+").removesuffix(".swift"), "(lists)"
        elif self.feature:
            self.target, self.room = parts[3], "/".join([self.feature, *parts[4:-1][:1]])
        else:
            self.target, self.room = parts[1], parts[2] if len(parts) > 3 else "(root)"

    @cached_property
    def text(self):
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def code(self):
        """The text without comments, and without strings but for what they interpolate. Its lines keep their numbers."""
        def rest(found):
            literal = found[0]
            return " " + " ".join(INTERPOLATED.findall(literal)) + " " + "\n" * literal.count("\n") if literal[0] == '"' else ""
        return LITERAL.sub(rest, self.text)

    @cached_property
    def declared(self):
        """What the file declares at the top level for others."""
        return set(TOP.findall(self.code))

    @cached_property
    def own(self):
        """Types that mean something else in this file: nested ones, and those of the file alone."""
        return {name for pair in NESTED.findall(self.code) for name in pair if name}

    def members(self):
        """What extensions add: pairs of the extended type and the member."""
        return [(owner, member) for owner, body in EXTENSION.findall(self.code) for member in MEMBER.findall(body)]

    def line(self, offset):
        return self.code.count("\n", 0, offset) + 1


def read(root=".", top="Sources"):
    """All Swift files below a folder of the tree, in the order of their paths."""
    root = Path(root)
    found = sorted(path.relative_to(root).as_posix() for path in (root / top).rglob("*.swift"))
    return [Source(root / name, name) for name in found]


def feature_rows(manifest):
    """The rows of Package.swift's list `features`, in its order: matches of a feature and the text of its targets."""
    found = re.search(r"^let features\b[^=]*= \[\n(.*?)^\]", manifest, re.MULTILINE | re.DOTALL)
    return list(FEATURE_ROW.finditer(manifest, *found.span(1))) if found else []


def lines(files):
    return sum(path.read_bytes().count(b"\n") for path in files)
