"""What the tests in Python share: a time limit, and how a skip is reported.

unittest counts a skipped case as passed.  Here it is printed as the C programs
do it, so that scripts/runtests.py sees it, and 77 is the exit code if nothing
else ran.
"""

import sys
import unittest

SKIPPED = 77
# A bound for hangs, nothing waits for it to pass; CTest waits twice that.
LIMIT_S = 300


class Result(unittest.TextTestResult):
    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        name = test.id().rsplit(".", 1)[-1]
        self.stream.writeln(f"\n  skip  {name}: {reason}")


def main():
    """As unittest.main."""
    runner = unittest.TextTestRunner(resultclass=Result, verbosity=2)
    result = unittest.main(testRunner=runner, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.testsRun == len(result.skipped) else 0)
