#!/usr/bin/env python3
"""Web servers with thousands of idle connections: processor time for a request.

In each round each server gets a turn at each number of idle connections: it is started, they are
made, and wrk loads it as fast as it can with ACTIVE connections.  The servers are those of nginx,
haproxy and lighttpd that are installed, on epoll, on poll, and on poll with the drop-in; and one of
asyncio on its own loop, on xpoll's and on uvloop.  Server and load share this machine's
processors, so what counts is the processor time of the server.

Printed are medians of the rounds, and ratios of turns of the same round to the same server on
epoll.  Exit codes: 0 done, 1 a run failed, 2 wrong arguments, 77 wrk or all servers are missing.
"""

import argparse
import collections
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

BUILD = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build")
XPOLL = os.path.join(BUILD, "release/bin/xpoll")
# Arguments before the name of the configuration, the configuration, its words for epoll, poll.
Program = collections.namedtuple("Program", "arguments config epoll poll")
PROGRAMS = {
    "nginx": Program(["-p", "{folder}", "-c"], """
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
""", "epoll", "poll"),
    "haproxy": Program(["-db", "-f"], """
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
""", "", "noepoll"),
    "lighttpd": Program(["-D", "-f"], """
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
""", "linux-sysepoll", "poll"),
    # What Python is given is a program, and a "method" is the module of an event loop.
    "asyncio": Program([], """
import asyncio
class Server(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.part = transport, b""
    def data_received(self, data):
        *requests, self.part = (self.part + data).split(b"\\r\\n\\r\\n")
        self.transport.write(len(requests) *
                             b"HTTP/1.1 200 OK\\r\\nContent-Length: 14\\r\\n\\r\\nHello, xpoll!\\n")
async def serve():
    server = await asyncio.get_running_loop().create_server(
        Server, "127.0.0.1", {port}, backlog=4096, reuse_address=True)
    await server.serve_forever()
import {method}
{method}.run(serve())
""", None, None),
}
PYTHON = os.path.join(BUILD, "bench/python/bin/python")  # report/main.py makes it
FRONT = [XPOLL, "run", "--poll", "--"]
METHODS = {"epoll": ("epoll", []), "poll": ("poll", []), "poll+drop-in": ("poll", FRONT)}
COLUMNS = (("cpu us", "request_us", ".1f"), ("requests/s", "requests_per_second", ",.0f"))


class Server:
    """One server, from its start until stop(); its idle connections are this process's."""

    def __init__(self, path, method, front, folder, idle):
        program = PROGRAMS.get(os.path.basename(path), PROGRAMS["asyncio"])
        os.makedirs(os.path.join(folder, "logs"), exist_ok=True)
        with open(os.path.join(folder, "small"), "w", encoding="ascii") as file:
            file.write("Hello, xpoll!\n")
        # Nobody else is given it while it is bound here, and the server may share it.
        held = socket.socket()
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        self.port, self.open = held.getsockname()[1], [held]
        config = os.path.join(folder, "server.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(program.config.format(
                method=getattr(program, method, method), port=self.port, folder=folder,
                # lighttpd and haproxy count two descriptors for each.
                connections=idle + 800, files=2 * idle + 1700))
        arguments = [argument.format(folder=folder) for argument in program.arguments]
        self.process = subprocess.Popen([*front, path, *arguments, config],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)

    def worker(self):
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return int((file.read().split() or [pid])[0])

    def computed(self):
        """Seconds that the worker has computed: the clock that clock_getcpuclockid(3) names."""
        return time.clock_gettime((~self.worker() << 3) | 2)

    def connect(self, count):
        """Idle connections, after one that shows that the server has begun; returns when all are
        accepted."""
        end = time.monotonic() + 60
        while len(self.open) <= count + 1:
            try:
                self.open.append(socket.create_connection(("127.0.0.1", self.port), 10))
            except ConnectionRefusedError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.05)
        self.open.pop().close()
        while len(os.listdir(f"/proc/{self.worker()}/fd")) <= count:
            if time.monotonic() > end:
                raise RuntimeError("the server does not accept its connections")
            time.sleep(0.02)

    def load(self, active, seconds):
        before = self.computed()
        run = subprocess.run(["wrk", "-t1", f"-c{active}", f"-d{seconds}s",
                              f"http://127.0.0.1:{self.port}/small"],
                             capture_output=True, text=True, check=False, timeout=600)
        used = self.computed() - before
        if run.returncode != 0 or re.search("Socket errors|Non-2xx", run.stdout):
            raise RuntimeError(f"wrk: {run.stderr or run.stdout}")
        return {"request_us": used * 1e6 / int(re.search(r"(\d+) requests in", run.stdout)[1]),
                "requests_per_second": float(re.search(r"Requests/sec: *(\S+)", run.stdout)[1])}

    def stop(self):
        for connection in self.open:
            connection.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def find_program(options, name, method):
    """One that can do it; an nginx of a distribution may have no poll module."""
    for path in ((options.nginx,) if name == "nginx" else ()) + (name, "/usr/sbin/" + name):
        program = shutil.which(path)
        if program and (name != "nginx" or method == "epoll" or
                        b"--with-poll_module" in subprocess.run(
                            [program, "-V"], capture_output=True, check=False).stderr):
            return program
    return None


