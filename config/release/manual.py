"""Writes a manual page for the program and one for each of its commands, from what its argument parser knows.

manual.py LAMPLIGHTER VERSION DATE DIRECTORY
"""

import json
import pathlib
import re
import subprocess
import sys

program, version, date, directory = sys.argv[1:]


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    # A line that begins with a dot or a quote would be a command.
    return "\n".join("\\&" + line if line[:1] in ".'" else line for line in text.split("\n"))


def paragraphs(text):
    """Prose as paragraphs. What is indented, such as examples, stays as it is."""
    lines = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines.append(".PP")
        plain = True
        for line in block.split("\n"):
            indented = line.startswith("  ")
            if indented and plain:
                lines.append(".RS 4\n.nf")
            if not indented and not plain:
                lines.append(".fi\n.RE")
            plain = not indented
            lines.append(escaped(line.strip() if plain else line[2:]))
        if not plain:
            lines.append(".fi\n.RE")
    return lines


def name(one):
    return {"long": "--", "short": "-", "longWithSingleDash": "-"}[one["kind"]] + one["name"]


def argument(one):
    if one["kind"] == "positional":
        head = "\\fI" + escaped("<" + one["valueName"] + ">") + "\\fR"
    else:
        head = ", ".join("\\fB" + escaped(name(each)) + "\\fR" for each in one["names"])
        if one["kind"] == "option":
            head += " \\fI" + escaped("<" + one["valueName"] + ">") + "\\fR"
    text = one.get("abstract", "")
    if one.get("defaultValue"):
        text += f" (default: {one['defaultValue']})"
    if one.get("allValues"):
        text += " Values: " + ", ".join(one["allValues"]) + "."
    return [".TP", head, escaped(text.strip()) or "\\&"]


def page(path, command):
    title = "-".join(path)
    lines = [
        f'.TH {escaped(title.upper())} 1 "{date}" "lamplighter {escaped(version)}" "Lamplighter"',
        ".SH NAME", f"{escaped(title)} \\- {escaped(command['abstract'].rstrip('.'))}", ".SH SYNOPSIS",
    ]
    arguments = [one for one in command.get("arguments", []) if one.get("shouldDisplay", True)]
    subcommands = [one for one in command.get("subcommands", []) if one["commandName"] != "help"]
    words = ["\\fB" + escaped(" ".join(path)) + "\\fR"]
    for one in arguments:
        if one["kind"] == "positional":
            word = "<" + one["valueName"] + ">" + ("..." if one["isRepeating"] else "")
            words.append(escaped("[" + word + "]" if one["isOptional"] else word))
    words.append("[\\fIoptions\\fR]" if arguments else "")
    if subcommands:
        words.append("\\fI<command>\\fR")
    lines.append(" ".join(word for word in words if word))
    if command.get("discussion"):
        lines += [".SH DESCRIPTION"] + paragraphs(command["discussion"])
    sections = {}
    for one in arguments:
        sections.setdefault(one.get("sectionTitle") or "options", []).append(one)
    for section, members in sections.items():
        lines.append(".SH " + escaped(section.upper()))
        for one in members:
            lines += argument(one)
    if subcommands:
        lines.append(".SH COMMANDS")
        for one in subcommands:
            lines += [".TP", f"\\fB{escaped(title + '-' + one['commandName'])}\\fR(1)", escaped(one["abstract"])]
    others = ["lamplighter"] if len(path) > 1 else []
    lines += [".SH SEE ALSO", ", ".join(f"\\fB{one}\\fR(1)" for one in others) + (", " if others else "")
              + "\\fBlamplighter.yaml\\fR(5)"]
    (pathlib.Path(directory) / f"{title}.1").write_text("\n".join(lines) + "\n")
    for one in subcommands:
        page(path + [one["commandName"]], one)


dump = subprocess.run([program, "--experimental-dump-help"], check=True, capture_output=True, text=True)
page(["lamplighter"], json.loads(dump.stdout)["command"])

settings = pathlib.Path(__file__).parents[1] / "lamplighter.yaml"
(pathlib.Path(directory) / "lamplighter.yaml.5").write_text("\n".join([
    f'.TH LAMPLIGHTER.YAML 5 "{date}" "lamplighter {escaped(version)}" "Lamplighter"',
    ".SH NAME", "lamplighter.yaml \\- every setting of Lamplighter, with its default", ".SH DESCRIPTION", ".nf",
    escaped(settings.read_text().rstrip("\n")), ".fi", ".SH SEE ALSO", "\\fBlamplighter\\fR(1)",
]) + "\n")
