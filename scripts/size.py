#!/usr/bin/env python3
"""Count the lines of the core and of what it stands on, and keep them from growing.

  size.py              print the table
  size.py --check      exit 1 if a number is above its ceiling in scripts/ceilings.txt
  size.py --self-test  check that it counts a planted file right, and finds a number that grew

A line of code has more than blanks and comments.  A comment line has a comment and no code.
A file that leaves these folders is counted where it went: add its pattern to PARTS.
"""
import re
import sys
import textwrap
from pathlib import Path

import ccode

ROOT = Path(__file__).resolve().parent.parent
CEILINGS = ROOT / "scripts" / "ceilings.txt"
PARTS = {
    "core": ["src/core/*.[ch]"],
    "epoll back end": ["src/linux/epoll.c", "src/posix/epoll*.c"],
    "seam": ["src/sys/backend.h"],
    "base": ["src/base/*.[ch]", "src/windows/alloc_aligned.c"],
    "source.h": ["src/source/source.h"],
    "USER": ["src/source/user.c"],
}


class Size:
    """What was counted of some files."""

    def __init__(self):
        self.files = self.lines = self.code = self.comments = self.selecting = 0

    def add(self, text):
        lines, code = text.splitlines(), ccode.blank(text)
        self.files += 1
        self.lines += len(lines)
        for line, left in zip(lines, code.splitlines()):
            self.code += bool(left.strip())
            self.comments += bool(line.strip() and not left.strip())
        self.selecting += selecting(code)


def selecting(code):
    """Count boolean parameters of functions that are always inlined: each selects a copy."""
    heads = re.findall(r"\bXP_INLINE\w*\s[^;{}()]*\(([^{};]*)\)\s*\{", code)
    return sum(len(re.findall(r"\bbool\s+\w+", head)) for head in heads)


def present():
    """The files of each part."""
    for part, patterns in PARTS.items():
        for pattern in patterns:
            found = sorted(ROOT.glob(pattern))
            if not found:
                sys.exit(f"size.py: no file is called {pattern}")
            yield from ((part, path) for path in found)

# A constant whose name ends so could be another number without breaking a promise.
TUNING = re.compile(r"\b((?:[A-Z]+_)+(?:MOST|LEAST|EVERY|EACH|FOR|BESIDE|CHECKS|AHEAD|ALONE)"
                    r"(?:_NS)?|PATIENCE)\s*=(?!=)")


def constants(files):
    """Which file has which tuning constants."""
    for _, path in files:
        for name in TUNING.findall(ccode.blank(path.read_text(encoding="utf-8"))):
            yield f"{path.name}:{name}"


def modes(files):
    """How the kernel is asked to watch a descriptor: by level, and as entry.c says beside that."""
    text = "".join(path.read_text(encoding="utf-8") for _, path in files
                   if path.stem in ("entry", "arm"))
    asked = set(re.findall(r"XP_WATCH_(EDGE|ONESHOT|EXCLUSIVE|SOLO)", ccode.blank(text)))
    return ["LEVEL", *sorted(asked)]


def measured(files):
    sizes = {}
    for part, path in files:
        sizes.setdefault(part, Size()).add(path.read_text(encoding="utf-8"))
    return sizes


def total(sizes):
    whole = Size()
    for size in sizes:
        for name, value in vars(size).items():
            setattr(whole, name, getattr(whole, name) + value)
    return whole


def share(size):
    """Comment lines as a share of those that are not blank, in percent."""
    return 100 * size.comments / (size.code + size.comments)


def table(files):
    sizes = measured(files)
    print(f"{'part':16} {'files':>6} {'lines':>7} {'code':>7} {'comments':>9}")
    for part, size in [*sizes.items(), ("together", total(sizes.values()))]:
        print(f"{part:16} {size.files:6} {size.lines:7} {size.code:7} {share(size):8.1f}%")
    print(f"boolean parameters that select a copy: {total(sizes.values()).selecting}")
    for what, names in (("tuning constants", list(constants(files))),
                        ("modes in the kernel", modes(files))):
        print(textwrap.fill(f"{what}: {len(names)}: {' '.join(names)}", 100,
                            break_on_hyphens=False))


def ceilings(text):
    """The numbers by name: a line has a name, a number, and perhaps a remark."""
    rows = (line.split(None, 2) for line in text.splitlines()
            if line.strip() and not line.startswith("#"))
    return {row[0]: int(row[1]) for row in rows}


def over(numbers, limits):
    """Yield a message for each number that is above its ceiling."""
    for name, number in numbers.items():
        if number > limits[name]:
            yield (f"{name} is {number}, and its ceiling in scripts/ceilings.txt is {limits[name]}:"
                   " make it smaller, or say in the commit why it has to grow")


def check(numbers):
    """Print what is above its ceiling; returns the exit code."""
    found = list(over(numbers, ceilings(CEILINGS.read_text(encoding="utf-8"))))
    print("\n".join(found) if found else " ".join(f"{n}={v}" for n, v in numbers.items()))
    return 1 if found else 0


def self_test():
    size = Size()
    size.add("/* A comment\n * of two lines. */\n\nint one; /* beside code */\n"
             'static XP_INLINE int f(int a, bool b,\n  bool c)\n{\n\treturn "/*"[0];\n}\n'
             "static int g(bool d)\n{\n}\n")
    expected = {"files": 1, "lines": 12, "code": 9, "comments": 2, "selecting": 2}
    wrong = [f"{name}: {vars(size)[name]} instead of {number}"
             for name, number in expected.items() if vars(size)[name] != number]
    if list(over({"a": 1}, {"a": 1})) or not list(over({"a": 2}, {"a": 1})):
        wrong.append("a ceiling")
    if ceilings("# remark\n\nname 5 why\n") != {"name": 5}:
        wrong.append("the list of ceilings")
    print("\n".join(wrong) if wrong else "size.py: ok")
    return 1 if wrong else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    files = list(present())
    if arguments == ["--check"]:
        whole = total(measured(files).values())
        return check({"code-lines": whole.code, "selecting-parameters": whole.selecting})
    if arguments:
        sys.exit(__doc__)
    table(files)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