def find_servers(options):
    """name -> what Server needs first"""
    found = {f"{name}-{label}": (find_program(options, name, method), method, front)
             for name in PROGRAMS if name != "asyncio"
             for label, (method, front) in METHODS.items()}
    python = shutil.which(PYTHON) or sys.executable
    for label, module in ("epoll", "asyncio"), ("xpoll", "xpoll"), ("uvloop", "uvloop"):
        code = subprocess.run([python, "-c", "import " + module], capture_output=True,
                              check=False).returncode
        found[f"asyncio-{label}"] = (None if code else python, module, [])
    return {name: server for name, server in found.items() if server[0]}


def turn(server, idle, options):
    with tempfile.TemporaryDirectory(prefix="xpoll-http.") as folder:
        os.chmod(folder, 0o755)
        started = Server(*server, folder, idle)
        try:
            started.connect(idle)
            started.load(options.c, 1)
            return started.load(options.c, options.t)
        finally:
            started.stop()


def measure(options, servers):
    """(server, idle) -> its turns"""
    found = {(name, idle): [] for idle in options.idle for name in servers}
    progress = rounds.Progress(len(found) * options.rounds)
    for _, (name, idle) in rounds.turns(list(found), options.rounds):
        progress.show(f"{name}, {idle} idle")
        try:
            found[name, idle].append(turn(servers[name], idle, options))
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            raise RuntimeError(f"{name} with {idle} idle: {error}") from error
        progress.done += 1
    progress.show("")
    return found


def rows_of(turns):
    """Medians of the turns, and those of their ratios to the same program on epoll."""
    for (name, idle), results in turns.items():
        row = {"server": name, "idle": idle, **rounds.medians(results)}
        other = turns.get((name.partition("-")[0] + "-epoll", idle))
        row["x_epoll"] = statistics.median(
            a["request_us"] / b["request_us"] for a, b in zip(results, other)) if other else None
        yield row


def print_table(options, rows):
    print(f"web servers: {options.c} active connections under wrk; {options.rounds} x "
          f"{options.t} s, median of the rounds; x epoll: of cpu us\n")
    print(f"{'server':<24}{'idle':>6}" + "".join(f"{head:>12}" for head, _, _ in COLUMNS)
          + f"{'x epoll':>10}")
    for row in rows:
        ratio = "-" if row["x_epoll"] is None else f"{row['x_epoll']:.2f}"
        print(f"{row['server']:<24}{row['idle']:>6}" + "".join(
            f"{row[key]:>12{form}}" for _, key, form in COLUMNS) + f"{ratio:>10}")


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
    parser.add_argument("-t", type=positive, default=2, help="seconds of each turn")
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--json", help="write the numbers there, too")
    parser.add_argument("--nginx", default=os.path.join(BUILD, "programs/nginx"))
    return parser, parser.parse_args()


def main():
    parser, options = parse()
    servers = find_servers(options)
    if shutil.which("wrk") is None or not servers:
        print("wrk, or all of " + ", ".join(PROGRAMS) + ", are not there: nothing measured")
        return 77
    for name in options.servers.split(",") if options.servers else ():
        if name not in servers:
            parser.error(f"{name}: no such server here; there are {', '.join(servers)}")
    if options.servers:
        servers = {name: servers[name] for name in options.servers.split(",")}
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(2 * max(options.idle) + 4096, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        rows = list(rows_of(measure(options, servers)))
    except RuntimeError as error:
        print(f"\nhttp.py: {error}", file=sys.stderr)
        return 1
    print_table(options, rows)
    if options.json:
        rounds.save(options.json, {"benchmark": "http", "active": options.c, "results": rows,
                                   "seconds": options.t, "rounds": options.rounds})
    return 0


if __name__ == "__main__":
    sys.exit(main())
