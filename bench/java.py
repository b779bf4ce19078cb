#!/usr/bin/env python3
"""Measure the Java binding: looptest beside Java's Selector and C, the table of 1999, and the JDK's
HTTP server on both selectors.

  java.py [--quick] [--part looptest|servers|http]

Makes the demo jar (build/release/java), runs it, and writes java-looptest.json and
java-servers.json and java-http.json in build/bench;
then it writes the page of ./dev bench, which shows them.
bench/report/main.py readme --only java puts them into java/README.md.

Servers run in turns, round after round in another order, each in a Java of its own with the same
flags; the demo's Client loads them, and the processor time of the server alone is measured.
Exits with 77 where there is no JDK or no Maven.
"""
import argparse
import datetime
import json
import os
import platform
import re
import resource
import subprocess
import sys
from pathlib import Path

import http_load
import rounds

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
FLAGS = ["-XX:+UseSerialGC", "-Xms1g", "-Xmx1g"]
PIPES = (8, 1000)
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
# The example java/examples/HttpServer.java, unmodified.
IDLE, ACTIVE = 10000, 100
SELECTORS = ("JDK", "xpoll")


def find_command():
    """Java with the demo jar; or the end of this program."""
    code = subprocess.run(["sh", ROOT / "java" / "maven.sh", BUILD / "java", "package",
                           "-DskipTests"], check=False).returncode
    if code:
        sys.exit(code)
    found = subprocess.run(["sh", ROOT / "java" / "find-jdk.sh"], capture_output=True, text=True,
                           check=True)
    jar = max((BUILD / "java").glob("xpoll-*-demo.jar"))
    return [Path(found.stdout.strip()) / "bin" / "java", *FLAGS, "-jar", jar]


def numbers(line):
    """The words of a line of key=value, numbers where they are such."""
    pairs = re.findall(r"(\w+)=(\S+)", line)
    return {key: float(value) if re.fullmatch(r"[\d.]+", value) else value
            for key, value in pairs}


def from_c(pipes):
    """The same loop without Java."""
    command = [BUILD / "bin/xpoll", "bench", "looptest", "-n", str(pipes), "--backend", "epoll",
               "--peers", "none", "-t", "1", "--rounds", "3", "--json", "-"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    row = json.loads(run.stdout)["results"][0]
    return {"variant": "c", "pipes": pipes, "reads_per_s": row["reads_per_second"],
            "cpu_ns_per_read": row["ns_per_read"]}


def looptest(java, quick):
    """The one thread never sleeps, so processor time shows it, on a busy machine as well."""
    for pipes in PIPES:
        run = subprocess.run([*java, "LoopTest", "--pipes", str(pipes), "--rounds",
                              "3" if quick else "9", "--warm-up", "500" if quick else "1500"],
                             check=True, capture_output=True, text=True)
        yield from_c(pipes)
        yield from (numbers(line) for line in run.stdout.splitlines()
                    if line.startswith("variant="))


def serve_once(java, arguments, connections, writes):
    """One server, one client; what the server printed."""
    with subprocess.Popen([*java, *arguments, "--port", "0"], stdout=subprocess.PIPE,
                          text=True) as server:
        port = re.search(r"port (\d+)", server.stdout.readline()).group(1)
        client = subprocess.run([*java, "Client", "--port", port, str(connections),
                                 "localhost", str(writes * 10 // 1024)],
                                stdout=subprocess.DEVNULL, timeout=300, check=False)
        report = [numbers(line) for line in server.stdout if line.startswith("server=")]
        server.wait(timeout=300)
    if client.returncode or not report:
        sys.exit("java.py: a run failed")
    return report[0]


def servers(java, quick):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for connections in (1000, 8000) if quick else (1000, 4000, 8000):
        if connections + SPARE_DESCRIPTORS > most:
            print(f"{connections} connections: only {most} descriptors are allowed; left out")
            continue
        runs = {name: [] for name in SERVERS}
        for number, name in rounds.turns(list(SERVERS), 1 if quick else 3):
            print(f"  {connections} connections, round {number + 1}: {name}", file=sys.stderr)
            runs[name].append(serve_once(java, SERVERS[name], connections,
                                         51200 if quick else 512000))
        for name, samples in runs.items():
            yield {**rounds.medians(samples), "server": name, "connections": connections,
                   "in_1999_s": IN_1999.get(name, {}).get(connections)}


def processor_time(process):
    """Of the threads of a server, but those that compile and collect garbage, in seconds."""
    spent = 0
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        try:
            if not (task / "comm").read_text().startswith(("C1 ", "C2 ", "VM ")):
                spent += int((task / "schedstat").read_text().split()[0])
        except OSError: # The thread has ended.
            pass
    return spent / 1e9


def http_once(java, selector, requests):
    """One server on one selector, under load."""
    flags = java[:-2]
    if selector == "xpoll":
        agent = next((BUILD / "java/nio").glob("xpoll-nio-*.jar"))
        flags = [*flags, f"-javaagent:{agent}", "--enable-native-access=ALL-UNNAMED"]
    classes = BUILD / "java/http"
    subprocess.run([java[0].parent / "javac", "-d", classes,
                    ROOT / "java/examples/HttpServer.java"], check=True)
    with subprocess.Popen([*flags, "-cp", classes, "HttpServer"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as server:
        port = int(re.search(r"port (\d+)", server.stdout.readline()).group(1))
        load = http_load.Load(port, IDLE, ACTIVE)
        load.run(requests) # Java compiles meanwhile.
        began = processor_time(server)
        load.run(requests)
        spent = processor_time(server) - began
        load.close()
        server.stdin.close()
    return {"cpu_s": spent, "us_per_request": 1e6 * spent / requests}


def http(java, quick):
    """The JDK's server with idle and active connections, in alternating runs."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if IDLE + ACTIVE + SPARE_DESCRIPTORS > most:
        print(f"{IDLE} idle connections: only {most} descriptors are allowed; left out")
        return
    runs = {name: [] for name in SELECTORS}
    for number, name in rounds.turns(list(SELECTORS), 1 if quick else 11):
        print(f"  HTTP server, round {number + 1}: {name}", file=sys.stderr)
        runs[name].append(http_once(java, name, 5000 if quick else 20000))
    for name, samples in runs.items():
        times = [sample["us_per_request"] for sample in samples]
        yield {**rounds.medians(samples), "selector": name, "idle": IDLE, "active": ACTIVE,
               "least": min(times), "most": max(times), "times": times}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true",
                        help="one round, a tenth of the writes, no 4000 connections")
    parser.add_argument("--part", choices=("looptest", "servers", "http"), help="only this")
    given = parser.parse_args()
    java = find_command()
    version = subprocess.run([java[0], "-version"], capture_output=True, text=True,
                             check=False).stderr
    for part in looptest, servers, http:
        if given.part not in (None, part.__name__):
            continue
        rows = list(part(java, given.quick))
        rounds.save(str(ROOT / f"build/bench/java-{part.__name__}.json"), {
            "measured": datetime.date.today().isoformat(), "java": version.splitlines()[0],
            "kernel": platform.release(), "processors": os.cpu_count(), "flags": FLAGS,
            "load": os.getloadavg(), "results": rows})
        for row in rows:
            print("  ".join(f"{key}={value}" for key, value in row.items()))
    subprocess.run([sys.executable, ROOT / "bench" / "report" / "main.py", "page",
                    ROOT / "build" / "bench"], check=True)


if __name__ == "__main__":
    main()
