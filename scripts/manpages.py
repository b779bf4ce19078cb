#!/usr/bin/env python3
"""Check that every manual page is readable on a terminal of 80 columns.

  manpages.py groff|man|mandoc [PAGE...]   one line per finding; exit 1 if there is any
  manpages.py --self-test                  each kind of finding, in pages made for it

Renders the pages of docs/man, or those named, with groff(1), with the man(1) of man-db or with
mandoc(1). Findings are warnings of the renderer, lines that are too long, and tables whose last
column is so narrow that it has one word in a line. groff 1.23 indents examples by two columns
more than groff 1.22 and mandoc: it may print 80 columns, and the others 78. man opens the pages by
their names in the source tree, including links. The exit status is 77 if the renderer is not
installed.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MAN = Path(__file__).resolve().parent.parent / "docs" / "man"


def columns():
    """How wide a page may be, by the groff that is here."""
    if not shutil.which("groff"):
        return 78
    said = subprocess.run(["groff", "--version"], capture_output=True, text=True).stdout
    version = re.search(r"version (\d+)\.(\d+)", said)
    new = version is not None and (int(version[1]), int(version[2])) >= (1, 23)
    return 80 if new and sys.argv[1:2] != ["mandoc"] else 78


COLUMNS = columns()
RENDERERS = {
    "groff": ["groff", "-t", "-mdoc", "-Tutf8", "-wmac", "-P-cbou", f"-rLL={COLUMNS}n"],
    "man": ["man", "--warnings", "-l"],
    "mandoc": ["mandoc", "-T", "utf8", "-O", f"width={COLUMNS}", "-W", "warning"],
}
# Nothing else of the caller's, whose MANOPT, MANROFFOPT or pager would change what is printed.
ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANWIDTH": str(COLUMNS),
               "MANPAGER": "cat", "PAGER": "cat", "HOME": "/",
               "MAN_DISABLE_SECCOMP": "1"} # A container may allow less than its filter needs.


def installed(renderer):
    if not shutil.which(renderer):
        return False
    if renderer != "man":
        return True
    # Other commands of this name know no -l; that of a minimal system is a notice.
    version = subprocess.run(["man", "--version"], capture_output=True, text=True)
    return re.match(r"man \d", version.stdout) is not None


def render(renderer, page):
    """(text without overstriking, warnings)"""
    result = subprocess.run([*RENDERERS[renderer], page], capture_output=True, text=True,
                            encoding="utf-8", env=ENVIRONMENT)
    warnings = result.stderr.strip()
    if result.returncode != 0 and not warnings:
        warnings = f"exit status {result.returncode}"
    return re.sub(".\b", "", result.stdout), warnings


def squeezed(lines):
    """The lines that begin a column of single words, three or more below each other."""
    lonely = 0
    for number, line in enumerate(lines, 1):
        if re.match(r" {40,}\S+$", line):
            lonely += 1
            if lonely == 3:
                yield number - 2
        else:
            lonely = 0


def check(renderer, page):
    text, warnings = render(renderer, page)
    lines = text.splitlines()
    yield from warnings.splitlines()
    if len(lines) < 5:
        yield "nothing is printed"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield f"line {number} as printed has {len(line)} columns: {line.strip()}"
    for number in squeezed(lines):
        yield f"line {number} as printed: one word a line: {lines[number - 1].strip()}"


def findings(renderer, paths):
    for path in paths:
        if path.is_symlink() and renderer != "man":
            continue # The page that it leads to is read under its own name.
        for finding in check(renderer, path):
            yield f"{path.name}: by {renderer}: {finding}"


PAGE = """.Dd January 1, 2000
.Dt PLANTED 7
.Os
.Sh NAME
.Nm planted
.Nd a page for the test
.Sh DESCRIPTION
"""
PLANTED = {
    "columns": ".Bd -literal\n" + "x" * 90 + "\n.Ed\n",
    "one word a line": f""".Bl -column "{'m' * 58}" "{'m' * 10}"
.It narrow Ta considerations recommendations characteristics responsibilities
.El
""",
    "macro|no_such": ".no_such macro\n",
}


def self_test():
    """What was not found, by the renderers that are here."""
    here = [renderer for renderer in RENDERERS if installed(renderer)]
    if not here:
        skip("none of groff, man-db and mandoc is installed")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "planted.7"
        for renderer in here:
            page.write_text(PAGE + "It has none.\n")
            yield from check(renderer, page)
            for pattern, text in PLANTED.items():
                page.write_text(PAGE + text)
                if not re.search(pattern, "\n".join(check(renderer, page))):
                    yield f"{renderer}: nothing found for {pattern}"
            page.write_text(".so man7/other.7\n")
            if not list(check(renderer, page)):
                yield f"{renderer}: a page that leads nowhere was not found"


def skip(why):
    print(f"SKIP: {why}")
    sys.exit(77)


def main():
    if sys.argv[1:] == ["--self-test"]:
        found = list(self_test())
    elif len(sys.argv) > 1 and sys.argv[1] in RENDERERS:
        renderer, *named = sys.argv[1:]
        if not installed(renderer):
            name = "man-db" if renderer == "man" else renderer
            skip(f"{name} is not installed; ./dev check installs it")
        found = list(findings(renderer, map(Path, named) if named else sorted(
            MAN.glob("*.[1-8]"))))
    else:
        sys.exit(__doc__)
    print("\n".join(found) or "manpages: nothing to complain about")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
