#!/usr/bin/env python3
"""Check the documentation: every public name is documented, every example compiles.

  docs.py [--only CHECK]     one line per finding; exit 1 if there is any
  docs.py --installed FOLDER   only the links of the pages that were installed there
  docs.py --self-test        check that "cited" finds planted faults

The checks are:

  names     the header, the symbol map, the manual pages and the tests agree
  examples  every block of C in *.md, every program of the manual and of examples/ compiles
  links     every relative link in *.md leads to a file and a heading
  paths     every file that *.md names exists
  copies    a program that a page shows whole is the same as its file
  tests     every test that *.md names exists
  cited     so do the files and functions that docs/internals names, with "`name` in `file`" in
            that file; and the numbers of the contract and of the hazards that the tests name
  lists     an empty line is before each list, and each command has a line of its own
  systems   PLATFORMS.md and xpoll_backends(7) have the back ends of src/Sources.cmake
  address   all metadata has the project's address, HOMEPAGE_URL in CMakeLists.txt

manpages.py checks how the manual looks.
"""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import abi
import systems

ROOT = Path(__file__).resolve().parent.parent
MAN = ROOT / "docs" / "man"
# Pages of section 3 that describe no function of their own name.
OTHER_PAGES = {"xpoll", "xpoll_aio"}
METADATA = ("java/pom.xml", "java/nio/pom.xml", "python/pyproject.toml")
# Addresses of others in it.
OTHERS = ("http://maven.apache.org/", "http://www.w3.org/", "https://spdx.org/")
# Names in docs/internals that stand in no file: a pattern, and what CMake puts together.
MADE_NAMES = {"what_situation_result", "fault_sweep_usual", "fault_sweep_helper"}


def functions():
    """The functions that the headers declare."""
    return set(re.findall(r"^XPOLL_API\s[^;(]*?(xpoll_\w+)\s*\(", abi.header_code(), re.M))


def check_names():
    names = functions()
    mapped = set(re.findall(r"^\s*(xpoll_\w+);", (ROOT / "src" / "xpoll.map").read_text(), re.M))
    for name in sorted(names ^ mapped):
        yield f"src/xpoll.map and the headers do not agree on {name}"

    tests = "".join(path.read_text() for path in sorted((ROOT / "tests").rglob("*.c")))
    for name in sorted(names):
        page = MAN / f"{name}.3"
        text = page.read_text() if page.exists() else None
        if text is None:
            yield f"docs/man/{name}.3: missing, or a link that leads nowhere"
        elif not re.search(rf"^\.Nm {name}\b", text, re.M):
            yield f"docs/man/{name}.3: its page has no '.Nm {name}'"
        if not re.search(rf"\b{name}\b", tests):
            yield f"{name}: no test uses it"
    for page in sorted(MAN.glob("*.3")):
        if page.stem not in names | OTHER_PAGES:
            yield f"docs/man/{page.name}: no such function"
    index = (MAN / "xpoll.7").read_text()
    for page in pages():
        if f"Xr {page.stem} " not in index:
            yield f"docs/man/{page.name}: xpoll(7) does not list it"
        if not re.search(rf"^\.Dt {re.escape(page.stem)} ", page.read_text(), re.M | re.I):
            yield f"docs/man/{page.name}: has the title of another page; make it a link"
        for name, section in re.findall(r"^\.(?:It )?Xr (xpoll\S*|kqueue|kevent) (\d)",
                                        page.read_text(), re.M):
            if not (MAN / f"{name}.{section}").exists():
                yield f"docs/man/{page.name}: there is no {name}({section})"


def pages():
    """The manual pages, without the links that give one of them another name."""
    return sorted(page for page in MAN.glob("*.[1-8]") if not page.is_symlink())


def fenced(language):
    """(path, line, text) of each block of that language in the *.md."""
    for path in markdown():
        text = path.read_text()
        for block in re.finditer(rf"^```{language}\n(.*?)^```", text, re.M | re.S):
            yield path, text.count("\n", 0, block.start()) + 1, block.group(1)


def blocks_of_c():
    """(path, line, text) of each."""
    for path, line, program in fenced("c"):
        if "#include <windows.h>" not in program:
            yield path, line, program
    for path in pages():
        text = path.read_text()
        for block in re.finditer(r"^\.Bd -literal.*\n((?:#define .*\n)*#include .*\n(?s:.*?))^\.Ed",
                                 text, re.M):
            program = block.group(1).replace("\\e", "\\").replace("\\-", "-").replace("\\&", "")
            yield path, text.count("\n", 0, block.start()) + 1, program
    for path in sorted((ROOT / "examples").rglob("*.c")):
        # What needs a library of others, or Windows, is compiled by CMake alone, where there is
        # one.
        if not re.search(r"^#include <(openssl/|glib|uv\.h|windows\.h)", path.read_text(), re.M):
            yield path, 1, path.read_text()


