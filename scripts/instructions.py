#!/usr/bin/env python3
"""Count the library's own instructions per read of looptest, by valgrind's callgrind.

usage: instructions.py [BUILD]      (default: build/release)

Instructions do not vary with the load of the machine, so compare this number before and
after a change of the hot path.  Those of the kernel and of the program do not count.
"""
import collections
import os
import re
import signal
import subprocess
import sys
import tempfile

SECONDS = "1"
FUNCTIONS_SHOWN = 12
LIBRARY = r"/src/(base|os|backend|source|core)/"


def collect(build, folder):
    out = os.path.join(folder, "callgrind.out")
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out,
               os.path.join(build, "bin", "xpoll"), "bench", "looptest", "-n", "8",
               "--backend", "epoll", "--peers", "none", "-t", SECONDS, "--rounds", "1"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"instructions.py: {' '.join(command)}:\n{run.stderr}")
    with open(out, encoding="utf-8") as file:
        return file.read().splitlines()


def costs(lines):
    """Self cost by function of the library, and how often xpoll_wait was called."""
    names = {}  # (kind, number): the name that the number stands for
    self_cost = collections.Counter()
    waits = 0
    file = function = called = ""
    skip = False

    def name(kind, text):
        match = re.match(r"\((\d+)\)(?: (.*))?$", text)
        if match.group(2) is not None:
            names[kind, match.group(1)] = match.group(2)
        return names[kind, match.group(1)]

    for line in lines:
        key, _, value = line.partition("=")
        if key in ("fl", "fi", "fe"):
            file = name("file", value)
        elif key == "cfi":
            name("file", value)
        elif key == "fn":
            function = name("fn", value)
        elif key == "cfn":
            called = name("fn", value)
        elif key == "calls":
            skip = True
            if called == "xpoll_wait":
                waits += int(value.split()[0])
        elif re.match(r"[+*\d-]", line):
            if not skip and re.search(LIBRARY, file):
                self_cost[function] += int(line.split()[-1])
            skip = False
    return self_cost, waits


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # for "| head"
    build = sys.argv[1] if len(sys.argv) > 1 else "build/release"
    with tempfile.TemporaryDirectory() as folder:
        self_cost, waits = costs(collect(build, folder))
    reads = waits / 2
    if not reads:
        sys.exit("instructions.py: no call of xpoll_wait was seen; is valgrind too old?")
    print(f"{sum(self_cost.values()) / reads:8.0f} instructions per read, of {reads:.0f} reads:")
    for function, cost in self_cost.most_common(FUNCTIONS_SHOWN):
        print(f"{cost / reads:8.0f} {function}")


if __name__ == "__main__":
    main()
