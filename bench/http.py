#!/usr/bin/env python3
"""Web servers with thousands of idle connections and a fixed active load.

In each round each server gets a turn at each number of idle connections: it is
started, they are made, wrk loads it as fast as it can with ACTIVE connections, then
httperf asks for RATE pages a second, each over a connection of its own, as in the
kqueue paper.  Printed are medians of the rounds.  The servers are examples/http-hello
on each back end and in each mode, and those of nginx, haproxy and lighttpd that are
installed, on epoll, on poll, and on poll with the drop-in, and a server of asyncio on the
event loops of the Python of --python.  Server and load share this machine's processors.

How each of these compares with itself on epoll is printed besides: ratios of turns
of the same round, so what else the machine does concerns both, of the throughput and of the
worker's processor time for a request, which does not depend on the load generator.

Exit codes: 0 done, 1 a run failed, 2 wrong arguments, 77 wrk is not installed.
"""

import argparse
import collections
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

import rounds

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Arguments before the name of the configuration, the configuration, its words for epoll, poll.
Program = collections.namedtuple("Program", "arguments config epoll poll")
NGINX = Program(["-p", "{folder}", "-c"], """
daemon off; worker_processes 1; pid nginx.pid; error_log error.log;
worker_rlimit_nofile {files};
events {{ use {method}; worker_connections {connections}; multi_accept on; }}
http {{
    access_log off; client_header_timeout 1h; keepalive_timeout 1h;
    keepalive_requests 1000000000;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server {{ listen 127.0.0.1:{port} backlog=4096; root {folder}; }}
}}
""", "epoll", "poll")
HAPROXY = Program(["-db", "-f"], """
global
    {method}
    maxconn {connections}
    nbthread 1
defaults
    mode http
    timeout client 1h
    timeout server 1h
    timeout connect 5s
    timeout http-request 1h
    timeout http-keep-alive 1h
frontend front
    bind 127.0.0.1:{port} backlog 4096
    http-request return status 200 content-type text/plain string "Hello, xpoll!\\n"
""", "", "noepoll")
LIGHTTPD = Program(["-D", "-f"], """
server.document-root = "{folder}"
server.bind = "127.0.0.1"
server.port = {port}
server.event-handler = "{method}"
server.max-connections = {connections}
server.max-fds = {files}
server.listen-backlog = 4096
server.max-keep-alive-requests = 1000000000
server.max-keep-alive-idle = 3600
server.max-read-idle = 3600
server.stat-cache-engine = "simple"
""", "linux-sysepoll", "poll")
# On the loop that its argument names; it prints its port.
ASYNCIO = """
import asyncio, importlib, sys
PAGE = b"HTTP/1.1 200 OK\\r\\nContent-Length: 14\\r\\n\\r\\nHello, xpoll!\\n"

class Server(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.part = transport, b""

    def data_received(self, data):
        *requests, self.part = (self.part + data).split(b"\\r\\n\\r\\n")
        if requests:
            self.transport.write(PAGE * len(requests))
        if any(b"HTTP/1.0" in request for request in requests):
            self.transport.close()

async def serve():
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

importlib.import_module(sys.argv[1]).run(serve())
"""
PYTHON_HERE = {"PYTHONPATH": os.path.join(ROOT, "build/release/python")}
PROGRAMS = {"nginx": NGINX, "haproxy": HAPROXY, "lighttpd": LIGHTTPD}
BUILD = os.path.join(ROOT, "build")
COLUMNS = (("requests/s", "requests_per_second", ",.0f"), ("ms", "latency_ms", ".2f"),
           ("99 %: ms", "latency_99_ms", ".2f"), ("cpu us", "request_us", ".1f"),
           ("user us", "user_us", ".1f"), ("kernel us", "kernel_us", ".1f"),
           ("reply ms", "reply_ms", ".2f"), ("replies/s", "replies_per_second", ",.0f"),
           ("busy %", "busy_percent", ".1f"))
