#!/usr/bin/env python3
"""Check that calls between the modules of the folders in FOLDERS have no cycle, and that in src
none goes to a folder that may not be included, unless a header that may be included declares
the function: so a source calls what each system provides.

  cycles.py              check the tree; exit 1 and print each cycle with its calls
  cycles.py --self-test  check that it finds a planted cycle, and takes nothing else for a call

A module is a .c file with the header of its name.  It calls what the bodies of its
functions, its macros and its tables of functions name.  A call through a table does
not count, because that is how a lower module calls an upper one.  The script is no
compiler: it reads the files of all systems at once, and if several files define a
function for one system each, a call counts for all of them.
"""
import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

import ccode
import style

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "dropin", "tools", "tree", "bench", "python/src")
COMMON = "dropin/common" # is a part of each drop-in, and calls what each has under one name
STAND_INS = "src/windows/posix/" # for headers of C libraries


def program(module):
    """A program calls its own functions, and the library; src calls only its own."""
    parts = module.split("/")
    return parts[0] if len(parts) == 2 or parts[0] in ("src", "bench") else "/".join(parts[:2])


def linked(one, programs):
    """Those whose functions a program calls as its own, as it is linked with them."""
    if one == COMMON:
        return [other for other in programs if other.startswith("dropin/")]
    return [COMMON] if one.startswith("dropin/") else []


def named(text):
    """The functions that this may call or pass on: no members, no labels."""
    return set(re.findall(r"(?<![.\w])(?<!->)([A-Za-z_]\w*)(?=\s*[(,;)}])", text))


class Module:
    def __init__(self, name):
        self.name = name
        self.own = set()      # functions defined here
        self.offered = set()  # those of them that others can call
        self.names = set()    # that occur in bodies and tables
        self.macros = {}      # what those of its files name

    def read(self, path, text):
        code = ccode.blank(text)
        for macro, body in re.findall(
                r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:\\\n|[^\n])*)", code, re.M):
            self.macros[macro] = self.macros.get(macro, set()) | named(body + ";")
        for piece in ccode.pieces(code):
            function = piece.function()
            if function:
                self.own.add(function)
                if path.endswith(".h") or not re.search(r"\bstatic\b", piece.head):
                    self.offered.add(function)
            if function or "=" in piece.head:
                self.names |= named(piece.body + "}")


def modules(files):
    """All modules of these (path, text)."""
    found = {}
    for path, text in files:
        name = path.rsplit(".", 1)[0]
        found.setdefault(name, Module(name)).read(path, text)
    return found


def expand(names, macros):
    """With what the macros among them name."""
    todo, seen = list(names), set()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo.extend(macros.get(name, ()))
    return seen


def calls(found):
    """{module: {other module: names of its functions}}"""
    homes, macros = defaultdict(lambda: defaultdict(set)), defaultdict(set)
    for module in found.values():
        for name in module.offered:
            homes[program(module.name)][name].add(module.name)
        for name, names in module.macros.items():
            macros[name] |= names
    uses = {}
    for module in found.values():
        uses[module.name] = defaultdict(set)
        for name in expand(module.names, macros) - module.own:
            near = homes[program(module.name)].get(name) or set().union(
                *(homes[other].get(name, ()) for other in linked(program(module.name), [*homes])))
            for home in near or homes["src"].get(name, ()):
                uses[module.name][home].add(name)
    return uses


def reached(start, uses):
    """The modules that calls of this one lead to."""
    todo, seen = list(uses[start]), set()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo.extend(uses[name])
    return seen


def cycles(uses):
    """The sets of modules that call each other, by whatever way."""
    ways = {name: reached(name, uses) for name in uses}
    found = []
    for name in sorted(uses):
        if name in ways[name] and not any(name in group for group in found):
            found.append(sorted(other for other in ways[name] if name in ways[other]))
    return found


def describe(group, uses):
    yield f"{len(group)} modules call each other: {' '.join(group)}"
    for one in group:
        for other in group:
            if uses[one].get(other):
                yield f"    {one} calls {other}: {', '.join(sorted(uses[one][other]))}"


def declarations(files):
    """{folder of src: the functions that its headers name}"""
    found = defaultdict(set)
    for path, text in files:
        if path.startswith("src/") and path.endswith(".h"):
            found[path.split("/")[1]] |= set(re.findall(r"\b(\w+)\s*\(", ccode.blank(text)))
    return found


def upward(uses, declared):
    """Calls from a folder of src to one that it may not include."""
    for one in sorted(uses):
        for other in sorted(uses[one]):
            folders = [name.split("/")[1] for name in (one, other) if name.startswith("src/")]
            if len(folders) == 2 and folders[1] not in style.MAY_INCLUDE[folders[0]]:
                names = uses[one][other].difference(
                    *(declared[folder] for folder in style.MAY_INCLUDE[folders[0]]))
                if names:
                    yield f"{one} calls {other} above it: {', '.join(sorted(names))}"


