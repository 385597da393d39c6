#!/usr/bin/env python3
"""Makes docs/calls.md, the tables of all calls, from docs/openapi.json. Without --write it checks the page (part of bin/lint)."""
import json
import re
import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/calls.md"
DOCUMENT = json.loads((ROOT / "docs/openapi.json").read_text(encoding="utf-8"))
COMPONENTS = DOCUMENT["components"]
SCHEMAS = COMPONENTS["schemas"]


def table(heads, rows):
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    begin, *lines = ["| " + " | ".join(row) + " |" for row in [heads, *cells]]
    return [begin, "|" + "---|" * len(heads), *lines, ""]


def link(text, heading):
    return f"[{text}](#{re.sub(r'[^a-z0-9 _-]', '', heading.lower()).replace(' ', '-')})"


def code(values):
    return [f"`{value if isinstance(value, str) else json.dumps(value)}`" for value in values]


def inner(schema):
    """The schema with fields that a list or a choice holds, and the ending of its path. None if there is none."""
    if "properties" in schema:
        return schema, ""
    if "items" in schema:
        found = inner(schema["items"])
        return found and (found[0], "[]" + found[1])
    return next(filter(None, map(inner, schema.get("anyOf", []))), None)


def named(name):
    """A link to a schema: to the table of its fields, or to its row among the values."""
    return link(name, f"Fields of {name}" if inner(SCHEMAS[name]) else "Values")


def bounds(schema):
    """Lengths and ranges. If the description counts bytes, the schema's characters would say something else."""
    if "minimum" in schema:
        return f", {schema['minimum']:,} to {schema['maximum']:,}" if "maximum" in schema else f", from {schema['minimum']:,}"
    if "maxItems" in schema:
        return f", at most {schema['maxItems']:,}"
    characters = "maxLength" in schema and "bytes" not in schema.get("description", "")
    return f", at most {schema['maxLength']:,} characters" if characters else ""


def kind(schema):
    """What a value is, in a few words."""
    if "$ref" in schema:
        return named(schema["$ref"].split("/")[-1])
    if "anyOf" in schema:
        first, *others = schema["anyOf"]
        if others[0].get("items") == first:
            return f"{kind(first)}, or a list{bounds(others[0])}"
        return " or ".join(map(kind, schema["anyOf"]))
    if "const" in schema or "enum" in schema:
        *begin, last = code(schema.get("enum", [schema.get("const")]))
        text = f"{', '.join(begin)} or {last}" if begin else last
    elif schema.get("type") == "array":
        text = f"list of {kind(schema['items'])}"
    elif schema.get("additionalProperties"):
        text = f"object of {kind(schema['additionalProperties'])}"
    else:
        types = "UUID" if schema.get("format") == "uuid" else schema.get("type", "any")
        text = " or ".join(types) if isinstance(types, list) else types
    return text + bounds(schema) + (f", default {code([schema['default']])[0]}" if "default" in schema else "")


def meaning(schema):
    """The description, with examples unless it says the form already."""
    text = schema.get("description", "")
    if schema.get("examples") and not text.startswith("UTC"):
        text += f" Such as {', '.join(code(schema['examples']))}."
    return text.strip()


def fields(schema, path=""):
    """The fields of an object and of the objects in it: path, type, meaning."""
    for name, field in schema["properties"].items():
        optional = "" if name in schema.get("required", []) else ", optional"
        yield f"`{path}{name}`", kind(field) + optional, meaning(field)
        if found := inner(field):
            yield from fields(found[0], f"{path}{name}{found[1]}.")


def of_fields(schema, heading):
    """A heading, and the table of a schema's fields. Neighbours with the same type and meaning share a row."""
    inside = inner(schema)[0]
    words = [] if inside is schema else [f"{kind(schema).capitalize()}."]
    words += [schema["description"]] if "description" in schema else []
    words += ["It has no other fields."] if inside.get("additionalProperties") is False else []
    rows = [[", ".join(field[0] for field in same), *said]
            for said, same in groupby(fields(inside), key=lambda field: field[1:])]
    return [f"### {heading}", ""] + ([" ".join(words), ""] if words else []) + table(["field", "type", "meaning"], rows)


def who(operation):
    secrets = dict.fromkeys(secret for entry in operation["security"] for secret in entry if secret != "credential")
    return "; ".join(filter(None, [", ".join(secrets) or "no secret", ", ".join(code(scopes(operation)))]))


def scopes(operation):
    return [scope for entry in operation["security"] for scope in entry.get("credential", [])]


