"""The examples in each language as child processes, and sockets to talk to the servers.

XPOLL_LANGUAGE names the language, XPOLL_EXAMPLES the folder where its programs were built.
"""

import os
import re
import signal
import socket
import subprocess
import sys

import xt

LANGUAGE = os.environ.get("XPOLL_LANGUAGE", "c")
FOLDER = os.environ["XPOLL_EXAMPLES"]
SOCKET_TIMEOUT_S = xt.LIMIT_S


def java(name):
    flags = ["-XX:TieredStopAtLevel=1", "-Xmx64m", "--enable-native-access=ALL-UNNAMED",
             "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED"]
    return [os.environ["XPOLL_JAVA"], *flags, "-cp", f"{os.environ['XPOLL_JAR']}:{FOLDER}",
            "".join(word.capitalize() for word in name.split("-"))]


def cpp(name):
    return [os.path.join(FOLDER, *{"echo-server": ["coroutines"]}.get(name, ["cpp", name]))]


# How a program is started, by its name with hyphens.
LANGUAGES = {
    "c": lambda name: [os.path.join(FOLDER, name)],
    "cpp": cpp,
    "python": lambda name: [sys.executable, os.path.join(FOLDER, name.replace("-", "_") + ".py")],
    "java": java,
    "rust": lambda name: [os.path.join(FOLDER, name)],
}


def command(program, *args):
    return [*LANGUAGES[LANGUAGE](program), *args]


class Server:
    """A running example server; stop() checks that it ends cleanly."""

    def __init__(self, *words, **environment):
        self.child = subprocess.Popen(
            command(*words, "0"), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**os.environ, **environment})
        line = self.child.stdout.readline()
        found = re.fullmatch(r"listening on 127\.0\.0\.1 port (\d+)\n", line)
        if found is None:
            self.child.kill()
            raise AssertionError(f"{words}: {line!r}, "
                                 f"{self.child.communicate()[1]!r}")
        self.port = int(found[1])

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port),
                                        SOCKET_TIMEOUT_S)

    def stop(self, number=signal.SIGTERM):
        """End it by a signal; its exit code and what it said on stderr."""
        self.child.send_signal(number)
        try:
            err = self.child.communicate(timeout=SOCKET_TIMEOUT_S)[1]
        finally:
            self.child.kill()
        return self.child.returncode, err


def receive(connection, size):
    """Exactly size bytes, or fewer if the peer has closed."""
    parts = []
    while size > 0:
        part = connection.recv(min(size, 1 << 16))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def send_until_stuck(connection, data):
    """Send until the peer takes no more; how many bytes it took."""
    sent = 0
    connection.settimeout(0.2)  # so long nothing moves: it is stuck
    try:
        while sent < len(data):
            sent += connection.send(data[sent:sent + (1 << 16)])
    except socket.timeout:
        pass
    connection.settimeout(SOCKET_TIMEOUT_S)
    return sent


def reset(connection):
    """Close with a reset in place of a proper end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                          b"\1\0\0\0\0\0\0\0")
    connection.close()
