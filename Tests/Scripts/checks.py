"""Counts the checks of the script that runs. The first one that does not hold ends it."""

import os
import sys

SCRIPT = os.path.basename(sys.argv[0])
made = 0


def check(what, holds):
    global made
    made += 1
    if not holds:
        sys.exit(f"{SCRIPT}: ✗ {what}")


def passed():
    print(f"{SCRIPT}: ✓ {made} checks")
