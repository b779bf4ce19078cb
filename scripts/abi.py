#!/usr/bin/env python3
"""Print the binary interface as text, or compare it with that of a release.

  abi.py LIBRARY                print it
  abi.py --check FILE LIBRARY   compare it with FILE, the list of a release

The list has the exported symbols with their version node, the layout of the public
structures (on 64-bit systems) and the values of the constants.  After a release lines
are only added: a line that is changed or removed breaks programs.
"""
import argparse
import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = (ROOT / "include" / "xpoll.h", ROOT / "include" / "xpoll_tree.h")


def compiler():
    return shlex.split(os.environ.get("CC", "cc"))


def header_code():
    text = "".join(header.read_text() for header in HEADERS)
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def exported(library):
    """Lines "function NAME NODE", from the dynamic symbol table."""
    text = subprocess.run(["nm", "-D", "--defined-only", str(library)],
                          check=True, capture_output=True, text=True).stdout
    rows = (line.split()[1:] for line in text.splitlines())
    return sorted(f"function {name.replace('@@', ' ')}" for kind, name in rows if kind != "A")


def structures():
    """{name: [member]} of the structures that the header defines."""
    found = {}
    for name, body in re.findall(r"^struct (\w+) \{(.*?)^\};", header_code(), re.M | re.S):
        body = re.sub(r"\bunion\s*\{|\}", " ", body)
        found[name] = re.findall(r"(\w+)(?:\[\w+\])?\s*;", body)
    return found


def constants():
    return re.findall(r"^#define (XPOLL_[A-Z_0-9]+)[ \t]+\S", header_code(), re.M)


def layout():
    """Lines "struct", "member" and "constant", as the compiler sees them."""
    code = ["#include <inttypes.h>", "#include <stdio.h>", "#include <xpoll_tree.h>",
            "int main(void) {"]
    for struct, members in structures().items():
        code.append(f'printf("struct {struct} %zu\\n", sizeof(struct {struct}));')
        for member in members:
            where = f"offsetof(struct {struct}, {member})"
            size = f"sizeof(((struct {struct} *)0)->{member})"
            code.append(f'printf("member {struct}.{member} %zu %zu\\n", {where}, {size});')
    for name in constants():
        if name not in ("XPOLL_API", "XPOLL_VERSION"):
            code.append(f'printf("constant {name} %" PRId64 "\\n", (int64_t){name});')
    code += ["return 0;", "}"]

    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "layout.c"), Path(folder, "layout")
        source.write_text("\n".join(code) + "\n")
        subprocess.run([*compiler(), "-std=c11", f"-I{HEADERS[0].parent}", str(source),
                        "-o", str(program)], check=True)
        text = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return text.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", type=Path)
    parser.add_argument("library", type=Path)
    options = parser.parse_args()
    if sys.maxsize < 2**32:
        print("SKIP: the layouts are recorded for 64-bit targets")
        sys.exit(77)

    lines = exported(options.library) + layout()
    if not options.check:
        print("\n".join(lines))
        sys.exit(0)
    recorded = [line for line in options.check.read_text().splitlines()
                if not line.startswith("#")]
    difference = list(difflib.unified_diff(recorded, lines, str(options.check), "here",
                                           lineterm="", n=0))
    print("\n".join(difference) or f"abi: {len(lines)} lines agree with {options.check.name}")
    sys.exit(1 if difference else 0)


if __name__ == "__main__":
    main()
