"""The TLS server, with Python's clients.

Goal: what is sent comes back through the cipher, and each end is orderly; who reads slowly,
speaks no TLS or does not trust the certificate harms nobody.  Method: real clients that check
the certificate, which is of this test alone.
"""

import os
import random
import select
import subprocess
import unittest

import xt
from client import Server, command, receive, reset

CERTIFICATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "localhost.pem")
CLIENTS = 30
STUCK_S = 0.2  # so long nothing moves: it is stuck

try:
    import ssl
except ImportError:
    ssl = None


class Tls(unittest.TestCase):
    def setUp(self):
        if ssl is None or not os.path.exists(command("tls-echo")[0]):
            self.skipTest("OpenSSL is not installed; ./dev check installs it")
        self.server = Server("tls-echo", CERTIFICATE, CERTIFICATE)
        self.addCleanup(self.server.child.kill)
        self.trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.trusting.load_verify_locations(CERTIFICATE)

    def connect(self, context=None):
        plain = self.server.connect()
        self.addCleanup(plain.close)
        connection = (context or self.trusting).wrap_socket(plain, server_hostname="localhost")
        self.addCleanup(connection.close)
        return connection

    def check_echo(self, connection, text=b"still here"):
        connection.sendall(text)
        self.assertEqual(receive(connection, len(text)), text)

    def check_end(self):
        self.assertEqual(self.server.stop(), (0, ""))

    def test_many_clients_and_orderly_ends(self):
        connections = [self.connect() for _ in range(CLIENTS)]
        chance = random.Random(1)
        for _ in range(10):
            chance.shuffle(connections)
            for connection in connections:
                self.check_echo(connection, os.urandom(chance.choice((1, 100, 4097, 40000))))
        for connection in connections:
            plain = connection.unwrap()  # fails without an orderly end of the server's as well
            self.assertEqual(plain.recv(1), b"")
            plain.close()
        self.check_end()

    def test_each_version_of_the_protocol(self):
        for version in ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3:
            with self.subTest(version=version):
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.load_verify_locations(CERTIFICATE)
                context.minimum_version = context.maximum_version = version
                connection = self.connect(context)
                self.check_echo(connection)
                self.assertEqual(connection.version(), version.name.replace("_", "."))
        self.check_end()

    def test_slow_reader_is_slowed_down_and_gets_every_byte(self):
        slow, other = self.connect(), self.connect()
        text = os.urandom(1 << 16) * 800
        slow.setblocking(False)
        sent = 0
        while sent < len(text):
            try:
                sent += slow.send(text[sent:sent + 16384])
            except ssl.SSLWantWriteError:
                if not select.select([], [slow], [], STUCK_S)[1]:
                    break
        self.assertLess(sent, len(text))
        self.check_echo(other)
        slow.settimeout(30)
        self.assertEqual(receive(slow, sent), text[:sent])
        self.check_end()

    def test_rude_clients_harm_nobody(self):
        polite = self.connect()
        for i in range(20):
            rude = self.server.connect()
            rude.sendall(b"GET / HTTP/1.0\r\n\r\n" if i % 2 else b"\x16\x03\x01")
            reset(rude)
            self.check_echo(polite)
        with self.server.connect() as odd:
            odd.sendall(b"\x16\x03\x01\x00\x05hello")
            self.assertEqual(odd.recv(1), b"\x15")  # an alert comes before the end
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.connect(ssl.create_default_context())
        self.check_echo(polite)
        reset(self.connect())
        self.check_echo(polite)
        self.check_end()

    def test_wrong_files_are_refused(self):
        for arguments in [], ["/no/such/file", CERTIFICATE], [CERTIFICATE, __file__]:
            with self.subTest(arguments=arguments):
                result = subprocess.run(command("tls-echo", *arguments), capture_output=True,
                                        text=True, timeout=xt.LIMIT_S)
                self.assertEqual((result.returncode, result.stdout), (1, ""))
                self.assertRegex(result.stderr, "^usage: ")


if __name__ == "__main__":
    xt.main()
