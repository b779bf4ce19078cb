"""The examples, driven as their users would.

Goal: every byte that goes in comes back right, with hundreds of connections of
which half are idle, with slow and with rude clients, and the servers end
cleanly when asked.  Method: a real client over loopback, ports chosen by the
system; XPOLL_BACKEND chooses the back end.
"""

import os
import signal
import subprocess
import unittest

import xt
from client import FOLDER, receive, reset, send_until_stuck
from server_test import ACTIVE, IDLE, ServerTest

HELLO = (b"HTTP/1.1 200 OK\r\nServer: xpoll\r\nContent-Type: text/plain\r\n"
         b"Content-Length: 14\r\n\r\nHello, xpoll!\n")
ROOM = 2047  # bytes that http-hello takes before it must have seen a whole request
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def run(program, *args, **more):
    return subprocess.run([os.path.join(FOLDER, program), *args], timeout=xt.LIMIT_S,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


class Small(unittest.TestCase):
    """The programs that are no servers."""

    def check(self, result):
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout

    def test_looptest_reads_as_often_as_asked(self):
        for pipes in 1, 8, 300:
            with self.subTest(pipes=pipes):
                out = self.check(run("looptest-original", str(pipes), "30", "3000"))
                values = dict(reversed(line.split(maxsplit=1))
                              for line in out.decode().splitlines())
                self.assertEqual(values["mechanism"], os.environ["XPOLL_BACKEND"])
                self.assertEqual(values["connections"], str(pipes))
                self.assertEqual(values["total read operations"], "3000")
                self.assertEqual(values["total iterations"], "5999")
                self.assertGreater(float(values["reads/sec"]), 0)

    def test_looptest_ends_when_its_time_is_up(self):
        out = self.check(run("looptest-original", "8", "1"))
        self.assertRegex(out.decode(), r"\n +1\.\d+ total run time\n")

    def test_looptest_refuses_bad_arguments(self):
        for args in ["0"], ["many"], ["8", "0"], ["8", "1", "-1"]:
            with self.subTest(args=args):
                result = run("looptest-original", *args)
                self.assertEqual((result.returncode, result.stdout), (2, b""))
                self.assertIn(b"usage: ", result.stderr)

    def test_ten_lines_repeat_a_pipe_a_file_and_nothing(self):
        text = os.urandom(100000)
        self.assertEqual(self.check(run("ten-lines", input=text)), text)
        with open(__file__, "rb") as file:
            out = self.check(run("ten-lines", stdin=file))
            file.seek(0)
            self.assertEqual(out, file.read())
        out = self.check(run("ten-lines", stdin=subprocess.DEVNULL))
        self.assertEqual(out, b"")

    def test_servers_refuse_bad_arguments(self):
        for command in (["http-hello", "70000"], ["http-hello", "http"],
                        ["http-hello", "-1"], ["http-hello", "--threads", "0"],
                        ["http-hello", "--threads", "many"]):
            with self.subTest(command=command):
                result = run(*command)
                self.assertNotEqual(result.returncode, 0)
                self.assertRegex(result.stderr, b"expected a number|usage: ")


class Http(ServerTest):
    """What both modes of http-hello must do."""

    def check_hello(self, connection, count=1):
        connection.sendall(GET * count)
        self.assertEqual(receive(connection, count * len(HELLO)), HELLO * count)

    def check_last(self, request, status):
        """The request is answered so, then the server closes."""
        connection = self.connect()
        connection.sendall(request)
        reply = receive(connection, 4096)
        self.assertTrue(reply.startswith(b"HTTP/1.1 " + status), reply)
        return reply

    def talk(self, connections, rng):
        for _ in range(20):
            rng.shuffle(connections)
            for connection in connections:
                connection.sendall(GET)
            for connection in connections:
                self.assertEqual(receive(connection, len(HELLO)), HELLO)

    def check_crowd(self):
        connections = self.connect(ACTIVE + IDLE)
        idle, active = connections[::2], connections[1::2]
        self.share_out(self.talk, active)
        for connection in idle:
            self.check_hello(connection)
        self.check_stop()
        for connection in connections:
            self.assertEqual(connection.recv(1), b"")

    def check_pipelining(self):
        connection = self.connect()
        self.check_hello(connection, 1000)
        for byte in GET * 3:
            connection.send(bytes([byte]))
        self.assertEqual(receive(connection, 3 * len(HELLO)), HELLO * 3)
        self.check_stop()

    def check_slow_reader(self):
        slow, other = self.connect(2)
        requests = GET * 300000
        sent = send_until_stuck(slow, requests)
        self.assertLess(sent, len(requests))
        self.check_hello(other)
        complete, begun = divmod(sent, len(GET))
        self.assertEqual(receive(slow, complete * len(HELLO)), HELLO * complete)
        slow.sendall(GET[begun:])
        self.assertEqual(receive(slow, len(HELLO)), HELLO)
        self.check_stop()

    def check_other_requests(self):
        self.check_last(b"POST / HTTP/1.1\r\n\r\n", b"405 ")
        self.check_last(b"GET / HTTP/1.0\r\n\r\n", b"200 ")
        last = self.check_last(GET + b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"
                               + GET, b"200 ")
        self.assertEqual(last, HELLO * 2)
        self.check_last(b"GET /" + b"x" * (ROOM - 5), b"431 ")
        for part in b"", b"GET", GET + b"GE":
            connection = self.connect()
            connection.sendall(part)
            connection.shutdown(1)
            self.assertEqual(receive(connection, 1000), HELLO * part.count(GET))
        self.check_stop(signal.SIGINT)

    def check_rude_clients(self):
        polite = self.connect()
        for _ in range(100):
            rude = self.server.connect()
            rude.sendall(GET * 20)
            reset(rude)
            self.check_hello(polite)
        self.check_stop()


class HttpLevel(Http):
    command = ("http-hello",)

    test_hundreds_of_connections_half_of_them_idle = Http.check_crowd
    test_pipelined_and_split_requests_are_answered_in_order = Http.check_pipelining
    test_slow_reader_gets_every_byte = Http.check_slow_reader
    test_other_requests_get_their_answer = Http.check_other_requests
    test_rude_clients_harm_nobody = Http.check_rude_clients


class HttpPool(Http):
    command = ("http-hello", "--threads", "4")

    test_hundreds_of_connections_half_of_them_idle = Http.check_crowd
    test_pipelined_and_split_requests_are_answered_in_order = Http.check_pipelining
    test_slow_reader_gets_every_byte = Http.check_slow_reader
    test_other_requests_get_their_answer = Http.check_other_requests
    test_rude_clients_harm_nobody = Http.check_rude_clients


if __name__ == "__main__":
    xt.main()
