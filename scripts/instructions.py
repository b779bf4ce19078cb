#!/usr/bin/env python3
"""Count instructions of xpoll bench, by valgrind's callgrind.

  instructions.py [BUILD]                            the library's own, for a read of looptest,
                                                     by function (default: build/release)
  instructions.py --json FILE WORKLOAD N OPERATIONS  all that an operation takes outside of the
                                                     kernel, and its system calls, for each row,
                                                     into FILE

Instructions do not vary with the load of the machine, so compare the first number before and
after a change of the hot path.  Exit code 77: valgrind is not installed.
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

FUNCTIONS_SHOWN = 12
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Where the library's files are, whatever else is called src.
LIBRARY = f"(^|/)src/({'|'.join(os.listdir(os.path.join(ROOT, 'src')))})/"
COUNTED = "bench_counted"  # runner.c calls it once for each row


def rows(build, *arguments):
    """For each row of xpoll bench: itself, its operations, and the lines of its profile."""
    with tempfile.TemporaryDirectory() as folder:
        table = os.path.join(folder, "table.json")
        # The profile before it takes away what all threads did until then.
        command = ["valgrind", "-q", "--tool=callgrind", "--fair-sched=try",
                   "--collect-systime=yes",
                   "--dump-before=" + COUNTED, "--dump-after=" + COUNTED,
                   f"--callgrind-out-file={folder}/%p", os.path.join(build, "bin", "xpoll"),
                   "bench", *arguments, "--rounds", "1", "--json", table]
        # Programs are not counted.
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True, env={**os.environ, "XPOLL_BENCH_PEERS": ""})
        _, errors = run.communicate()
        if run.returncode != 0:
            raise OSError(f"instructions.py: {' '.join(command)}:\n{errors}")
        with open(table, encoding="utf-8") as file:
            found = json.load(file)["results"]
        profiles = []
        for path in sorted(glob.glob(f"{folder}/{run.pid}.*"),
                           key=lambda path: int(path.rpartition(".")[2])):
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
            if f"desc: Trigger: --dump-after={COUNTED}" in lines:
                profiles.append(lines)
    if len(profiles) != len(found):
        raise OSError(f"instructions.py: {len(profiles)} profiles of {len(found)} rows")
    for row, lines in zip(found, profiles):
        unit = next(key[len("ns_per_"):] for key in row if key.startswith("ns_per_"))
        yield row, row[unit + "s"], lines


def costs(lines):
    """Self cost by function of the library; the profile does not say what is in the kernel."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as profile:
        profile.write("\n".join(lines) + "\n")
        profile.flush()
        text = subprocess.run(["callgrind_annotate", "--threshold=100", profile.name], check=True,
                              capture_output=True, text=True).stdout
    self_cost = collections.Counter()
    for count, file, function in re.findall(r"^ *([\d,]+) .*?(\S+):(\w+)(?: \[|$)", text, re.M):
        if re.search(LIBRARY, file):
            self_cost[function] += int(count.replace(",", ""))
    return self_cost


def totals(lines):
    """Instructions and system calls of a profile; what follows are the times of the calls."""
    summary = next(line for line in lines if line.startswith("summary: ")).split()
    return tuple(int(total) for total in (*summary[1:], 0)[:2])  # zeros at the end are left out


def show(build):
    row, reads, lines = next(rows(build, "looptest", "-n", "8", "--backend", "epoll",
                                  "--peers", "none", "--operations", "100000"))
    self_cost = costs(lines)
    print(f"{sum(self_cost.values()) / reads:8.0f} instructions per read, of {reads:.0f} reads:")
    for function, cost in self_cost.most_common(FUNCTIONS_SHOWN):
        print(f"{cost / reads:8.0f} {function}")


def save(path, workload, n, operations):
    build = os.path.join(ROOT, "build/release")
    found = []
    for row, count, lines in rows(build, workload, "-n", n, "--operations", operations):
        instructions, calls = totals(lines)
        found.append({"variant": row["variant"], "phase": row.get("phase"),
                      "instructions": instructions / count, "syscalls": calls / count})
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"workload": workload, "n": int(n), "rows": found}, file)


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # for "| head"
    if shutil.which("valgrind") is None:
        print("instructions.py: valgrind is not installed", file=sys.stderr)
        return 77
    if sys.argv[1:2] == ["--json"] and len(sys.argv) == 6:
        save(*sys.argv[2:])
    elif len(sys.argv) < 3:
        show(*(sys.argv[1:] or ["build/release"]))
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:
        sys.exit(str(error))
