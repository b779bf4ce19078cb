"""The proxy, the server of datagrams and the client with timeouts.

Goal: every byte and every datagram comes back, ends are passed on in each direction, and
who reads slowly harms nobody; a timeout ends its request alone.  Method: the echo server
behind the proxy, real clients and servers; loopback only.
"""

import os
import random
import signal
import socket
import subprocess
import threading
import unittest

import xt
from client import SOCKET_TIMEOUT_S, Server, command, receive, reset, send_until_stuck

CLIENTS = 40


class Proxy(unittest.TestCase):
    def setUp(self):
        self.target = Server("echo-server")
        self.addCleanup(self.target.child.kill)
        self.proxy = Server("tcp-proxy", str(self.target.port))
        self.addCleanup(self.proxy.child.kill)

    def connect(self):
        connection = self.proxy.connect()
        self.addCleanup(connection.close)
        return connection

    def check_end(self):
        self.assertEqual(self.proxy.stop(), (0, ""))
        self.assertEqual(self.target.stop(), (0, ""))

    def talk(self, failures, seed):
        """Send much, end, and take it back at the same time; then there is an end."""
        text = random.Random(seed).randbytes(200000 + seed)
        with self.proxy.connect() as connection:
            def send():
                connection.sendall(text)
                connection.shutdown(socket.SHUT_WR)

            sender = threading.Thread(target=send)
            sender.start()
            back = receive(connection, len(text))
            sender.join()
            if back != text or connection.recv(1) != b"":
                failures.append(seed)

    def test_every_byte_and_the_end_pass_in_both_directions(self):
        failures = []
        threads = [threading.Thread(target=self.talk, args=(failures, i)) for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.check_end()

    def test_slow_reader_is_slowed_down_and_harms_nobody(self):
        slow, other = self.connect(), self.connect()
        text = os.urandom(1 << 16) * 800
        sent = send_until_stuck(slow, text)
        self.assertLess(sent, len(text))
        other.sendall(b"quick")
        self.assertEqual(receive(other, 5), b"quick")
        self.assertEqual(receive(slow, sent), text[:sent])
        slow.close()
        other.close()
        self.check_end()

    def test_rude_clients_and_a_target_that_has_gone_end_only_their_connections(self):
        polite = self.connect()
        for _ in range(50):
            rude = self.proxy.connect()
            rude.sendall(b"nobody takes this" * 1000)
            reset(rude)
            polite.sendall(b"still here")
            self.assertEqual(receive(polite, 10), b"still here")
        self.assertEqual(self.target.stop(), (0, ""))
        self.assertEqual(polite.recv(1), b"")
        late = self.connect()
        try:
            self.assertEqual(late.recv(1), b"")  # nobody listens there any more
        except ConnectionResetError:
            pass
        polite.close()
        late.close()
        self.assertEqual(self.proxy.stop(), (0, ""))

    def test_arguments_are_wanted(self):
        result = subprocess.run(command("tcp-proxy"), capture_output=True, timeout=xt.LIMIT_S)
        self.assertEqual((result.returncode, result.stdout), (1, b""))
        self.assertRegex(result.stderr, b"^usage: ")


class Datagrams(unittest.TestCase):
    def test_each_datagram_comes_back_from_each_port(self):
        child = subprocess.Popen(command("udp-echo", "0", "0"), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.kill)
        ports = [int(child.stdout.readline().rsplit(" ", 1)[1]) for _ in range(2)]
        clients = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(3)]
        for client in clients:
            self.addCleanup(client.close)
            client.settimeout(SOCKET_TIMEOUT_S)
        for i in range(200):
            # One under way for each client: what has no room may be lost.
            text = os.urandom(random.Random(i).choice([0, 1, 100, 1400, 60000]))
            for client in clients:
                client.sendto(text, ("127.0.0.1", ports[i % 2]))
            for client in clients:
                self.assertEqual(client.recvfrom(65536), (text, ("127.0.0.1", ports[i % 2])))
        child.send_signal(signal.SIGTERM)
        self.assertEqual((child.communicate(timeout=SOCKET_TIMEOUT_S)[1], child.returncode),
                         ("", 0))

    def test_arguments_are_wanted_and_a_used_port_is_named(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as used:
            used.bind(("127.0.0.1", 0))
            port = str(used.getsockname()[1])
            for arguments, message in ([], b"usage: "), ([port], port.encode() + b": "):
                with self.subTest(arguments=arguments):
                    result = subprocess.run(command("udp-echo", *arguments), capture_output=True,
                                            timeout=xt.LIMIT_S)
                    self.assertEqual((result.returncode, result.stdout), (1, b""))
                    self.assertTrue(result.stderr.startswith(message), result.stderr)


class Fetch(unittest.TestCase):
    def fetch(self, *arguments):
        result = subprocess.run(command("fetch", *map(str, arguments)), capture_output=True,
                                text=True, timeout=xt.LIMIT_S)
        self.assertEqual(result.stderr, "")
        return result.returncode, sorted(result.stdout.splitlines())

    def test_many_answers_at_once(self):
        server = Server("http-hello")
        self.addCleanup(server.child.kill)
        with server.connect() as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            size = len(receive(connection, 4096))
        self.assertGreater(size, 0)
        self.assertEqual(self.fetch(30000, *[server.port] * 100),
                         (0, [f"{server.port}: {size} bytes"] * 100))
        self.assertEqual(server.stop(), (0, ""))

    def test_silence_is_a_timeout_and_nobody_there_an_error(self):
        with socket.create_server(("127.0.0.1", 0)) as silent, \
                socket.socket(socket.AF_INET, socket.SOCK_STREAM) as nobody:
            nobody.bind(("127.0.0.1", 0))
            ports = [it.getsockname()[1] for it in (silent, nobody)]
            self.assertEqual(self.fetch(50, ports[0]), (1, [f"{ports[0]}: timeout"]))
            self.assertEqual(self.fetch(30000, ports[1]), (1, [f"{ports[1]}: Connection refused"]))

    def test_arguments_are_wanted(self):
        result = subprocess.run(command("fetch", "100"), capture_output=True, timeout=xt.LIMIT_S)
        self.assertEqual((result.returncode, result.stdout), (2, b""))
        self.assertRegex(result.stderr, b"^usage: ")


if __name__ == "__main__":
    xt.main()
