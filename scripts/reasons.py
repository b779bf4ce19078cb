"""Lists of exceptions with their reasons: analyze-allowed.txt and uncovered.txt.

A comment is the reason of the entries below it; a blank line ends what it is for.
"""
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def entries(path):
    """The lines that are entries.  One without a reason above it ends the program."""
    explained = False
    for line in path.read_text().splitlines():
        if not line.strip():
            explained = False
        elif line.startswith("#"):
            explained = True
        elif not explained:
            sys.exit(f"{path.name}: no reason above: {line}")
        else:
            yield line


def text_of(name, number):
    """A line of the tree's file, without the blanks around it; "" if there is none."""
    lines = (ROOT / name).read_text().splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""
