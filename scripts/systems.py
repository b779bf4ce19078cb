#!/usr/bin/env python3
"""The systems that src/Sources.cmake lists: their back ends and their files.

  systems.py [NAME]   list the systems, or the files of one
"""
import re
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

SRC = Path(__file__).resolve().parent.parent / "src"
EVERY = ("base", "core", "source")


class System(NamedTuple):
    name: str
    on: list # CMake's names of it
    backends: list # the default first
    folders: list
    files: list
    excepted: list # patterns


def systems():
    text = re.sub(r"#.*", "", (SRC / "Sources.cmake").read_text())
    found = []
    for words in re.findall(r"^xpoll_system\(([^()]*)\)", text, re.M):
        name, *words = words.split()
        lists, key = {}, None
        for word in words:
            if word in ("ON", "WITH", "BACKENDS", "FOLDERS", "FILES", "EXCEPT"):
                key = word
            else:
                lists.setdefault(key, []).append(word)
        found.append(System(name, *(lists.get(key, []) for key in
                                    ("ON", "BACKENDS", "FOLDERS", "FILES", "EXCEPT"))))
    return found


def backends():
    """The names of all of them."""
    return list(dict.fromkeys(name for system in systems() for name in system.backends))


def families():
    """The folders of src for one kind of system each, and what they share."""
    return {folder.split("/")[0] for system in systems() for folder in system.folders}


def below(family):
    """The families whose headers it may include: itself, and what all its systems share."""
    shared = [[folder.split("/")[0] for folder in system.folders] for system in systems()]
    return set.intersection(*({*names[:names.index(family) + 1]}
                              for names in shared if family in names))


def sources(system):
    """The files of a system, below src, in the order in which CMake has them."""
    calls = {}
    for folder in system.folders:
        calls |= {path.name: f"{folder}/{path.name}" for path in sorted((SRC / folder).glob("*.c"))}
    names = [*(path.relative_to(SRC).as_posix() for folder in EVERY
               for path in sorted((SRC / folder).glob("*.c"))), *calls.values(), *system.files]
    return [name for name in names
            if not any(fnmatch(name, pattern) for pattern in system.excepted)]


def main():
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    for system in systems():
        if len(sys.argv) == 1:
            print(f"{system.name}: {' '.join(system.on)}; {' '.join(system.backends)}")
        elif system.name == sys.argv[1]:
            print(*sources(system), sep="\n")


if __name__ == "__main__":
    main()
