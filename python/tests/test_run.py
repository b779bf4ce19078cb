"""xpoll.run and xpoll.EventLoopPolicy: asyncio's own, on a loop that waits by xpoll."""
import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pytest
import xpoll


def waits_by_xpoll() -> bool:
    loop = asyncio.get_running_loop()
    return isinstance(loop._selector, xpoll.XpollSelector)  # type: ignore[attr-defined]


async def served() -> bytes:
    """A connection, a subprocess and a thread: what a loop has to do."""
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        writer.close()
        await writer.wait_closed()

    assert waits_by_xpoll()
    async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"hello\n")
        line = await reader.readline()
        writer.close()
        await writer.wait_closed()
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "print('child')",
                                                 stdout=subprocess.PIPE)
    output, _ = await child.communicate()
    return line + output + await asyncio.to_thread(lambda: b"thread")


EXPECTED = b"hello\nchild\nthread"


@pytest.fixture
def policy() -> Iterator[None]:
    asyncio.set_event_loop_policy(xpoll.EventLoopPolicy())
    yield
    asyncio.set_event_loop_policy(None)


def test_run_returns_what_the_coroutine_returns() -> None:
    assert xpoll.run(served()) == EXPECTED


def test_run_raises_what_the_coroutine_raises() -> None:
    async def fails() -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        xpoll.run(fails(), debug=True)


def test_run_in_a_running_loop_is_refused() -> None:
    async def nested() -> None:
        with pytest.raises(RuntimeError):
            xpoll.run(asyncio.sleep(0))

    with pytest.warns(RuntimeWarning, match="never awaited"):
        xpoll.run(nested())


def test_run_is_for_coroutines() -> None:
    with pytest.raises((TypeError, ValueError)):
        xpoll.run(served)  # type: ignore[arg-type]


# Python 3.14 deprecates policies, and 3.16 is to have none.
@pytest.mark.filterwarnings("ignore:.*[pP]olicy:DeprecationWarning")
def test_policy_serves_programs_that_take_no_factory(policy: None) -> None:
    assert asyncio.run(served()) == EXPECTED
    loop = asyncio.new_event_loop()
    try:
        assert isinstance(loop._selector, xpoll.XpollSelector)  # type: ignore[attr-defined]
    finally:
        loop.close()


def test_importing_xpoll_does_not_import_asyncio() -> None:
    code = "import sys, xpoll; sys.exit('asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        xpoll.nothing
