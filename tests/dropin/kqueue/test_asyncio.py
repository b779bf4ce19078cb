"""Goal: a real client of <sys/event.h>: asyncio on selectors.KqueueSelector.

Method: the module kqselect is what CPython's select has on BSD, built against
our header.  It is put into select before selectors looks, so KqueueSelector
and asyncio are Python's own.  The interpreter has loaded the C library long
before, so closes are not seen here, and must be found out.
"""
import os
import select
import sys

sys.path.insert(0, os.environ["KQSELECT"])
import kqselect  # noqa: E402

for name in dir(kqselect):
    if not name.startswith("_"):
        setattr(select, name, getattr(kqselect, name))

import asyncio  # noqa: E402
import selectors  # noqa: E402
import socket  # noqa: E402
import unittest  # noqa: E402


def descriptors():
    return set(os.listdir("/proc/self/fd"))


def loop_new():
    return asyncio.SelectorEventLoop(selectors.KqueueSelector())


async def http_serve(reader, writer):
    while (line := await reader.readline()).strip():
        path = line.split()[1].decode()
        while (await reader.readline()).strip():
            pass
        body = f"you asked for {path}\n".encode() * (2000 if path == "/long" else 1)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
    writer.close()


async def http_get(port, paths):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    bodies = []
    for path in paths:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
        length = 0
        while (line := await reader.readline()).strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        bodies.append(await reader.readexactly(length))
    writer.close()
    await writer.wait_closed()
    return bodies


class Asyncio(unittest.TestCase):
    def run_in_loop(self, coroutine):
        loop = loop_new()
        try:
            return loop.run_until_complete(asyncio.wait_for(coroutine, 60))
        finally:
            loop.close()

    def test_http_connections_are_served(self):
        async def serve_and_ask():
            server = await asyncio.start_server(http_serve, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            paths = ["/", "/long", "/again"]
            answers = await asyncio.gather(*(http_get(port, paths) for _ in range(100)))
            server.close()
            return answers

        for bodies in self.run_in_loop(serve_and_ask()):
            self.assertEqual(bodies[0], b"you asked for /\n")
            self.assertEqual(bodies[1], b"you asked for /long\n" * 2000)
            self.assertEqual(bodies[2], b"you asked for /again\n")

    def test_refused_connection_raises(self):
        async def connect():
            with socket.socket() as nobody: # Bound, so that no other can listen there.
                nobody.bind(("127.0.0.1", 0))
                await asyncio.open_connection(*nobody.getsockname())

        with self.assertRaises(ConnectionRefusedError):
            self.run_in_loop(connect())

    def test_subprocess_and_timers(self):
        async def both():
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", "print('hello')", stdout=asyncio.subprocess.PIPE)
            out, _ = await process.communicate()
            await asyncio.sleep(0.01)
            return out, process.returncode

        self.assertEqual(self.run_in_loop(both()), (b"hello\n", 0))


class Closing(unittest.TestCase):
    def test_closed_queues_end_with_the_next_one(self):
        kqselect.kqueue().close()
        before = descriptors()
        for _ in range(50):
            queue = kqselect.kqueue()
            queue.control([kqselect.kevent(0, select.KQ_FILTER_READ)], 0)
            queue.close()
        self.assertLessEqual(len(descriptors()), len(before) + 1)

    def test_number_of_another_file_is_ebadf(self):
        queue = kqselect.kqueue()
        number = queue.fileno()
        os.close(number)
        with open("/dev/null", "rb") as file:
            os.dup2(file.fileno(), number)
            with self.assertRaises(OSError):
                queue.control(None, 1, 0)
        os.close(number)

    def test_duplicate_works_when_the_number_is_closed(self):
        queue = kqselect.kqueue()
        read, write = os.pipe()
        queue.control([kqselect.kevent(read, select.KQ_FILTER_READ)], 0)
        os.write(write, b"abc")
        copy = os.dup(queue.fileno())
        os.dup2(copy, queue.fileno())
        os.close(copy)
        events = queue.control(None, 4, 0)
        self.assertEqual([(e.ident, e.data) for e in events], [(read, 3)])
        queue.close()
        os.close(read)
        os.close(write)


if __name__ == "__main__":
    unittest.main()
