#!/usr/bin/env python3
"""Docs as a test: every public name is documented, every example compiles.

  docs.py [--only CHECK]   one line per finding; exit 1 if there is any

Checks: names (header, symbol map, manual pages and tests agree), pages (mandoc
finds nothing), examples (every block of C in *.md compiles), links
(relative links in *.md lead somewhere), tests (those that *.md name are there).
"""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAN = ROOT / "docs" / "man"
# Pages of section 3 that describe no function of their own name.
OTHER_PAGES = {"xpoll", "xpoll_aio"}


def functions():
    """The functions that xpoll.h declares."""
    text = re.sub(r"/\*.*?\*/", " ", (ROOT / "include" / "xpoll.h").read_text(), flags=re.S)
    return set(re.findall(r"^XPOLL_API\s[^;(]*?(xpoll_\w+)\s*\(", text, re.M))


def page_text(path):
    """A manual page, or the one that its .so line names; None if that is missing."""
    text = path.read_text()
    match = re.match(r"\.so man\d/(\S+)\s*$", text)
    if not match:
        return text
    target = path.parent / match.group(1)
    return target.read_text() if target.exists() else None


def check_names():
    names = functions()
    mapped = set(re.findall(r"^\s*(xpoll_\w+);", (ROOT / "src" / "xpoll.map").read_text(), re.M))
    for name in sorted(names ^ mapped):
        yield f"src/xpoll.map and include/xpoll.h do not agree on {name}"

    tests = "".join(path.read_text() for path in sorted((ROOT / "tests").rglob("*.c")))
    for name in sorted(names):
        page = MAN / f"{name}.3"
        text = page_text(page) if page.exists() else None
        if text is None:
            yield f"docs/man/{name}.3: missing, or names a missing page"
        elif not re.search(rf"^\.Nm {name}\b", text, re.M):
            yield f"docs/man/{name}.3: its page has no '.Nm {name}'"
        if not re.search(rf"\b{name}\b", tests):
            yield f"{name}: no test uses it"
    for page in sorted(MAN.glob("*.3")):
        if page.stem not in names | OTHER_PAGES:
            yield f"docs/man/{page.name}: no such function"


def check_pages():
    if not shutil.which("mandoc"):
        print("SKIP: mandoc is not installed")
        sys.exit(77)
    for page in sorted(MAN.glob("*.[1-8]")):
        if page.read_text().startswith(".so "):
            continue
        lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page.name], cwd=MAN,
                              capture_output=True, text=True)
        yield from (line.strip() for line in lint.stdout.splitlines())


def check_examples():
    compiler = shlex.split(os.environ.get("CC", "cc"))
    for path in markdown():
        text = path.read_text()
        for block in re.finditer(r"^```c\n(.*?)^```", text, re.M | re.S):
            line = text.count("\n", 0, block.start()) + 1
            result = subprocess.run(
                [*compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE",
                 "-fsyntax-only", f"-I{ROOT}/include", "-x", "c", "-"],
                input=block.group(1), capture_output=True, text=True)
            if result.returncode != 0:
                yield f"{path.relative_to(ROOT)}:{line}: does not compile:\n{result.stderr}"


def markdown():
    yield from sorted(ROOT.glob("*.md"))
    yield from sorted((ROOT / "docs").rglob("*.md"))


def check_links():
    for path in markdown():
        text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            file = target.split("#")[0]
            if file and not re.match(r"[a-z]+:", file) and not (path.parent / file).exists():
                yield f"{path.relative_to(ROOT)}: link to {target} leads nowhere"


def check_tests():
    for path in markdown():
        for suite, name in re.findall(r"`(contract|source|stress|unit|secure)[./](\w+)`",
                                      path.read_text()):
            folder = ROOT / "tests" / suite
            if not (folder / f"{name}.c").exists() and not (
                    re.search(rf"NAME {suite}\.{name}\b", (folder / "CMakeLists.txt").read_text())):
                yield f"{path.relative_to(ROOT)}: there is no test {suite}.{name}"
        for suite, name, case in re.findall(r"`(\w+)\.(\w+):(\w+)`", path.read_text()):
            file = ROOT / "tests" / suite / f"{name}.c"
            if not file.exists() or f"XT_TEST({case})" not in file.read_text():
                yield f"{path.relative_to(ROOT)}: there is no test {suite}.{name}:{case}"


CHECKS = {"names": check_names, "pages": check_pages,
          "examples": check_examples, "links": check_links, "tests": check_tests}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=CHECKS)
    only = parser.parse_args().only
    findings = []
    for name, check in CHECKS.items():
        if only in (None, name):
            findings += check()
    print("\n".join(findings) or "docs: nothing to complain about")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
