"""Signals: as in the select module, PEP 475 included."""
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest
import xpoll

Alarm = Callable[[Callable[[], None]], None]
Wait = Callable[[float], object]


@pytest.fixture(params=["wait", "poll", "select", "control"])
def wait(request: pytest.FixtureRequest, queue: xpoll.Queue,
         selector: xpoll.XpollSelector) -> Wait:
    """Each call that waits."""
    calls: dict[str, Wait] = {
        "wait": queue.wait, "poll": queue.poll, "select": selector.select,
        "control": lambda timeout: queue.control(None, 1, timeout)}
    return calls[request.param]


def test_handler_that_returns_resumes_the_wait(wait: Wait, alarm: Alarm) -> None:
    calls: list[float] = []
    alarm(lambda: calls.append(time.monotonic()))
    start = time.monotonic()
    assert wait(0.06) == []
    assert time.monotonic() - start >= 0.06
    assert calls


def test_handler_that_raises_ends_the_wait(wait: Wait, alarm: Alarm) -> None:
    raised: list[bool] = []

    def interrupt() -> None:
        if not raised:
            raised.append(True)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        alarm(interrupt)
        wait(60)


class Late(Exception):
    """Raised by the handler of a signal."""


def test_handler_between_two_sleeps_is_not_put_off(queue: xpoll.Queue) -> None:
    """A batch that was deleted before Python saw it leads to another sleep.

    The signal comes when the first sleep is over and interrupts nothing.
    """
    main = threading.get_ident()
    ran = threading.Event()
    in_time: list[bool] = []

    def handler(*_: object) -> None:
        ran.set()
        raise Late

    def other() -> None:
        while queue.stats()["waits"] == 0:
            time.sleep(0)
        # From here to ran.wait this thread does not let go of the interpreter, so what
        # the library has returned stays where it is.
        queue.add(1, xpoll.FILT_USER, fflags=xpoll.NOTE_TRIGGER, udata="mine")
        while queue.stats()["events"] == 0:
            pass
        queue.delete(1, xpoll.FILT_USER)
        signal.pthread_kill(main, signal.SIGALRM)
        in_time.append(ran.wait(20))
        queue.wake()

    before = signal.signal(signal.SIGALRM, handler)
    interval = sys.getswitchinterval()
    thread = threading.Thread(target=other)
    try:
        sys.setswitchinterval(1000)
        thread.start()
        with pytest.raises(Late):
            queue.wait(60)
    finally:
        sys.setswitchinterval(interval)
        thread.join()
        signal.signal(signal.SIGALRM, before)
    assert in_time == [True]


def test_handler_may_close_what_waits(backend: str, alarm: Alarm) -> None:
    for make, call in ((xpoll.Queue, xpoll.Queue.wait), (xpoll.Queue, xpoll.Queue.poll),
                       (xpoll.XpollSelector, xpoll.XpollSelector.select)):
        waiting = make(backend)
        alarm(waiting.close)
        with pytest.raises(ValueError):
            call(waiting)  # type: ignore[arg-type]


def test_handler_may_trigger_what_waits(queue: xpoll.Queue, alarm: Alarm) -> None:
    queue.add(1, xpoll.FILT_USER)
    alarm(lambda: queue.trigger(1))
    assert [event.ident for event in queue.wait(60)] == [1]


@pytest.mark.parametrize("code", [
    "xpoll.Queue().wait()", "xpoll.Queue().poll()", "xpoll.XpollSelector().select()"])
def test_control_c_is_keyboard_interrupt(code: str) -> None:
    program = ("import signal, xpoll\n"
               "def handler(*_):\n"
               "    signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
               "    raise KeyboardInterrupt\n"
               "signal.signal(signal.SIGINT, handler)\n"
               "try:\n"
               "    print('ready', flush=True)\n"
               f"    {code}\n"
               "except KeyboardInterrupt: print('interrupted')\n")
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE,
                          text=True) as child:
        assert child.stdout and child.stdout.readline() == "ready\n"
        # It may not wait yet: then the next one reaches it.
        while child.poll() is None:
            os.kill(child.pid, signal.SIGINT)
            try:
                child.wait(0.05)
            except subprocess.TimeoutExpired:
                pass
        assert child.stdout.read() == "interrupted\n"