UNITS = {"us": 1e-3, "ms": 1, "s": 1e3, "m": 6e4}


class Server:
    """One server, from its start until stop(): a process with one that serves, `worker`, and idle
    connections, which belong to this process."""

    path = "/"

    def __init__(self, command, **more):
        self.idle = contextlib.ExitStack()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **more)

    def worker(self):
        return self.process.pid

    def connect(self, count):
        """Idle connections; returns when the server has accepted them all."""
        end = time.monotonic() + 60
        for _ in range(count):
            self.idle.enter_context(self.connect_one(end))
        while len(os.listdir(f"/proc/{self.worker()}/fd")) <= count:
            if time.monotonic() > end:
                raise RuntimeError("the server does not accept its connections")
            time.sleep(0.02)

    def connect_one(self, end):
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port), 10)
            except ConnectionRefusedError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.05)

    def used(self):
        """Seconds that the worker has computed: in user space, in the kernel."""
        with open(f"/proc/{self.worker()}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        tick = os.sysconf("SC_CLK_TCK")
        return int(fields[11]) / tick, int(fields[12]) / tick

    def computed(self):
        """Seconds that the worker has computed, to the nanosecond; no such kernel: None."""
        try:
            with open(f"/proc/{self.worker()}/schedstat", encoding="ascii") as file:
                return int(file.read().split()[0]) / 1e9
        except FileNotFoundError:
            return None

    def stop(self):
        self.idle.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Hello(Server):
    """A server that ends its first line with its port."""

    def __init__(self, command, **settings):
        super().__init__(command, stdout=subprocess.PIPE, text=True,
                         stderr=subprocess.DEVNULL, env=dict(os.environ, **settings))
        self.idle.callback(self.process.stdout.close)
        line = self.process.stdout.readline().split()
        if not line:
            self.stop()
            raise RuntimeError(f"{' '.join(command)} does not start")
        self.port = int(line[-1])


class Configured(Server):
    """A server of PROGRAMS, with one worker; front: a command to put in front of it."""

    path = "/small"

    def __init__(self, command, method, folder, connections, front=()):
        kind = PROGRAMS[os.path.basename(command)]
        os.makedirs(os.path.join(folder, "logs"), exist_ok=True)
        with open(os.path.join(folder, "small"), "w", encoding="ascii") as file:
            file.write("Hello, xpoll!\n")
        # Nobody else is given it while it is bound here, and the server may share it.
        held = socket.socket()
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        self.port = held.getsockname()[1]
        config = os.path.join(folder, "server.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(kind.config.format(
                method=getattr(kind, method), port=self.port, folder=folder,
                # lighttpd and haproxy count two descriptors for each.
                connections=connections + 800, files=2 * connections + 1700))
        arguments = [argument.format(folder=folder) for argument in kind.arguments]
        super().__init__([*front, command, *arguments, config],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.idle.callback(held.close)
        self.connect_one(time.monotonic() + 30).close()

    def worker(self):
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return (file.read().split() or [pid])[0]


def table_of_servers(options, folder):
    """name -> a function that starts it"""
    result = {}
    for backend in "epoll", "poll", "select":
        for mode, threads in ("level", 0), ("dispatch-1", 1), ("dispatch-2", 2):
            command = [options.hello, *(["--threads", str(threads)] if threads else []), "0"]
            result[f"hello-{backend}-{mode}"] = (
                lambda c=command, b=backend: Hello(c, XPOLL_BACKEND=b))
    for loop, module in ("epoll", "asyncio"), ("xpoll", "xpoll"), ("uvloop", "uvloop"):
        if subprocess.run([options.python, "-c", f"import {module}"], env=PYTHON_HERE,
                          capture_output=True, check=False).returncode == 0:
            command = [options.python, "-c", ASYNCIO, module]
            result[f"asyncio-{loop}"] = lambda c=command: Hello(c, **PYTHON_HERE)
    front = [options.xpoll, "run", "--poll", "--"]
    for name in PROGRAMS:
        for after, method, before in ("-epoll", "epoll", []), ("-poll", "poll", []), (
                "-poll+drop-in", "poll", front):
            program = find_program(options, name, method)
            if program:
                result[name + after] = lambda p=program, m=method, f=before: Configured(
                    p, m, folder, max(options.idle), f)
    return result


def find_program(options, name, method):
    """One that can do it; an nginx of a distribution may have no poll module."""
    if name != "nginx":
        return shutil.which(name) or shutil.which("/usr/sbin/" + name)
    for name in options.nginx, "nginx", "/usr/sbin/nginx":
        program = shutil.which(name)
        if program and (method == "epoll" or b"--with-poll_module" in subprocess.run(
                [program, "-V"], capture_output=True, check=False).stderr):
            return program
    return None


def output_of(command):
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if result.returncode != 0:
        raise RuntimeError(f"{command[0]}: {result.stderr or result.stdout}")
    return result.stdout


def in_ms(text):
    number, unit = re.fullmatch(r"([\d.]+)([a-z]+)", text).groups()
    return float(number) * UNITS[unit]


def load_by_wrk(server, active, seconds):
    before, computed = server.used(), server.computed()
    out = output_of(["wrk", "-t1", f"-c{active}", f"-d{seconds}s", "--latency",
                     f"http://127.0.0.1:{server.port}{server.path}"])
    after, computed_after = server.used(), server.computed()
    if re.search("Socket errors|Non-2xx", out):
        raise RuntimeError(f"requests failed:\n{out}")
    requests = int(re.search(r"(\d+) requests in", out)[1])
    used = sum(after) - sum(before) if computed is None else computed_after - computed
    return {
        "request_us": used * 1e6 / requests,
        "requests_per_second": float(re.search(r"Requests/sec: *([\d.]+)", out)[1]),
        "latency_ms": in_ms(re.search(r"Latency +(\S+)", out)[1]),
        "latency_99_ms": in_ms(re.search(r" 99% +(\S+)", out)[1]),
        "user_us": (after[0] - before[0]) * 1e6 / requests,
        "kernel_us": (after[1] - before[1]) * 1e6 / requests,
    }


def load_by_httperf(server, rate, seconds):
    before, start = server.used(), time.monotonic()
    out = output_of(["httperf", "--hog", "--server=127.0.0.1", f"--port={server.port}",
                     f"--uri={server.path}", f"--rate={rate}", "--num-calls=1",
                     f"--num-conns={int(rate * seconds)}", "--timeout=5"])
    used = sum(server.used()) - sum(before)
    errors = int(re.search(r"Errors: total (\d+)", out)[1])
    if errors > rate * seconds / 100:
        raise RuntimeError(f"{errors} errors:\n{out}")
    return {
        "reply_ms": float(re.search(r"Reply time \[ms\]: response ([\d.]+)", out)[1]),
        "replies_per_second": float(re.search(r"Request rate: ([\d.]+)", out)[1]),
        "busy_percent": 100 * used / (time.monotonic() - start),
    }


def turn(start, idle, options):
    server = start()
    try:
        server.connect(idle)
        load_by_wrk(server, options.c, 1)
        result = load_by_wrk(server, options.c, options.t)
        if options.httperf:
            result |= load_by_httperf(server, options.rate, options.t)
        return result
    finally:
        server.stop()


def measure(options, table):
    """(server, idle) -> its turns"""
    found = {(name, idle): [] for idle in options.idle for name in options.servers}
    progress = rounds.Progress(len(found) * options.rounds)
    for _, (name, idle) in rounds.turns(list(found), options.rounds):
        progress.show(f"{name}, {idle} idle")
        try:
            found[name, idle].append(turn(table[name], idle, options))
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            raise RuntimeError(f"{name} with {idle} idle: {error}") from error
        progress.done += 1
    progress.show("")
    return found


def summarize(turns):
    return [{"server": name, "idle": idle, **rounds.medians(results)}
            for (name, idle), results in turns.items()]


def compare(turns):
    """Ratios of the turns of each round: their median, and the middle half of them."""
    found = []
    for (name, idle), results in turns.items():
        program, _, method = name.partition("-")
        other = program + "-epoll"
        if method == "epoll" or (other, idle) not in turns:
            continue
        row = {"server": name, "to": other, "idle": idle}
        for key in "requests_per_second", "request_us":
            ratios = sorted(a[key] / b[key] for a, b in zip(results, turns[other, idle]))
            quarter = len(ratios) // 4
            row[key] = {"median": statistics.median(ratios), "low": ratios[quarter],
                        "high": ratios[-1 - quarter]}
        found.append(row)
    return found


def print_ratios(rows):
    if rows:
        print("\nratios of the turns of each round: their median (the middle half of them)\n\n"
              f"{'':<40}{'idle':>6}{'requests/s':>22}{'time of a request':>22}")
    for row in rows:
        values = (row["requests_per_second"], row["request_us"])
        print(f"{row['server'] + ' : ' + row['to']:<40}{row['idle']:>6}" + "".join(
            f"{v['median']:>8.2f} ({v['low']:.2f}..{v['high']:.2f})" for v in values))


def print_table(options, rows):
    print(f"web servers: {options.c} active connections under wrk, {options.rate} pages/s by "
          f"httperf; {options.rounds} x {options.t} s, median of the rounds\n")
    print(f"{'server':<24}{'idle':>6}" + "".join(f"{head:>11}" for head, _, _ in COLUMNS))
    for row in rows:
        print(f"{row['server']:<24}{row['idle']:>6}" + "".join(
            f"{row[key]:>11{form}}" if key in row else f"{'-':>11}" for _, key, form in COLUMNS))


def numbers(text):
    values = [int(part) for part in text.split(",")]
    if min(values) < 0 or max(values) > 500000:
        raise ValueError
    return values


def positive(text):
    value = int(text)
    if not 0 < value <= 1000000:
        raise ValueError
    return value


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--idle", type=numbers, default=[0, 1000, 9000],
                        help="numbers of idle connections, with commas between")
    parser.add_argument("--servers", help="names, with commas between (default: all)")
    parser.add_argument("-c", type=positive, default=10, help="active connections of wrk")
    parser.add_argument("-t", type=positive, default=2, help="seconds for each load")
    parser.add_argument("--rate", type=positive, default=500, help="pages/s for httperf")
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--json", help="write the numbers there, too")
    parser.add_argument("--hello", default=os.path.join(BUILD, "release/examples/bin/http-hello"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--nginx", default=os.path.join(BUILD, "programs/nginx"))
    parser.add_argument("--xpoll", default=os.path.join(BUILD, "release/bin/xpoll"))
    options = parser.parse_args()
    options.httperf = shutil.which("httperf") is not None
    return parser, options


def raise_limit(wanted):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))


def main():
    parser, options = parse()
    for needed in "wrk", options.hello:
        if shutil.which(needed) is None:
            print(f"{needed} is not there: nothing measured")
            return 77
    raise_limit(max(options.idle) + 4096)
    with tempfile.TemporaryDirectory(prefix="xpoll-http.") as folder:
        os.chmod(folder, 0o755)
        table = table_of_servers(options, folder)
        options.servers = options.servers.split(",") if options.servers else list(table)
        for name in options.servers:
            if name not in table:
                parser.error(f"{name}: no such server here; there are {', '.join(table)}")
        try:
            turns = measure(options, table)
            rows, ratios = summarize(turns), compare(turns)
        except RuntimeError as error:
            print(f"\nhttp.py: {error}", file=sys.stderr)
            return 1
    print_table(options, rows)
    print_ratios(ratios)
    if options.json:
        report = {"benchmark": "http", "active": options.c, "seconds": options.t,
                  "rate": options.rate, "rounds": options.rounds, "results": rows,
                  "ratios": ratios}
        rounds.save(options.json, report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
