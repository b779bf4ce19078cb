#!/usr/bin/env python3
"""What the start of a program costs with the drop-in: processor time of true(1).

  start.py [--json FILE] [--rounds N]

By itself, with libxpoll-poll.so in LD_PRELOAD, and by xpoll run.
"""

import argparse
import os
import shutil
import statistics

import rounds

BUILD = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build/release")
TRUE = [shutil.which("true")]
PRELOAD = {**os.environ, "LD_PRELOAD": os.path.join(BUILD, "lib/libxpoll-poll.so")}
WAYS = {"by itself": (TRUE, os.environ), "preload alone": (TRUE, PRELOAD),
        "xpoll run": ([os.path.join(BUILD, "bin/xpoll"), "run", "--poll", "--", *TRUE],
                      os.environ)}


def start(command, environment):
    """Microseconds."""
    pid = os.posix_spawn(command[0], command, environment)
    _, status, used = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"start.py: {' '.join(command)} failed")
    return 1e6 * (used.ru_utime + used.ru_stime)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="write the numbers there, too")
    parser.add_argument("--rounds", type=int, default=500)
    options = parser.parse_args()
    times = {way: [] for way in WAYS}
    for _, way in rounds.turns(list(WAYS), options.rounds):
        times[way].append(start(*WAYS[way]))
    rows = [{"program": "true", "variant": way, "cpu_us": statistics.median(found)}
            for way, found in times.items()]
    for row in rows:
        print(f"{row['variant']:<16}{row['cpu_us']:8.0f} us")
    if options.json:
        rounds.save(options.json, {"results": rows})


if __name__ == "__main__":
    main()
