"""All of asyncio's own tests, with XpollSelector in the place of every selector.

They take minutes, so they run only with XPOLL_PYTHON_ALL=1; ./dev ci sets it.  The exit
code is 77 where they cannot run.
"""
import importlib.util
import os
import selectors
import sys
import unittest

import xpoll


def main() -> int:
    if "XPOLL_PYTHON_ALL" not in os.environ:
        print("SKIP: takes minutes; XPOLL_PYTHON_ALL=1 runs it")
        return 77
    if importlib.util.find_spec("test.test_asyncio") is None:
        print("SKIP: the interpreter's own test package is not installed")
        return 77
    for name in ("DefaultSelector", "EpollSelector", "PollSelector", "SelectSelector"):
        setattr(selectors, name, xpoll.XpollSelector)

    support = importlib.import_module("test.support")
    support.use_resources = []  # type: ignore[attr-defined]  # No network, for one.
    package = importlib.import_module("test.test_asyncio")
    names = sorted(name.removesuffix(".py") for name in os.listdir(package.__path__[0])
                   if name.startswith("test_") and "windows" not in name)
    suite = unittest.defaultTestLoader.loadTestsFromNames(
        [f"test.test_asyncio.{name}" for name in names])
    return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
