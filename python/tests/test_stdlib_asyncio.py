"""asyncio's own test_events with an event loop on XpollSelector, on every back end.

The interpreter's test package holds them; some systems package it apart.
"""
import asyncio
import unittest

import pytest
import xpoll

events = pytest.importorskip("test.test_asyncio.test_events",
                             reason="the interpreter's own test package is not installed")
utils = pytest.importorskip("test.test_asyncio.utils")

# Those tests were written for other settings.
pytestmark = pytest.mark.filterwarnings("default")

def make_case(backend: str) -> type[unittest.TestCase]:
    def create_event_loop(_: unittest.TestCase) -> asyncio.AbstractEventLoop:
        return asyncio.SelectorEventLoop(xpoll.XpollSelector(backend))

    bases = (events.UnixEventLoopTestsMixin, events.SubprocessTestsMixin, utils.TestCase)
    return type("Case", bases, {"create_event_loop": create_event_loop})


for name in xpoll.backends():
    globals()[f"TestEventLoop_{name}"] = make_case(name)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(await reader.read())
    writer.close()
    await writer.wait_closed()


async def echoed(data: bytes) -> bytes:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(data)
        writer.write_eof()
        result = await reader.read()
        writer.close()
        await writer.wait_closed()
        return result


def test_new_event_loop_serves() -> None:
    data = bytes(5_000_000)
    with asyncio.Runner(loop_factory=xpoll.new_event_loop) as runner:
        assert runner.run(echoed(data)) == data
