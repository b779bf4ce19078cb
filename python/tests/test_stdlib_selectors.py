"""CPython's own cases for a selector class, on every back end.

The interpreter's test package holds them; some systems package it apart.
"""
import errno
import functools
import unittest
from typing import Any

import pytest
import xpoll

cases = pytest.importorskip("test.test_selectors",
                            reason="the interpreter's own test package is not installed")


def fileno_is_not_supported(self: Any) -> None:
    with self.SELECTOR() as selector, self.assertRaises(OSError) as caught:
        selector.fileno()
    self.assertEqual(caught.exception.errno, errno.ENOTSUP)


def make_case(backend: str) -> type[unittest.TestCase]:
    selector = functools.partial(xpoll.XpollSelector, backend)
    selector.__name__ = "XpollSelector"  # type: ignore[attr-defined]
    attributes: dict[str, Any] = {
        "SELECTOR": staticmethod(selector),
        # Of selectors whose inside can be patched.
        "test_modify_unregister": None,
        # Of the kqueue selector, and true here as well.
        "test_register_bad_fd": cases.KqueueSelectorTestCase.test_register_bad_fd,
        "test_empty_select_timeout": cases.KqueueSelectorTestCase.test_empty_select_timeout,
    }
    if backend in ("poll", "select"):
        attributes["test_fileno"] = fileno_is_not_supported
    bases = (cases.BaseSelectorTestCase, cases.ScalableSelectorMixIn, unittest.TestCase)
    return type("Case", bases, attributes)


for name in xpoll.backends():
    globals()[f"TestSelector_{name}"] = make_case(name)
