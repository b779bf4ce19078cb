#!/usr/bin/env python3
"""Run gcc -fanalyzer, clang --analyze and cppcheck over the library, drop-ins and command.

  analyze.py [--only gcc|clang|cppcheck] [FILE...]

A finding is a failure unless scripts/analyze-allowed.txt lists it with a reason.  An
entry there that matches no line of the source any more is a failure, too.  The exit
status is 77 if none of the tools is installed.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = ROOT / "scripts" / "analyze-allowed.txt"
FOLDERS = ("src", "dropin", "tools", "tree")
INCLUDES = [f"-I{folder}" for folder in
            ("include", "dropin", "dropin/poll", "dropin/kqueue", "dropin/kqueue/include",
             "tools/xpoll", "bench", "tests/lib/kernels/sunos/devpoll/include",
             "tests/lib/kernels/sunos/port/include")]
# What CMake would say.
DEFINES = ["-D_GNU_SOURCE=", "-DXPOLL_ASSERTS",
           '-DKQ_VERSION="0.0.0"', '-DTOOL_LIBRARIES="../lib"', '-DTOOL_LIBRARIES_BUILT="../lib"']
CODE = ["-std=c11", *DEFINES, "-iquotesrc", *INCLUDES]
COMMANDS = {
    "gcc": ["gcc", *CODE, "-O2", "-fanalyzer", "-fdiagnostics-plain-output", "-c",
            "-o", os.devnull],
    # A third of the states that clang explores by default: a minute instead of three.
    "clang": ["clang", *CODE, "--analyze", "-Xclang", "-analyzer-output=text",
              "-Xclang", "-analyzer-config", "-Xclang", "max-nodes=75000",
              "-fno-caret-diagnostics", "-fno-color-diagnostics", "-o", os.devnull],
    "cppcheck": ["cppcheck", "--quiet", "--std=c11", "--enable=warning,performance,portability",
                 "--suppress=missingIncludeSystem", "--template={file}:{line}: warning: "
                 "{message} [{id}]", "-D__linux__", "-D__x86_64__", "-D__GNUC__=12",
                 *DEFINES, "-Isrc", *INCLUDES],
}
FINDING = re.compile(r"^(\S+?):(\d+):(?:\d+:)? warning: (.*) \[(?:CWE-\d+\] \[)?([\w.,=-]+)\]$")


def sources():
    """All but those for Windows, whose headers are not here."""
    names = [str(path.relative_to(ROOT)) for folder in FOLDERS
             for path in sorted((ROOT / folder).rglob("*.c"))]
    return [name for name in names if not name.startswith(("src/windows/", "tools/xpoll/windows/"))]


def allowed():
    """[(tool, check, file, line's text)].  An entry without a reason above it ends us.

    A comment is the reason of the entries below it; a blank line ends what it is for.
    """
    explained, entries = False, []
    for line in ALLOWED.read_text().splitlines():
        if not line.strip():
            explained = False
        elif line.startswith("#"):
            explained = True
        elif not explained:
            sys.exit(f"{ALLOWED.name}: no reason above: {line}")
        else:
            entries.append(tuple(line.split(None, 3)))
    return entries


def text_of(name, number):
    """A line of the tree's file, without the blanks around it; "" if there is none."""
    lines = (ROOT / name).read_text().splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def analyze(tool, name):
    """The findings in one file: (tool, check, file, number, message)."""
    # This drop-in's <sys/epoll.h> would hide the system's from all others.
    own = ["-Idropin/epoll/include"] if name.startswith("dropin/epoll/") else []
    done = subprocess.run([*COMMANDS[tool], *own, name], cwd=ROOT, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    found = []
    for line in done.stdout.splitlines():
        match = FINDING.match(line)
        if match:
            file, number, message, check = match.groups()
            found.append((tool, check, os.path.normpath(file), int(number), message))
    if done.returncode != 0 and not found:
        sys.exit(f"analyze: {tool} {name}:\n{done.stdout}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=COMMANDS)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()

    tools = [tool for tool in ([options.only] if options.only else COMMANDS)
             if shutil.which(tool)]
    if not tools:
        print("SKIP: none of the analyzers is installed")
        sys.exit(77)
    jobs = [(tool, name) for tool in tools for name in options.files or sources()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda job: analyze(*job), jobs)
        findings = sorted({finding for found in results for finding in found})

    entries = allowed()
    new = [finding for finding in findings
           if (*finding[:3], text_of(*finding[2:4])) not in entries]
    stale = [entry for entry in entries
             if entry[3] not in map(str.strip, (ROOT / entry[2]).read_text().splitlines())]
    for tool, check, name, number, message in new:
        print(f"{name}:{number}: {message} [{tool} {check}]\n    {text_of(name, number)}")
    for entry in stale:
        print(f"{ALLOWED.name}: no such line any more: {' '.join(entry)}")
    print(f"analyze: {len(new)} findings in {len(set(name for _, name in jobs))} files by "
          f"{', '.join(tools)}; {len(findings) - len(new)} are allowed")
    sys.exit(1 if new or stale else 0)


if __name__ == "__main__":
    main()
