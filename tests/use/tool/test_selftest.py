"""xpoll selftest: what it says of a library that works, and of one that does not."""
import os
import re
import subprocess
import unittest

TOOL = os.environ["XPOLL_TOOL"]
BROKEN = os.environ.get("XPOLL_BROKEN")
LIMIT_S = 240


def run(*arguments, **environment):
    result = subprocess.run([TOOL, "selftest", *arguments], env={**os.environ, **environment},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            timeout=LIMIT_S, check=False)
    return result.returncode, result.stdout.splitlines()


class Selftest(unittest.TestCase):
    def test_a_library_that_works(self):
        info = subprocess.run([TOOL, "info"], stdout=subprocess.PIPE, text=True, check=True)
        section = info.stdout.partition("\nback ends")[2].partition("\n\n")[0]
        backends = re.findall(r"(?m)^  (\w+) +yes", section)
        self.assertIn("poll", backends)
        code, lines = run()
        self.assertEqual((code, len(lines)), (0, 1), lines)
        system = os.uname()
        start = rf"selftest: xpoll \d+\.\d+\.\d+ on {system.sysname} {system.release}"
        each = "; ".join(rf"{name} \d{{3,}} passed, 0 failed, \d+ skipped" for name in backends)
        self.assertRegex(lines[0], f"^{start} {system.machine}: {each}; all right$")

    def test_one_back_end_and_each_case(self):
        code, lines = run("--backend", "poll", "--verbose")
        self.assertEqual(code, 0, lines)
        passed = [line for line in lines if line.startswith("ok    poll: ")]
        skipped = [line for line in lines if re.match("skip  poll: .*: ", line)]
        self.assertIn(f"poll {len(passed)} passed, 0 failed, {len(skipped)} skipped; all right",
                      lines[-1])

    def test_wrong_arguments(self):
        code, lines = run("--backend", "none")
        self.assertEqual(code, 2)
        self.assertRegex(lines[0], r"^selftest: --backend none: not usable here; usable: .*poll")
        self.assertEqual(run("more")[0], 2)

    @unittest.skipUnless(BROKEN, "no library to be put in front")
    def test_a_library_that_does_not_work(self):
        code, lines = run("--backend", "poll", LD_PRELOAD=BROKEN)
        self.assertEqual(code, 1, lines)
        failed = [line for line in lines if re.match("FAIL  poll: ", line)]
        self.assertTrue(any(re.match(r"FAIL  poll: pwait\.\w+ \(S17\)$", line) for line in failed),
                        failed)
        self.assertIn(f"{len(failed)} failed", lines[-1])
        for line in failed:
            self.assertIn(line.replace("FAIL  poll: ", "poll "), lines[-1])

    @unittest.skipUnless(BROKEN, "no library to be put in front")
    def test_a_library_that_ends_the_process(self):
        code, lines = run("--backend", "poll", LD_PRELOAD=BROKEN, BROKEN="die")
        self.assertEqual(code, 1, lines)
        died = [line for line in lines if line.startswith("DIED  poll: ")]
        # One in each half of the cases, as both halves have one that calls xpoll_lookup.
        self.assertEqual(len(died), 2, lines)
        for line in died:
            self.assertIn(line.replace("DIED  poll: ", "poll "), lines[-1])


if __name__ == "__main__":
    unittest.main()