class Tag:
    """The calls of one tag: their table, their parameters, and the schemas that no tag before showed."""

    def __init__(self, name, common, shown):
        self.name, self.common, self.shown = name, common, shown
        self.rows, self.parameters, self.below = [], {}, []

    def content(self, thing, heading):
        """The words for a body or an answer. A schema without a name is shown below the heading."""
        if not thing.get("content"):
            return ""
        schema = next(iter(thing["content"].values()))["schema"]
        if line := re.search(r"Each line is an? (\w+)", schema.get("description", "")):
            self.show({"$ref": f"/{line[1]}"})
            return f"lines of {named(line[1])} (NDJSON)"
        title = self.shown.setdefault(json.dumps(schema), heading) if "properties" in schema else None
        if title == heading:
            self.below += of_fields(schema, heading)
        self.show(schema)
        return link("fields", title) if title else kind(schema)

    def show(self, schema):
        """The tables of the schemas to which this one refers, once."""
        for name in re.findall(r'"\$ref": "[^"]*/(\w+)"', json.dumps(schema)):
            if inner(SCHEMAS[name]) and name not in self.shown:
                self.shown[name] = name
                self.below += of_fields(SCHEMAS[name], f"Fields of {name}")
                self.show(SCHEMAS[name])

    def add(self, call, operation):
        for one in operation.get("parameters", []):
            one = COMPONENTS["parameters"][one["$ref"].split("/")[-1]] if "$ref" in one else one
            if one["in"] != "path":
                self.parameters.setdefault(json.dumps(one), (one, []))[1].append(f"`{call}`")
        body = operation.get("requestBody", {})
        takes = self.content(body, f"Body of `{call}`") + (", optional" if body.get("required") is False else "")
        answers = {status: answer for status, answer in operation["responses"].items() if "$ref" not in answer}
        words = [operation["summary"], operation.get("description", "")]
        gives = [" ".join([status, self.content(answer, f"Answer of `{call}`"), re.sub("^(Done|Accepted).$", "", answer["description"])])
                 for status, answer in answers.items()]
        errors = [status for status in operation["responses"] if status not in answers and status not in self.common]
        self.rows.append([f"`{call}`", " ".join(filter(None, words)), who(operation), takes, "<br>".join(map(str.strip, gives)), ", ".join(errors)])

    def lines(self):
        calls = table(["call", "does", "who", "body", "answer", "errors"], self.rows)
        rows = [[f"`{one['name']}`{', a header' if one['in'] == 'header' else ''}", kind(one["schema"]), meaning(one), "<br>".join(used)]
                for one, used in self.parameters.values()]
        return [f"## {self.name}", "", *calls, *(table(["parameter", "type", "meaning", "calls"], rows) if rows else []), *self.below]


def page():
    calls = [(f"{method.upper()} {path}", operation) for path, methods in DOCUMENT["paths"].items()
             for method, operation in methods.items()]
    refused = [{status for status, answer in operation["responses"].items() if "$ref" in answer} for _, operation in calls]
    common, shown = set.intersection(*filter(None, refused)), {}
    error = Tag("", common, shown)
    error.show({"$ref": "/Error"})
    tags = {tag["name"]: Tag(tag["name"], common, shown) for tag in DOCUMENT["tags"]}
    for call, operation in calls:
        tags[operation["tags"][0]].add(call, operation)
    secrets = [[f"`{name}`", scheme["description"]] for name, scheme in COMPONENTS["securitySchemes"].items()]
    openers = dict.fromkeys(scope for _, operation in calls for scope in scopes(operation))
    opened = [[f"`{scope}`", ", ".join(f"`{call}`" for call, operation in calls if scope in scopes(operation))] for scope in openers]
    values = [[name, kind(schema), meaning(schema)] for name, schema in SCHEMAS.items() if not inner(schema)]
    values += [[f"`{{{part['name']}}}` in a path", kind(part["schema"]), meaning(part)]
               for part in COMPONENTS["parameters"].values() if part["in"] == "path"]
    return "\n".join([
        "# All calls", "",
        "Made from [openapi.json](openapi.json) by `python3 Tests/Scripts/calls.py --write`: do not edit this page. [The HTTP interface](api.md)",
        "says how to use the calls, and their rules.", "", " · ".join(link(name, name) for name in [*tags, "Scopes", "Values"]), "",
        f"The column *who* has the secrets that open a call, and the {link('scopes', 'Scopes')} of credentials that open it. Calls under",
        f"`/api/` may answer {', '.join(sorted(common))}; the column *errors* has the others ([their meaning](api.md#errors)).", "",
        *table(["secret", "is"], secrets), *error.below, *(line for tag in tags.values() for line in tag.lines()),
        "## Scopes", "", *table(["scope", "calls"], opened), "## Values", "", *table(["value", "type", "meaning"], sorted(values))])


def main():
    text = page()
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit("docs/calls.md:1: is not made from docs/openapi.json as it is now: python3 Tests/Scripts/calls.py --write")


main()
