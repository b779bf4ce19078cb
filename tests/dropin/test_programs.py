"""Programs of the system, unmodified, with the drop-in in front.

Goal: each starts, serves load among idle connections, and stops cleanly.
Method: wrk and curl are the clients; every request has to succeed and a large
document to arrive intact; the drop-in's statistics show that it was at work.
"""

import os
import signal
import socket
import subprocess
import threading
import time

import xt
from programs import DEADLINE, ProgramTest, Server, TOOL, environment, find, free_port

NGINX = """
daemon off; worker_processes 1; pid nginx.pid; error_log stderr;
events {{ use {method}; worker_connections 1000; }}
http {{
    access_log off; client_body_temp_path body; proxy_temp_path proxy;
    fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server {{ listen 127.0.0.1:{port}; root {folder}; }}
}}
"""


class Nginx(ProgramTest):
    def check(self, method):
        # Debian's own has neither method; get-nginx.sh builds its source with both.
        nginx = os.environ["XPOLL_NGINX"]
        if not os.path.exists(nginx):
            self.skipTest("no nginx with poll and select; ./dev ci makes it")
        port = free_port()
        config = self.write("nginx.conf", NGINX.format(method=method, port=port,
                                                       folder=self.folder))
        server = Server(self.folder, port, nginx, "-p", self.folder, "-c", config)
        self.addCleanup(server.kill)
        self.serve(server)
        self.reload(server)
        self.serve(server)
        self.check_stop(server, signal.SIGQUIT)

    def reload(self, server):
        """Another worker process; the old one must be gone, it would not serve."""
        old = server.workers()
        server.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + DEADLINE
        while not server.workers() or server.workers() & old:
            self.assertLess(time.monotonic(), end, "the old worker stays")
            time.sleep(0.02)

    def test_nginx_with_poll_serves_and_stops(self):
        self.check("poll")

    def test_nginx_with_select_serves_and_stops(self):
        self.check("select")


LIGHTTPD = """
server.document-root = "{folder}"
server.bind = "127.0.0.1"
server.port = {port}
server.event-handler = "{method}"
server.max-connections = 900
server.max-fds = 2000
server.stat-cache-engine = "simple"
"""


class Lighttpd(ProgramTest):
    def check(self, method):
        port = free_port()
        config = self.write("lighttpd.conf", LIGHTTPD.format(method=method, port=port,
                                                             folder=self.folder))
        self.check_server(port, signal.SIGINT, find("lighttpd"), "-D", "-f", config)

    def test_lighttpd_with_poll_serves_and_stops(self):
        self.check("poll")


HAPROXY = """
global
    {methods}
    maxconn 400
defaults
    mode http
    timeout client 60s
    timeout server 60s
    timeout connect 5s
frontend front
    bind 127.0.0.1:{port}
    http-request return status 200 content-type text/plain file small if {{ path /small }}
    http-request return status 200 content-type text/plain file document
"""


class Haproxy(ProgramTest):
    def check(self, methods):
        port = free_port()
        self.document = self.document[:8000]  # It has to fit into a buffer.
        self.write("document", self.document)
        config = self.write("haproxy.cfg", HAPROXY.format(methods=methods, port=port))
        self.check_server(port, signal.SIGUSR1, find("haproxy"), "-db", "-f", config)

    def test_haproxy_with_poll_serves_and_stops(self):
        self.check("noepoll")

    def test_haproxy_with_select_serves_and_stops(self):
        self.check("noepoll\n    nopoll")


class Curl(ProgramTest):
    def test_curl_multi_fetches_many_at_once(self):
        """The interface that curl --parallel is built on polls arrays that come and go."""
        import http.server

        files = 150
        handler = type("Handler", (http.server.SimpleHTTPRequestHandler,),
                       {"log_message": lambda *_: None})
        patient = type("Patient", (http.server.ThreadingHTTPServer,),
                       {"request_queue_size": files})
        server = patient(("127.0.0.1", 0),
                         lambda *args: handler(*args, directory=self.folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.document = self.document[:100000]
        self.write("document", self.document)
        url = f"http://127.0.0.1:{server.server_address[1]}/document?[1-{files}]"
        result = subprocess.run(
            [TOOL, "run", "--poll", "--stats", find("curl"), "-sS", "--parallel",
             "--parallel-max", "100", "--max-time", "20", "-o",
             os.path.join(self.folder, "got-#1"), url], capture_output=True, text=True,
            timeout=2 * DEADLINE, env=environment(MIN=2, AFTER=0, RECHECK=0))
        self.assertEqual(result.returncode, 0, result.stderr)
        for i in range(1, files + 1):
            with open(os.path.join(self.folder, f"got-{i}"), "rb") as file:
                self.assertEqual(file.read(), self.document, i)
        self.assertRegex(result.stderr, r"[1-9]\d* arrays")


class Socat(ProgramTest):
    def test_socat_moves_bytes_both_ways(self):
        port = free_port()
        server = Server(self.folder, port, find("socat"),
                        f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork", "EXEC:cat",
                        MIN=1, AFTER=0, RECHECK=0)
        self.addCleanup(server.kill)
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", port), 5) as client:
                sender = threading.Thread(target=lambda c=client: (
                    c.sendall(self.document), c.shutdown(socket.SHUT_WR)))
                sender.start()
                client.settimeout(DEADLINE)
                got = b"".join(iter(lambda c=client: c.recv(65536), b""))
                sender.join()
                self.assertEqual(got, self.document)
        code, stats, said = server.stop(signal.SIGTERM)
        self.assertEqual(code, 143, said)
        self.assertGreater(stats.arrays, 0, said)


if __name__ == "__main__":
    xt.main()
