#!/usr/bin/env python3
"""Measure the Java binding: what a call costs, looptest, and the table of 1999.

  java.py [--quick] [--only PARTS] [--connections N,N,N] [--rounds R] [--writes W]

Runs the demo jar (build/release/java) and writes java-costs.json,
java-looptest.json and java-servers.json in build/bench, which the page of
./dev bench shows.  A run with other --connections adds to the last file of
servers; bench/report/main.py readme --only java puts all into java/README.md.
The servers run in turns, round after round in another
order, each in a Java of its own with the same flags; the load comes from a C
program on the same machine.
Exits with 77 where there is no JDK or no jar.
"""
import argparse
import datetime
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
from pathlib import Path

import rounds

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
RESULTS = ROOT / "build" / "bench"
FLAGS = ["-XX:+UseSerialGC", "-Xms1g", "-Xmx1g"]
SERVERS = {
    "Poller, inline": ["PollingServer", "--inline"],
    "Poller, gangs": ["PollingServer"],
    "Poller, one-shot": ["PollingServer", "--oneshot", "2"],
    "java.nio Selector": ["NioServer"],
    "a thread each": ["SimpleServer"],
    "a virtual thread each": ["VirtualThreadServer"],
}
# Seconds for 102,400 writes, from the README of 1999: two processors of 350 MHz, Solaris 7.
IN_1999 = {"Poller, gangs": {1000: 11, 4000: 20, 8000: 39},
           "a thread each": {1000: 12, 4000: 37, 8000: 108}}
SPARE_DESCRIPTORS = 200


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(77)


def find_java():
    found = subprocess.run(["sh", ROOT / "java" / "find-jdk.sh"], capture_output=True, text=True)
    if found.returncode:
        skip("no JDK 22 or later")
    return Path(found.stdout.strip()) / "bin" / "java"


def find_jar():
    jars = sorted((BUILD / "java").glob("xpoll-*-demo.jar"))
    if not jars:
        skip("Maven has made no jar in build/release/java")
    return jars[-1]


def pairs(line):
    """The numbers of a line of key=value."""
    result = {}
    for key, value in re.findall(r"(\w+)=(\S+)", line):
        try:
            result[key] = float(value)
        except ValueError:
            result[key] = value
    return result


def run_lines(command, key):
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [pairs(line) for line in text.splitlines() if line.startswith(key + "=")]


