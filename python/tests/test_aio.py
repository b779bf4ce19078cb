"""xpoll.aio: processes, timers, signals and files for asyncio."""
import asyncio
import errno
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import xpoll
import xpoll.aio
from xpoll import NOTE_DELETE, NOTE_RENAME, NOTE_WRITE, Event

Factory = Callable[[], asyncio.AbstractEventLoop]


@pytest.fixture(params=[asyncio.new_event_loop, xpoll.new_event_loop],
                ids=["asyncio's loop", "xpoll's loop"])
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    factory: Factory = request.param
    with asyncio.Runner(loop_factory=factory) as made:
        yield made


def test_process_gives_its_status(runner: asyncio.Runner) -> None:
    async def main() -> list[int | None]:
        code = "input(); raise SystemExit(3)"
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as child:
            # Two may wait for one process.
            waits = [asyncio.create_task(xpoll.aio.process(child.pid)) for _ in range(2)]
            await asyncio.sleep(0)
            assert not any(task.done() for task in waits)
            assert child.stdin
            child.stdin.write(b"\n")
            child.stdin.flush()
            return await asyncio.gather(*waits)

    for status in runner.run(main()):
        assert status is not None and os.waitstatus_to_exitcode(status) == 3


def test_process_that_is_not_there_is_refused(runner: asyncio.Runner) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    with pytest.raises(ProcessLookupError):
        runner.run(xpoll.aio.process(child.pid))


def test_process_cancelled_lets_go(runner: asyncio.Runner) -> None:
    async def main() -> None:
        task = asyncio.create_task(xpoll.aio.process(os.getpid()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    runner.run(main())


def test_timer_counts_every_period(runner: asyncio.Runner) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        start, total, rounds = loop.time(), 0, 0
        async for count in xpoll.aio.timer(0.002):
            assert count >= 1
            total += count
            rounds += 1
            assert loop.time() - start >= total * 0.002 - 1e-6, "early"
            if rounds == 3:
                break

    runner.run(main())


@pytest.mark.parametrize("seconds", [0, -1, 1e300, float("nan")])
def test_timer_of_no_time_is_refused(runner: asyncio.Runner, seconds: float) -> None:
    async def main() -> None:
        async for _ in xpoll.aio.timer(seconds):
            pass

    with pytest.raises(ValueError):
        runner.run(main())


def test_signals_are_observed_beside_their_handler(runner: asyncio.Runner) -> None:
    handled: list[int] = []
    before = {number: signal.signal(number, lambda number, _: handled.append(number))
              for number in (signal.SIGUSR1, signal.SIGUSR2)}

    async def main() -> set[int]:
        seen: set[int] = set()
        stream = xpoll.aio.signals(signal.SIGUSR1, signal.SIGUSR2)
        first = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGUSR1)
        seen.add((await first).ident)
        os.kill(os.getpid(), signal.SIGUSR2)
        seen.add((await anext(stream)).ident)
        return seen

    try:
        assert runner.run(main()) == {signal.SIGUSR1, signal.SIGUSR2}
        assert handled == [signal.SIGUSR1, signal.SIGUSR2]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def all_of(stream: AsyncIterator[Event], act: Callable[[], object]) -> int:
    """What is reported until the end; act is called once it is being waited for."""
    first = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    act()
    fflags = (await first).fflags
    async for event in stream:
        fflags |= event.fflags
    return fflags


def test_watch_reports_until_the_file_is_gone(runner: asyncio.Runner, tmp_path: Path) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    path.touch()

    def act() -> None:
        path.write_text("text")
        path.rename(other)
        other.unlink()

    everything = runner.run(all_of(xpoll.aio.watch(path), act))
    assert everything & (NOTE_WRITE | NOTE_RENAME | NOTE_DELETE) == (
        NOTE_WRITE | NOTE_RENAME | NOTE_DELETE)


def test_watch_reports_what_was_asked_for(runner: asyncio.Runner, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()

    def act() -> None:
        path.write_text("text")
        path.unlink()

    assert runner.run(all_of(xpoll.aio.watch(path, NOTE_WRITE), act)) == (
        NOTE_WRITE | NOTE_DELETE)


def test_watch_of_a_pipe_does_not_block(runner: asyncio.Runner, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert runner.run(all_of(xpoll.aio.watch(path), path.unlink)) & NOTE_DELETE


def test_watch_of_nothing_is_refused(runner: asyncio.Runner, tmp_path: Path) -> None:
    async def main() -> None:
        async for _ in xpoll.aio.watch(tmp_path / "nothing"):
            pass

    with pytest.raises(FileNotFoundError):
        runner.run(main())


def test_without_a_loop_it_is_refused() -> None:
    with pytest.raises(RuntimeError, match="no running event loop"):
        xpoll.aio.process(os.getpid()).send(None)


def test_back_end_without_a_descriptor_is_enotsup(
        runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XPOLL_BACKEND", "poll")
    with pytest.raises(OSError) as caught:
        runner.run(xpoll.aio.process(os.getpid()))
    assert caught.value.errno == errno.ENOTSUP
