"""Reads parameters.txt, and checks its values against the documents that they come from."""
import copy
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")


class Parameters(dict):
    """Numbers by name. `source` tells for each where it comes from, `unit` what it is."""

    def __init__(self):
        super().__init__()
        self.source, self.unit, self.text, self.replaced = {}, {}, {}, {}
        with open(os.path.join(HERE, "parameters.txt"), encoding="utf-8") as file:
            for line in file:
                if line.strip() and not line.startswith("#"):
                    name, value, unit, source = [part.strip() for part in line.split("|")]
                    self[name], self.text[name] = float(value), value
                    self.unit[name], self.source[name] = unit, source

    def replace(self, assignment):
        """`name=value` of a --set."""
        name, _, value = assignment.partition("=")
        if name not in self:
            raise SystemExit(f"scale: no parameter {name!r}; `bin/bench scale --list` has them")
        self[name] = self.replaced[name] = float(value)

    def replaced_by(self, **changes):
        """A copy with other values; `a__b` is the name a.b."""
        other = copy.copy(self)
        other.update({name.replace("__", "."): value for name, value in changes.items()})
        return other

    def by_size(self, name):
        """The measured sizes of a push with their costs a token, such as redis.token_us.1e4."""
        found = [(float(key.rsplit(".", 1)[1]), self[key]) for key in self if key.startswith(name + ".")]
        return sorted(found)

    def stale(self):
        """Names whose value no longer stands where its source says, with the source."""
        return [(name, self.source[name]) for name in self if not self.stands(name)]

    def stands(self, name):
        source = self.source[name]
        if source.startswith(("assumed", "default", "bin/bench")):
            return True
        words = [word.strip() for word in source.split(";")]
        if words[0].startswith("file "):
            lines = read(words[0].removeprefix("file "))
        else:
            lines = section(read("Benchmarks/measurements.md"), words[0])
        value = self.text[name] if "e" not in self.text[name] else f"{float(self.text[name]) / 1e6:g} million"
        rows = [line for line in lines if all(word in line for word in words[1:])]
        return any(re.search(rf"(?<![\d.]){re.escape(value)}(?![\d]|\.\d)", row.replace(",", "")) for row in rows)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read().splitlines()


def section(lines, heading):
    """The lines below a heading, to the next heading. A paragraph or list item is one line."""
    start = next((number for number, line in enumerate(lines) if line == f"## {heading}"), None)
    if start is None:
        return []
    found = []
    for line in lines[start + 1:]:
        if line.startswith("## "):
            break
        continues = line and not line.startswith(("|", "-", "`")) and found and found[-1] and not found[-1].startswith("|")
        if continues:
            found[-1] += " " + line
        else:
            found.append(line)
    return found
