#!/usr/bin/env python3
"""nginx with thousands of idle connections: epoll, poll, and poll with the drop-in.

  bench/nginx.py [-n IDLE] [-c ACTIVE] [-t SECONDS] [--rounds N] [--nginx PATH] [--xpoll PATH]

In each round each variant gets a turn: the server is started, the idle connections
are made, and wrk loads it for SECONDS, after a tenth of that to warm up.  Prints the
median of the rounds.  The server shares this machine's cores with wrk.

NGINX has to have its poll module; tests/dropin/get-nginx.sh builds it.
Exit codes: 0 done, 1 a run failed, 77 something is not installed.
"""

import argparse
import contextlib
import os
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CONFIG = """
daemon off; worker_processes 1; pid nginx.pid; error_log error.log;
worker_rlimit_nofile {files};
events {{ use {method}; worker_connections {connections};
    multi_accept on; }}
http {{
    access_log off; client_header_timeout 1h; keepalive_timeout 1h;
    keepalive_requests 1000000000;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server {{ listen 127.0.0.1:{port} backlog=4096; root {folder}; }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Variant:
    def __init__(self, name, method, front):
        self.name, self.method, self.front = name, method, front
        self.rates, self.costs = [], []  # requests per second, us of CPU per request


class Server:
    """One turn of one variant."""

    def __init__(self, variant, options, folder):
        self.name = variant.name
        self.port = free_port()
        self.idle = contextlib.ExitStack()
        config = os.path.join(folder, "nginx.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(CONFIG.format(method=variant.method, port=self.port, folder=folder,
                                     files=options.n + 4096, connections=options.n + 2048))
        self.process = subprocess.Popen([*variant.front, options.nginx, "-p", folder,
                                         "-c", config])

    def connect(self, count):
        end = time.monotonic() + 30
        while count > 0:
            try:
                self.idle.enter_context(
                    socket.create_connection(("127.0.0.1", self.port), 10))
                count -= 1
            except ConnectionRefusedError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.05)

    def worker(self):
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return file.read().split()[0]

    def wait_until_accepted(self, count):
        while len(os.listdir(f"/proc/{self.worker()}/fd")) <= count:
            time.sleep(0.05)

    def cpu(self):
        """Seconds that the worker has computed."""
        with open(f"/proc/{self.worker()}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def load(self, active, seconds):
        """(requests in a second, requests)"""
        out = subprocess.run(["wrk", "-t1", f"-c{active}", f"-d{seconds}s",
                              f"http://127.0.0.1:{self.port}/small"], capture_output=True,
                             text=True, check=True).stdout
        if re.search("Socket errors|Non-2xx", out):
            raise RuntimeError(f"{self.name}: requests failed:\n{out}")
        return (float(re.search(r"Requests/sec: *([\d.]+)", out)[1]),
                int(re.search(r"(\d+) requests in", out)[1]))

    def stop(self):
        self.idle.close()
        self.process.send_signal(signal.SIGQUIT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def raise_limit(wanted):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))


def measure(options, folder):
    variants = [Variant("epoll", "epoll", []), Variant("poll", "poll", []),
                Variant("poll+drop-in", "poll", [options.xpoll, "run", "--poll", "--"])]
    for turn in range(options.rounds):
        for i in range(len(variants)):
            variant = variants[(turn + i) % len(variants)]
            server = Server(variant, options, folder)
            try:
                server.connect(options.n)
                server.wait_until_accepted(options.n)
                server.load(options.c, max(1, options.t // 10))
                before = server.cpu()
                rate, requests = server.load(options.c, options.t)
                variant.rates.append(rate)
                variant.costs.append((server.cpu() - before) * 1e6 / requests)
            finally:
                server.stop()
    return variants


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=9000, help="idle connections of each server")
    parser.add_argument("-c", type=int, default=10, help="active connections")
    parser.add_argument("-t", type=int, default=2, help="seconds for each load")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nginx", default=os.path.join(ROOT, "build/programs/nginx"))
    parser.add_argument("--xpoll", default=os.path.join(ROOT, "build/release/bin/xpoll"))
    options = parser.parse_args()
    for needed in ("wrk", options.nginx, options.xpoll):
        if shutil.which(needed) is None:
            print(f"{needed} is not there: nothing measured")
            sys.exit(77)
    raise_limit(options.n + 1000)
    with tempfile.TemporaryDirectory(prefix="xpoll-nginx.") as folder:
        os.chmod(folder, 0o755)
        os.mkdir(os.path.join(folder, "logs"))
        with open(os.path.join(folder, "small"), "w", encoding="ascii") as file:
            file.write("hello\n")
        try:
            variants = measure(options, folder)
        except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
            print(f"nginx.py: {error}", file=sys.stderr)
            sys.exit(1)
    print(f"nginx, {options.n} idle connections, {options.c} active; "
          f"{options.rounds} x {options.t} s, median of the rounds\n")
    print(f"{'variant':<14}{'requests/s':>12}{'x epoll':>9}{'CPU us/request':>16}  spread")
    base = statistics.median(variants[0].rates)
    for variant in variants:
        rate = statistics.median(variant.rates)
        print(f"{variant.name:<14}{rate:>12,.0f}{rate / base:>9.2f}"
              f"{statistics.median(variant.costs):>16.1f}  "
              f"{min(variant.rates):,.0f}..{max(variant.rates):,.0f}")


if __name__ == "__main__":
    main()
