"""CPython's own tests of select, selectors, sockets and asyncio, with and without the
drop-in.

Goal: the same results.  Method: its test modules run twice; each case has to end
alike.  What differs is run once more, as some of them depend on the time that
they take.  asyncio runs on PollSelector here, since it would choose epoll.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import xt

TOOL = os.environ["XPOLL_TOOL"]
DROPIN = [TOOL, "run", "--poll", "--"]
# Everything is taken up, and no real call hides a mistake.
EAGER = {"XPOLL_POLL_MIN": "1", "XPOLL_POLL_AFTER": "0", "XPOLL_POLL_RECHECK": "0"}
# A virtual machine may offer such sockets and never connect them: with nothing in
# front the test hangs there, too.
IGNORED = ["-i", "*VSOCK*"]
POLL_SELECTOR = "import selectors\nselectors.DefaultSelector = selectors.PollSelector\n"


def python_with_tests():
    for python in ("/usr/bin/python3", sys.executable):
        if os.path.exists(python) and subprocess.run(
                [python, "-c", "import test.test_asyncio, test.test_poll"],
                capture_output=True).returncode == 0:
            return python
    raise unittest.SkipTest("Python's own tests are not installed")


class CPython(unittest.TestCase):
    def setUp(self):
        self.python = python_with_tests()
        self.folder = tempfile.mkdtemp(prefix="xpoll-cpython.")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_module(self, module, front):
        """{case: how it ended}"""
        report = os.path.join(self.folder, "report.xml")
        command = [*front, self.python, "-m", "test", *IGNORED, "--junit-xml", report, module]
        path = os.environ.get("PYTHONPATH")
        subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       env={**os.environ, **EAGER, "PYTHONDONTWRITEBYTECODE": "1",
                            "PYTHONPATH": os.pathsep.join(filter(None, (self.folder, path)))})
        if not os.path.exists(report):
            return {module: "no report"}
        results = {}
        for case in ElementTree.parse(report).iter("testcase"):
            ends = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            results[f"{case.get('classname', '')}.{case.get('name')}"] = ends or ["passed"]
        os.remove(report)
        return results

    def differences(self, module):
        before = self.run_module(module, [])
        after = self.run_module(module, DROPIN)
        self.assertGreater(len(before), 5, before)
        return {case: (before.get(case), after.get(case))
                for case in before.keys() | after.keys()
                if before.get(case) != after.get(case)}

    def check(self, module):
        found = self.differences(module)
        if found:
            again = self.differences(module)
            found = {case: found[case] for case in found.keys() & again.keys()}
        self.assertEqual(found, {})

    def test_select_module_ends_alike(self):
        self.check("test_select")

    def test_poll_module_ends_alike(self):
        self.check("test_poll")

    def test_selectors_module_ends_alike(self):
        self.check("test_selectors")


@unittest.skipUnless(os.environ.get("XPOLL_DROPIN_ALL"), "takes minutes")
class CPythonLong(CPython):
    test_select_module_ends_alike = None
    test_poll_module_ends_alike = None
    test_selectors_module_ends_alike = None

    def test_socket_module_ends_alike(self):
        self.check("test_socket")

    def test_asyncio_on_poll_selector_ends_alike(self):
        with open(os.path.join(self.folder, "sitecustomize.py"), "w",
                  encoding="ascii") as file:
            file.write(POLL_SELECTOR)
        self.check("test_asyncio")


if __name__ == "__main__":
    xt.main()
