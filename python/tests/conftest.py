"""What the tests of the binding share."""
import importlib.util
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PYTHON = Path(__file__).resolve().parent.parent


def find_built() -> None:
    """For who calls pytest by hand: in this folder the sources hide the package.

    They have no extension module.  What is installed goes first, then what ./dev build made.
    """
    sys.path[:] = [folder for folder in sys.path if Path(folder).resolve() != PYTHON]
    os.environ["PYTHONSAFEPATH"] = "1"  # The same for the programs that tests start.
    if importlib.util.find_spec("xpoll"):
        return
    built = sorted(PYTHON.parent.glob("build/*/python/xpoll/_xpoll*.so"),
                   key=lambda path: (path.parts[-4] != "release", path.parts[-4]))
    if not built:
        pytest.exit("xpoll is not built: ./dev build, or pip install ./python", 1)
    folder = str(built[0].parent.parent)
    sys.path.insert(0, folder)
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [folder, os.environ.get("PYTHONPATH")]))


find_built()
import xpoll  # noqa: E402

Pipe = tuple[int, int]


@pytest.fixture(autouse=True)
def no_descriptor_leaks() -> Iterator[None]:
    """Whatever a test opens it closes; so does the binding."""
    before = set(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else set()
    yield
    after = set(os.listdir("/proc/self/fd")) if before else set()
    assert len(after) <= len(before), f"left open: {sorted(after - before)}"


@pytest.fixture(params=xpoll.backends())
def backend(request: pytest.FixtureRequest) -> str:
    """Each back end that is usable here."""
    return str(request.param)


@pytest.fixture
def queue(backend: str) -> Iterator[xpoll.Queue]:
    with xpoll.Queue(backend) as made:
        yield made


@pytest.fixture
def selector(backend: str) -> Iterator[xpoll.XpollSelector]:
    with xpoll.XpollSelector(backend) as made:
        yield made


@pytest.fixture
def make_pipe() -> Iterator[Callable[[], Pipe]]:
    """Makes pipes that do not block; what is still open is closed at the end."""
    ends: list[tuple[int, int]] = []

    def make() -> Pipe:
        reader, writer = os.pipe()
        for fd in (reader, writer):
            os.set_blocking(fd, False)
            ends.append((fd, os.fstat(fd).st_ino))
        return reader, writer

    yield make
    for fd, inode in ends:
        try:
            if os.fstat(fd).st_ino == inode:
                os.close(fd)
        except OSError:
            pass


@pytest.fixture
def pipe(make_pipe: Callable[[], Pipe]) -> Pipe:
    return make_pipe()


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    left, right = socket.socketpair()
    with left, right:
        left.setblocking(False)
        right.setblocking(False)
        yield left, right


@pytest.fixture
def alarm() -> Iterator[Callable[[Callable[[], None]], None]]:
    """alarm(function): a SIGALRM handler that calls it, and a signal every 10 ms."""
    before = signal.getsignal(signal.SIGALRM)

    def start(function: Callable[[], None]) -> None:
        signal.signal(signal.SIGALRM, lambda *_: function())
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)

    yield start
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def in_child(function: Callable[[], None]) -> None:
    """Run a function in a forked child; fails unless it returns within a minute."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(60)
            function()
            code = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Skips in the form that scripts/runtests.py reads."""
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        name = report.nodeid.replace("/", "::").split("::")[-1].split("[")[0]
        terminalreporter.write_line(
            f"    skip {name.removesuffix('.py')}: {reason.removeprefix('Skipped: ')}")
