"""xpoll.Tree: changes, options, errors, and how a wait ends."""
import errno
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

import xpoll


def test_changes_come_with_their_names(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    with xpoll.Tree(top, notes=xpoll.NOTE_WRITE) as tree:
        assert tree.next(0) is None
        (top / "a/b").mkdir(parents=True)
        assert tree.next() == ("create", "a", None, 0, 0)
        change = tree.next(20)
        assert change is not None and (change.kind, change.path) == ("create", "a/b")
        (top / "a/b/c").write_text("text")
        assert [tree.next() for _ in range(2)] == [
            ("create", "a/b/c", None, 0, 0), ("change", "a/b/c", None, xpoll.NOTE_WRITE, 0)]
        (top / "a/b").rename(top / "d")
        assert tree.next() == ("rename", "a/b", "d", 0, 0)
        shutil.rmtree(top)
        *gone, end = tree
        assert {change.path for change in gone} == {"a", "d", "d/c"}
        assert end == ("end", "", None, xpoll.NOTE_DELETE, 0)
        assert list(tree) == []
        with pytest.raises(OSError) as raised:
            tree.next(0)
        assert raised.value.errno == errno.ESTALE


def test_options(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    with xpoll.Tree(os.fsencode(tmp_path), flat=True, links=True) as tree:
        (tmp_path / "below/x").touch()
        name = b"\xff" # names are bytes
        open(os.path.join(os.fsencode(tmp_path), name), "w").close()
        change = tree.next(20)
        assert change is not None and os.fsencode(change.path) == name
        assert tree.next(0) is None


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        xpoll.Tree(tmp_path / "none")
    assert os.fsdecode(raised.value.filename) == str(tmp_path / "none")
    with pytest.raises(OSError):
        xpoll.Tree(tmp_path, notes=1 << 31)
    with pytest.raises(TypeError):
        xpoll.Tree(7)  # type: ignore[arg-type]
    tree = xpoll.Tree(tmp_path)
    with pytest.raises(ValueError):
        tree.next(-1)
    assert not tree.closed and tree.fileno() >= 0
    tree.close()
    tree.close()
    assert tree.closed
    for call in tree.next, tree.fileno, tree.wake, tree.__enter__:
        with pytest.raises(ValueError):
            call()


def test_wake_and_close_end_the_wait_of_another_thread(tmp_path: Path) -> None:
    tree = xpoll.Tree(tmp_path)
    results: list[object] = []

    def wait() -> None:
        results.append(tree.next())

    thread = threading.Thread(target=wait)
    thread.start()
    tree.wake()
    thread.join()
    assert results == [None]
    busy = threading.Thread(target=wait)
    busy.start()
    while not tree.closed:
        try:
            tree.next(0)
        except RuntimeError:  # The other thread waits.
            tree.close()
    busy.join()
    assert results == [None, None]


def test_signal_handler_that_returns_does_not_end_a_wait(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGALRM, lambda *_: (tmp_path / "made").touch())
    try:
        with xpoll.Tree(tmp_path) as tree:
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            change = tree.next(20)
            assert change is not None and change.path == "made"
            start = time.monotonic()
            assert tree.next(0.01) is None
            assert time.monotonic() - start >= 0.01
    finally:
        signal.signal(signal.SIGALRM, before)