def serve_once(command, connections, writes):
    """One server, one client; what the server printed, and its whole processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True) as server:
        port = re.search(r"port (\d+)", server.stdout.readline()).group(1)
        client = subprocess.Popen([BUILD / "bin" / "xpoll_java", "client", port, str(connections),
                                   str(writes)])
        report = [pairs(line) for line in server.stdout if line.startswith("server=")]
        server.wait(timeout=300)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        # The client is not waited for yet, so these are the server's alone.
        seconds = sum(getattr(after, name) - getattr(before, name)
                      for name in ("ru_utime", "ru_stime"))
        if client.wait(timeout=60) or not report:
            sys.exit("java.py: a run failed")
    return {**report[0], "total_cpu_s": seconds}


def table(java, jar, options):
    runs = {}
    for connections in options.connections:
        for number, name in rounds.turns(list(SERVERS), options.rounds):
            print(f"  {connections} connections, round {number + 1}: {name}", flush=True,
                  file=sys.stderr)
            command = [java, *FLAGS, "-jar", jar, *SERVERS[name]]
            runs.setdefault((name, connections), []).append(
                serve_once(command, connections, options.writes))
    return [summary(name, connections, samples)
            for (name, connections), samples in runs.items()]


def summary(name, connections, samples):
    row = {"server": name, "connections": connections, "runs": len(samples),
           "in_1999_s": IN_1999.get(name, {}).get(connections)}
    for key in ("data_ms", "cpu_ms", "cpu_us_per_event", "events", "threads", "rss_kb",
                "total_cpu_s"):
        values = [sample[key] for sample in samples]
        row[key] = statistics.median(values)
        row[f"{key}_range"] = [min(values), max(values)]
    return row


def print_table(rows, writes):
    print(f"\n{'connections':<13}{'server':<28}{'data s':>8}{'CPU s':>8}{'in all':>8}"
          f"{'us/event':>10}{'MB':>6}{'threads':>9}{'1999 s':>8}")
    for row in rows:
        print(f"{row['connections']:<13}{row['server']:<28}{row['data_ms'] / 1e3:>8.2f}"
              f"{row['cpu_ms'] / 1e3:>8.2f}{row['total_cpu_s']:>8.2f}"
              f"{row['cpu_us_per_event']:>10.2f}{row['rss_kb'] / 1024:>6.0f}"
              f"{row['threads']:>9.0f}{row['in_1999_s'] or '':>8}")
    print(f"\n{writes:,} writes of 10 bytes; in 1999 they were 102,400, on two processors of "
          f"350 MHz.\nCPU s: of the server while the writes came; in all: with its start and the "
          f"connections.\nThe load comes from the same processors; a load of "
          f"{os.getloadavg()[0]:.1f} was on the machine.")


def enough_descriptors(connections):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    kept = [n for n in connections if n + SPARE_DESCRIPTORS <= most]
    for n in sorted(set(connections) - set(kept)):
        print(f"{n} connections: only {most} descriptors are allowed; left out")
    return kept


def looptest(java, jar, options):
    rows = []
    for pipes in (8, 1000):
        # They are short: with three of them the median still depends on which they were.
        rows += run_lines([java, *FLAGS, "-jar", jar, "LoopTest", "--pipes", str(pipes),
                           "--rounds", str(3 * options.rounds), "--warm-up",
                           "500" if options.quick else "1500"], "variant")
    # The one thread never sleeps, so processor time shows it, on a busy machine as well.
    print(f"\n{'looptest':<20}{'pipes':>7}{'reads/s':>10}{'x Selector':>12}{'CPU ns/read':>13}"
          f"{'bytes/read':>12}")
    for row in rows:
        print(f"{row['variant']:<20}{row['pipes']:>7.0f}{row['reads_per_s']:>10.0f}"
              f"{row['ratio']:>12.2f}{row['cpu_ns_per_read']:>13.0f}"
              f"{row['bytes_per_read']:>12.2f}")
    return rows


def costs(java, jar, count):
    """Nanoseconds of processor time for each call, from C and from Java, in turns."""
    commands = {"c": [BUILD / "bin" / "xpoll_java", "costs"],
                "java": [java, *FLAGS, "-jar", jar, "CallCosts"]}
    samples = {}
    for _, side in rounds.turns(list(commands), count):
        for row in run_lines(commands[side], "call"):
            samples.setdefault(row["call"], {}).setdefault(side, []).append(row["ns"])
    rows = [{"call": call, **{side: statistics.median(ns) for side, ns in sides.items()}}
            for call, sides in samples.items()]
    print(f"\n{'call':<16}{'C ns':>8}{'Java ns':>9}{'added':>7}")
    for row in rows:
        print(f"{row['call']:<16}{row['c']:>8.0f}{row['java']:>9.0f}"
              f"{row['java'] - row['c']:>7.0f}")
    return rows


def save(name, about, rows):
    """With the load of the machine: whether somebody else worked on it."""
    rounds.save(str(RESULTS / f"{name}.json"), {**about, "load": os.getloadavg(), "results": rows})


def of_other_runs(about, rows):
    """Servers' rows of the last file for connections that were not measured now."""
    try:
        last = json.loads((RESULTS / "java-servers.json").read_text())
    except (OSError, ValueError):
        return []
    if any(last.get(key) != value for key, value in about.items()):
        return []
    done = {row["connections"] for row in rows}
    return [row for row in last["results"] if row["connections"] not in done]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true",
                        help="one round, a tenth of the writes, no 4000 connections")
    parser.add_argument("--connections",
                        type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--only", default="costs,looptest,servers", metavar="PARTS",
                        type=lambda text: text.split(","))
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--writes", type=int)
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 3)
    options.writes = options.writes or (51200 if options.quick else 512000)
    options.connections = enough_descriptors(
        options.connections or ([1000, 8000] if options.quick else [1000, 4000, 8000]))

    java, jar = find_java(), find_jar()
    version = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
    about = {"measured": datetime.date.today().isoformat(), "java": version.splitlines()[0],
             "kernel": platform.release(), "processors": os.cpu_count(), "flags": FLAGS,
             "writes": options.writes, "rounds": options.rounds}
    if "costs" in options.only:
        save("java-costs", about, costs(java, jar, options.rounds))
    if "looptest" in options.only:
        save("java-looptest", about, looptest(java, jar, options))
    if "servers" in options.only:
        rows = table(java, jar, options)
        rows += of_other_runs(about, rows)
        rows.sort(key=lambda row: row["connections"])
        save("java-servers", about, rows)
        print_table(rows, options.writes)


if __name__ == "__main__":
    main()