def compiled(blocks, compiler, *flags):
    for path, line, program in blocks:
        result = subprocess.run(
            [*compiler, *flags, "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
             f"-I{ROOT}/include", f"-I{ROOT}/dropin/kqueue/include", f"-I{ROOT}/examples", "-"],
            input=program, capture_output=True, text=True)
        if result.returncode != 0:
            yield f"{path.relative_to(ROOT)}:{line}: does not compile:\n{result.stderr}"


def check_examples():
    """By the line that the guides print: no feature test macro comes from outside."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    yield from compiled(blocks_of_c(), compiler, "-std=c11", "-x", "c")
    if shutil.which("c++"):
        yield from compiled(fenced("cpp"), ["c++"], "-std=c++20", "-x", "c++")


def markdown():
    yield from sorted(ROOT.glob("*.md"))
    yield from sorted((ROOT / "docs").rglob("*.md"))
    for folder in ("examples", "java", "python", "rust/xpoll", "rust/xpoll-sys", "rust/polling",
                   "packaging"):
        yield ROOT / folder / "README.md"


def prose(path):
    """Without blocks of code, whose lines are left empty."""
    return re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), path.read_text(),
                  flags=re.M | re.S)


def anchors(path):
    """The names under which a page's headings can be linked to."""
    for heading in re.findall(r"^#+ (.*)$", prose(path), re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def check_links(root=ROOT, pages_of=None):
    for path in pages_of or markdown():
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = path.parent / name if name else path
            if not file.exists() or (anchor and anchor not in anchors(file)):
                yield f"{path.relative_to(root)}: link to {target} leads nowhere"


def check_paths():
    """Those that a page names in the tree's own folders; a capital word stands for any name."""
    for path in markdown():
        for name in re.findall(r"(?<![\w./-])(?:scripts|examples|bench|tools|packaging|docs|src|"
                               r"dropin|tests|tree|cmake)/[\w./-]*\w", path.read_text()):
            if not ((ROOT / name).exists() or (path.parent / name).exists() or
                    re.search(r"[A-Z]{3}", name)):
                yield f"{path.relative_to(ROOT)}: there is no {name}"


def check_lists():
    """A list that follows a paragraph's line is a part of it on the site; and lines of commands
    that an editor has joined run nowhere."""
    for path in markdown():
        lines = prose(path).split("\n")
        for number, (before, line) in enumerate(zip(lines, lines[1:]), 2):
            where = f"{path.relative_to(ROOT)}:{number}"
            paragraph = re.match(r"(?![-*] |\d+\. )[^\s#|<>]", before)
            if paragraph and re.match(r"([-*]|\d+\.) \S", line):
                yield f"{where}: no empty line before the list"
            if re.match(r"    .*\b(cc|c\+\+) -[^&;]* (cc|c\+\+) -", line):
                yield f"{where}: two commands in a line"


def check_copies():
    for path in markdown():
        for name, block in re.findall(r"^<!-- the whole of (\S+) -->\n(?:```c\n(.*?)^```\n)?",
                                      path.read_text(), re.M | re.S):
            if (ROOT / name).read_text() != block:
                yield f"{path.relative_to(ROOT)}: the program is not {name}"


def check_tests():
    folders = {path.name: path for path in (ROOT / "tests").rglob("*") if path.is_dir()}
    for path in markdown():
        for suite, name in re.findall(
                r"`(contract|source|stress|unit|secure|fault)[./](?!c`)(\w+)`", path.read_text()):
            folder = folders[suite]
            if not (folder / f"{name}.c").exists() and not (folder / name).is_dir() and not (
                    re.search(rf"NAME {suite}\.{name}\b", (folder / "CMakeLists.txt").read_text())):
                yield f"{path.relative_to(ROOT)}: there is no test {suite}.{name}"
        for suite, name, case in re.findall(r"`(\w+)\.(\w+):(\w+)`", path.read_text()):
            file = ROOT / "tests" / suite / f"{name}.c"
            if not file.exists() or f"XT_TEST({case})" not in file.read_text():
                yield f"{path.relative_to(ROOT)}: there is no test {suite}.{name}:{case}"


def source_files():
    for folder in ("include", "src", "tree", "dropin", "tests", "bench", "tools", "examples",
                   "scripts", "cmake", "python", "java/src"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".c", ".h", ".py", ".cmake", ".pml", ".sh", ".txt", ".supp"}:
                yield path


class Tree:
    """The source, as far as "cited" asks for it."""

    def __init__(self):
        self.texts = {path.relative_to(ROOT).as_posix(): path.read_text(errors="replace")
                      for path in source_files()}
        self.words = set(re.findall(r"\w+", " ".join(self.texts.values())))

    def files(self, name):
        """Those that a page calls by this name: a path, or its last parts."""
        return [path for path in self.texts
                if f"/{path}".endswith(f"/{name.removeprefix('../')}")]

    def unknown(self, text):
        """What a page names that is not there."""
        for word in re.findall(r"`([\w./]+?)(?:\(\))?`", text):
            if re.search(r"\.[ch]$", word):
                known = "NAME" in word or self.files(word)
            else:
                known = (not re.fullmatch(r"[a-z]+_\w+", word) or
                         word in self.words | MADE_NAMES)
            if not known:
                yield f"there is no {word}"
        for names, file in re.findall(r"((?:`\w+(?:\(\))?`(?:, | and |, and ))*`\w+(?:\(\))?`)\s+"
                                      r"in\s+`([\w/.]+\.[chpy]+)`", " ".join(text.split())):
            for name in re.findall(r"`(\w+)", names):
                if "NAME" not in name + file and not any(
                        re.search(rf"\b{name}\b", self.texts[path]) for path in self.files(file)):
                    yield f"there is no {name} in {file}"


def check_cited():
    tree = Tree()
    inside = ROOT / "docs" / "internals"
    for path in sorted(inside.glob("*.md")):
        for fault in tree.unknown(prose(path)):
            yield f"docs/internals/{path.name}: {fault}"

    sentences = set(re.findall(r"^\| (S\d+) \|", (inside / "contract.md").read_text(), re.M))
    hazards = set(re.findall(r"^\| (\d+) \|", (inside / "core.md").read_text(), re.M))
    cited = set()
    for path, text in tree.texts.items():
        if not path.startswith("tests/"):
            continue
        here = set(re.findall(r"\bS\d{1,2}\b", text))
        cited |= here
        for sentence in sorted(here - sentences):
            yield f"{path}: contract.md has no {sentence}"
        for hazard in sorted(set(re.findall(r"\bhazards?[ _](\d+)", text)) - {
                number.zfill(width) for number in hazards for width in (1, 2)}):
            yield f"{path}: core.md has no hazard {hazard}"
    for sentence in sorted(sentences - cited):
        yield f"docs/internals/contract.md: no test cites {sentence}"


def check_systems():
    table = (ROOT / "PLATFORMS.md").read_text()
    rows = re.findall(r"^\| [^|]+ \| ([a-z, ]+) \| [123n]", table, re.M)
    known = {", ".join(system.backends): system.name for system in systems.systems()}
    for listed in sorted({*rows} ^ {*known}):
        where = f"its row of {known[listed]}" if listed in known else "src/Sources.cmake"
        yield f"PLATFORMS.md: {where} is missing: {listed}"
    page = (MAN / "xpoll_backends.7").read_text()
    for name in sorted(set(re.findall(r"^\.It Cm (\w+) Ta", page, re.M)) ^ {*systems.backends()}):
        yield f"docs/man/xpoll_backends.7 and src/Sources.cmake do not agree on {name}"


def check_address():
    """Addresses there are this one, those below it, and OTHERS."""
    home = re.search(r'HOMEPAGE_URL "(.+)"', (ROOT / "CMakeLists.txt").read_text())[1]
    reports = "no public address yet" if ".example/" in home else home
    if reports not in (ROOT / "SECURITY.md").read_text():
        yield f"SECURITY.md: does not say where to report: {reports}"
    for name in METADATA:
        text = (ROOT / name).read_text()
        written = re.search(r'(?:<url>|Homepage = ")(https?://[^<"]+)', text)[1]
        if written != home:
            yield f"{name}: {written} is not HOMEPAGE_URL, {home}"
        for found in re.findall(r'https?://[^<"\s]+', text):
            if not f"{found}/".startswith((f"{home}/", f"{home}.git/", *OTHERS)):
                yield f"{name}: {found} is not below {home}"


CHECKS = {"names": check_names, "examples": check_examples, "links": check_links,
          "paths": check_paths, "copies": check_copies, "lists": check_lists,
          "tests": check_tests, "cited": check_cited, "systems": check_systems,
          "address": check_address}


def self_test():
    """Planted faults of "cited", and a page without any."""
    tree = Tree()
    sound = ("`check_cited` in `scripts/docs.py`; `Tree` and `self_test()` in `docs.py`, "
             "`src/xpoll.map`")
    if found := list(tree.unknown(sound)):
        sys.exit(f"FAIL: reported without a fault: {found}")
    for fault in (f"`{'xp'}_planted`", f"`{'xp'}_planted()`", "`scripts/xpoll.h`",
                  "`planted/xpoll.h`", "`check_cited` in\n`scripts/site.py`",
                  "`prose` and `check_cited` in `site.py`"):
        if not list(tree.unknown(fault)):
            sys.exit(f"FAIL: not found: {fault}")
    print("docs: every planted fault was found")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=CHECKS)
    parser.add_argument("--installed", type=Path)
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        self_test()
        return
    findings = []
    if arguments.installed:
        found = sorted(arguments.installed.rglob("*.md"))
        findings += check_links(arguments.installed, found)
        findings += [] if found else ["no page is installed"]
    else:
        for name, check in CHECKS.items():
            if arguments.only in (None, name):
                findings += check()
    print("\n".join(findings) or "docs: nothing to complain about")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
