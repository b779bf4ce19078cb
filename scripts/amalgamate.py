#!/usr/bin/env python3
"""Write the library as two files, xpoll.c and xpoll.h, for programs that embed it.

  amalgamate.py FOLDER

xpoll.c contains the sources that src/Sources.cmake selects for Linux and those of the directory
tree, with each header once, where it is first included.  Compile it as C11 or later with -pthread.
xpoll_tree.h, which declares the tree, is written beside them.
"""
import re
import sys
from pathlib import Path

import systems

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"

# A public header, which the two files have beside them.
PUBLIC = re.compile(r"#include <(xpoll(?:_tree)?\.h)>")
FEATURES = """\
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
"""


def opening():
    licence = (ROOT / "LICENSE").read_text().splitlines()
    text = ["xpoll, all of it in one file; written by scripts/amalgamate.py.", "", *licence]
    return "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in text) + " */\n"


def sources():
    """The files that src/Sources.cmake, which says how they are chosen, has for Linux."""
    linux = next(system for system in systems.systems() if system.name == "LINUX")
    tree = sorted(path for path in (ROOT / "tree").glob("*.c")
                  if not path.stem.endswith("_vnode"))
    return [SRC / name for name in systems.sources(linux)] + tree


def expand(path, seen):
    """The lines of a file, with our own headers in the place of their first #include."""
    yield f"/* --- {path.relative_to(ROOT)} */"
    for line in path.read_text().splitlines():
        include = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if PUBLIC.fullmatch(line):
            yield PUBLIC.sub(r'#include "\1"', line)
        elif not include:
            yield line
        elif include.group(1) not in seen:
            seen.add(include.group(1))
            beside = path.parent / include.group(1)
            yield from expand(beside if beside.exists() else SRC / include.group(1), seen)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    seen = set()
    lines = [line for source in sources() for line in expand(source, seen)]
    (folder / "xpoll.c").write_text(opening() + FEATURES + "\n".join(lines) + "\n")
    for header in ("xpoll.h", "xpoll_tree.h"):
        lines = (ROOT / "include" / header).read_text().splitlines()
        text = "\n".join(PUBLIC.sub(r'#include "\1"', line) for line in lines)
        (folder / header).write_text(text + "\n")


if __name__ == "__main__":
    main()
