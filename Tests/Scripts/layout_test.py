#!/usr/bin/env python3
"""Shows that bin/folders and features.py find what they are for, in small trees made here. It prints what they miss (part of bin/lint)."""

import contextlib
import io
import os
import runpy
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# A core with two folders in order, and a feature with a part of one target and a target of its own.
SOUND = {
    "Package.swift": 'let features: KeyValuePairs = [\n    "Approval": ["Core", "Engine"],\n]\n',
    "Sources/Core/Low/Endpoint.swift": "public struct Endpoint {\n    static let all = Endpoint.ofFeatures\n}\n",
    "Sources/Core/High/Server.swift": 'struct Server {\n    var endpoint: Endpoint  // "Proposal"\n}\n',
    "Sources/Features/Features+Core.swift":
        "extension Endpoint {\n    /// The calls of features.\n    static let ofFeatures: [Endpoint] = [\n        .approval,\n    ]\n}\n",
    "Sources/Features/Approval/Core/Proposal.swift":
        "internal import Engine\n\nstruct Proposal {}\n\nextension Endpoint {\n    static let approval = Endpoint()\n}\n",
    "Sources/Features/Approval/Engine/Motor.swift": "public struct Motor {}\n",
    # So that no target has more than a sixth of all lines.
    **{f"Sources/Other{number}/Other.swift": "\n" * 20 for number in range(8)},
}
FOLDERS = "bin/folders"
FEATURES = "Tests/Scripts/features.py"
# For each case the command, what differs from the sound tree (None: the file is not there), and a part of the finding.
CASES = [
    (FOLDERS, {}, ""),
    (FOLDERS, {"Sources/Core/Low/Back.swift": "let server = Server()\n", "Sources/Core/High/Use.swift": "let one = Endpoint()\n"},
     "Back.swift:1: names Server of High, and High needs Low"),
    (FOLDERS, {"Sources/Core/High/Server.swift": "struct Server {}\nextension Endpoint {\n    var life: Int { 1 }\n    let server: Server\n}\n",
               "Sources/Core/Low/Back.swift": "let age = Endpoint().life\n", "Sources/Core/High/Use.swift": "let one = Endpoint()\n"},
     "Back.swift:1: names .life of High"),
    (FOLDERS, {"Sources/Core/Low/Back.swift": "let proposal = Proposal()\n"}, "names Proposal of Approval, and Approval needs Low"),
    (FOLDERS, {f"Sources/Core/Low/Part{number}.swift": "\n" for number in range(22)}, "Sources/Core/Low:1: has 23 files"),
    (FOLDERS, {"Sources/Features/Approval/Other1/Large.swift": "\n" * 99}, "Sources/Other1:1: has 119 lines"),
    (FOLDERS, {"Sources/Core/High/Page.swift": '// Android\nlet text = "fcm"\nlet one = Platform.android\n'}, "Page.swift:3: names android"),
    (FOLDERS, {"Sources/Core/High/FCM/Page.swift": "let one = Platform.android\n"}, ""),
    (FEATURES, {}, ""),
    (FEATURES, {name: None for name in SOUND if "Features" in name} | {"Package.swift": ""}, ""),
    (FEATURES, {"Package.swift": "let features: KeyValuePairs = [\n]\n"}, "Sources/Features/Approval:1: has no row"),
    (FEATURES, {"Sources/Features/Approval/Engine/Motor.swift": None}, "Approval:1: the folder lacks Engine"),
    (FEATURES, {"Sources/Features/Approval/Other2/More.swift": ""}, "the row in Package.swift lacks Other2"),
    (FEATURES, {"Package.swift": SOUND["Package.swift"].replace("]\n", '    "Gone": ["Core"],\n]\n')}, "feature Gone has no folder"),
    (FEATURES, {"Sources/Core/High/Page.swift": "// Proposal\nlet proposal = Proposal()\n"}, "Page.swift:2: names Proposal of the feature Approval"),
    (FEATURES, {"Sources/Core/High/Page.swift": "import Engine\n"}, "Page.swift:1: names Engine of the feature Approval"),
    (FEATURES, {"Tests/CoreTests/ServerTests.swift": "let proposal = Proposal()\n"}, "ServerTests.swift:1: names Proposal of the feature Approval"),
    (FEATURES, {"Sources/Features/Two/Core/Two.swift": "let two = Proposal()\n"}, "Two.swift:1: names Proposal of the feature Approval"),
    (FEATURES, {"Sources/Core/Low/Own.swift": "struct Own {\n    struct Proposal {}\n    let proposal: Proposal\n}\n"}, ""),
    (FEATURES, {"Sources/Features/Features+Core.swift": "let limit = 3\n"}, "Features+Core.swift:1: only `static let"),
    (FEATURES, {"Sources/Features/Features+Core.swift": SOUND["Sources/Features/Features+Core.swift"].replace("approval", "all")},
     "Features+Core.swift:4: only"),
    (FEATURES, {"Sources/Features/Features+Core.swift": "\n" * 57}, "Features+Core.swift:57: a list of features has at most 56"),
    (FEATURES, {"Sources/Features/Notes.swift": "\n"}, "Notes.swift:1: is no list"),
    (FEATURES, {"Sources/Features/Approval/Core/Server.swift": "\n"}, "Core has another Server.swift"),
    (FEATURES, {"Sources/Features/Approval/Core/long.lua": "\n" * 2_000}, "Approval:1: a feature of 2008 lines"),
    (FEATURES, {f"Sources/Features/Approval/Part{number}/Part.swift": "" for number in range(8)}, "with parts of 10 targets"),
]


def findings(command, changes):
    """What a command prints in the tree of `changes`."""
    with tempfile.TemporaryDirectory() as tree, contextlib.redirect_stdout(io.StringIO()) as printed:
        for name, text in (SOUND | changes).items():
            if text is not None:
                path = Path(tree) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        (Path(tree) / "bin").mkdir()
        copy = shutil.copy(ROOT / command, Path(tree) / "bin")
        os.chdir(tree)
        sys.argv = [command, "--check"]
        with contextlib.suppress(SystemExit):
            runpy.run_path(copy, run_name="__main__")
        os.chdir(ROOT)
    # The exceptions of the real tree are not needed in the small one.
    return "".join(f"{line}\n" for line in printed.getvalue().splitlines() if "by now" not in line)


for number, (command, changes, expected) in enumerate(CASES, 1):
    found = findings(command, changes)
    if expected not in found or (found and not expected):
        print(f"Tests/Scripts/layout_test.py:1: case {number}, {command}: '{expected}' is not in: {found or 'nothing'}")
