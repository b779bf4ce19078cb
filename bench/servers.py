"""Servers to put under load: how they are started, and what they have used.

Each is a process with one that serves, `worker`; its idle connections belong to this
process.  Whatever is started here is ended here, by its id.
"""

import contextlib
import os
import signal
import socket
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NGINX_CONFIG = """
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
"""


class Server:
    """One server, from its start until stop()."""

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
    """examples/http-hello on a back end, in level mode or with threads in dispatch."""

    def __init__(self, program, backend, threads=0):
        arguments = ["--threads", str(threads)] if threads else []
        super().__init__([program, *arguments, "0"], stdout=subprocess.PIPE, text=True,
                         stderr=subprocess.DEVNULL,
                         env=dict(os.environ, XPOLL_BACKEND=backend))
        self.idle.callback(self.process.stdout.close)
        line = self.process.stdout.readline().split()
        if not line:
            self.stop()
            raise RuntimeError(f"http-hello does not start on {backend}")
        self.port = int(line[-1])


class Nginx(Server):
    """nginx with one worker; front: a command to put in front of it."""

    path = "/small"

    def __init__(self, program, method, folder, connections, front=()):
        os.makedirs(os.path.join(folder, "logs"), exist_ok=True)
        with open(os.path.join(folder, "small"), "w", encoding="ascii") as file:
            file.write("Hello, xpoll!\n")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        config = os.path.join(folder, "nginx.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(NGINX_CONFIG.format(
                method=method, port=self.port, folder=folder, connections=connections + 2048,
                files=connections + 4096))
        super().__init__([*front, program, "-p", folder, "-c", config],
                         stderr=subprocess.DEVNULL)
        self.connect_one(time.monotonic() + 30).close()

    def worker(self):
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return file.read().split()[0]
