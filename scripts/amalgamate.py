#!/usr/bin/env python3
"""Write the library as two files, xpoll.c and xpoll.h, for programs that embed it.

  amalgamate.py FOLDER

xpoll.c contains the sources that src/Sources.cmake selects for Linux, with each
header once, where it is first included.  Compile it as C11 or later with -pthread.
"""
import re
import shutil
import sys
from pathlib import Path

import systems

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"

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
    return [SRC / name for name in systems.sources(linux)]


def expand(path, seen):
    """The lines of a file, with our own headers in the place of their first #include."""
    yield f"/* --- {path.relative_to(SRC)} */"
    for line in path.read_text().splitlines():
        include = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if line == "#include <xpoll.h>":
            yield '#include "xpoll.h"' # The one beside it.
        elif not include:
            yield line
        elif include.group(1) not in seen:
            seen.add(include.group(1))
            yield from expand(SRC / include.group(1), seen)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    seen = set()
    lines = [line for source in sources() for line in expand(source, seen)]
    (folder / "xpoll.c").write_text(opening() + FEATURES + "\n".join(lines) + "\n")
    shutil.copy(ROOT / "include" / "xpoll.h", folder / "xpoll.h")


if __name__ == "__main__":
    main()