def findings(files):
    files = list(files)
    uses = calls(modules(files))
    for group in cycles(uses):
        yield from describe(group, uses)
    yield from upward(uses, declarations(files))


def tree():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.[ch]")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(STAND_INS):
                yield name, path.read_text()


def check_tree():
    found = list(findings(tree()))
    print(*found, f"cycles: {len(found)} findings", sep="\n")
    return 1 if found else 0


# --- Its own test: (what it shows, files, number of findings) --------------------

UPPER = ("src/base/a.c", "void xp_a(void)\n{\n\txp_b();\n}\n")
LOWER = ("src/base/b.c", "void xp_b(void)\n{\n}\n")
HEADER = ("src/base/a.h", "static inline void xp_h(void)\n{\n}\nvoid xp_b(void);\n")
SAMPLES = (
    ("calls one way", (UPPER, LOWER), 0),
    ("a cycle of two, with both calls", (
        UPPER, ("src/base/b.c", "void xp_b(void)\n{\n\txp_a();\n}\n")), 3),
    ("a cycle of three, through an inline function of a header", (
        UPPER, HEADER, ("src/base/b.c", "void xp_b(void)\n{\n\txp_c();\n}\n"),
        ("src/base/c.c", "int xp_c(int x)\n{\n\treturn x ? xp_h() : 0;\n}\n")), 4),
    ("a table that names a function", (
        UPPER, ("src/base/b.c", "void xp_b(void)\n{\n}\n"
                "const struct ops t = {\n\t.a = xp_a,\n};\n")), 3),
    ("a call through a table, a comment and a declaration are none", (
        UPPER, ("src/base/b.c", "void xp_a(void);\nvoid xp_b(void)\n{\n"
                "\tops->xp_a(1);\n\t/* xp_a(); */\n\ts.xp_a = 0;\n}\n")), 0),
    ("a macro of a third file", (
        UPPER, ("src/base/m.h", "#define XP_M(x) \\\n\txp_a(x)\n"),
        ("src/base/b.c", "void xp_b(void)\n{\n\tXP_M();\n}\n")), 3),
    ("a static function of the same name is one's own", (
        UPPER, ("src/base/b.c", "static void xp_a(void)\n{\n}\n"
                "void xp_b(void)\n{\n\txp_a();\n}\n")), 0),
    ("the same name in another program", (
        UPPER, LOWER, ("dropin/x/b.c", "void xp_b(void)\n{\n\txp_a();\n}\n")), 0),
    ("a program whose files are in one folder", (
        ("tree/a.c", "void a(void)\n{\n\tb();\n}\n"),
        ("tree/b.c", "void b(void)\n{\n\ta();\n}\n")), 3),
    ("what is part of each drop-in", (
        ("dropin/common/a.c", "void a(void)\n{\n\tb();\n}\n"),
        ("dropin/x/b.h", "static inline void b(void)\n{\n}\n"),
        ("dropin/y/b.h", "static inline void b(void)\n{\n\ta();\n}\n")), 3),
    ("one of two files for different systems", (
        UPPER, LOWER, ("src/base/b2.c", "void xp_b(void)\n{\n\txp_a();\n}\n")), 3),
    ("a call from below", (
        ("src/linux/a.c", "void xp_a(void)\n{\n\txp_b();\n}\n"),
        ("src/core/b.h", "void xp_b(void);\n"),
        ("src/core/b.c", "void xp_b(void)\n{\n}\n")), 1),
    ("a call of what a system provides", (
        ("src/core/a.c", "void xp_a(void)\n{\n\txp_b();\n}\n"),
        ("src/sys/b.h", "void xp_b(void);\n"),
        ("src/linux/b.c", "void xp_b(void)\n{\n}\n")), 0),
    ("a call of what one system has", (
        ("src/core/a.c", "void xp_a(void)\n{\n\txp_b();\n}\n"),
        ("src/linux/b.h", "void xp_b(void);\n"),
        ("src/linux/b.c", "void xp_b(void)\n{\n}\n")), 1),
)


def self_test():
    failures = 0
    for shows, files, expected in SAMPLES:
        found = list(findings(files))
        if len(found) != expected:
            print(f"{shows}: {expected} findings expected, not", *found, sep="\n    ")
            failures += 1
    print(f"cycles: {len(SAMPLES)} samples, {failures} failures")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-test", action="store_true")
    sys.exit(self_test() if parser.parse_args().self_test else check_tree())


if __name__ == "__main__":
    main()
