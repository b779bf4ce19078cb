"""The report of ./dev bench: its plan, its tables, its page.

Goal: no workload is forgotten, no number is left out, bad arguments are named.  Method:
short measurements go into a folder, and the page is made of them, without plots.
"""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import xt

TOOL = os.environ["XPOLL_TOOL"]
BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "bench")
sys.path.insert(0, os.path.join(BENCH, "report"))
sys.dont_write_bytecode = True

import counts  # noqa: E402
import main  # noqa: E402
import page  # noqa: E402
import readme  # noqa: E402
import results as data  # noqa: E402


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=xt.LIMIT_S, check=False)


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def measure(self, workload, n):
        path = os.path.join(self.folder, f"{workload}-{n}.json")
        result = run(TOOL, "bench", workload, "-n", str(n), "-t", "0.001", "--rounds", "1",
                     "--peers", "raw", "--backend", "epoll", "--json", path)
        if "not a back end" in result.stderr:
            self.skipTest("no epoll here")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_plan_has_every_workload(self):
        known = re.findall(r"(?m)^  ([a-z-]+)  ", run(TOOL, "bench", "--help").stdout)
        for quick in False, True:
            steps = main.plan("folder", quick)
            planned = {step.command[2] for step in steps if step.command[1] == "bench"}
            self.assertEqual(planned, set(known))
            self.assertEqual(len({step.name for step in steps}), len(steps))
            counted = {step.command[4]: int(step.command[5]) for step in steps
                       if step.name.startswith("instructions-")}
            self.assertEqual(counted if quick else set(counted),
                             {} if quick else set(known) - {*counts.NO_INSTRUCTIONS})
            for workload, n in counted.items():  # or they would be beside no row
                self.assertIn(f"{workload}-{n}", [step.name for step in steps])
        self.assertEqual(set(counts.COUNTED), set(known))
        self.assertLess(sum(step.seconds for step in main.plan("folder", False)), 90 * 60)
        quick = main.plan("folder", True)
        self.assertLess(sum(step.seconds for step in quick), 360)  # with the build seven minutes

    def test_long_run_has_enough_rounds(self):
        for step in main.plan("folder", False):
            if step.command[1] == "bench" and step.name != "user-10000000":
                self.assertGreaterEqual(int(step.command[step.command.index("--rounds") + 1]), 15)

    def test_counts_are_compared_row_by_row(self):
        def row(calls, instructions=None, low=None):
            return {"calls": calls, "threads": low is not None, "range": [low, calls],
                    "wakes": 0.5, "instructions": instructions}

        old = {"a xpoll-epoll": row(4, 1000), "b xpoll-epoll": row(4, 1000),
               "c xpoll-epoll": row(6, low=5), "d xpoll-epoll": row(6, low=5)}
        new = {"a xpoll-epoll": row(4, 1004), "b xpoll-epoll": row(5, 1006),
               "c xpoll-epoll": row(7, low=6), "d xpoll-epoll": row(8, low=7),
               "e xpoll-epoll": row(1, 1), "a raw-epoll": row(6, 90),
               "f": {"error": "it hangs"}}
        self.assertEqual({name: counts.changes(old.get(name), new[name]) for name in new},
                         {"a xpoll-epoll": "", "b xpoll-epoll": "calls, instructions",
                          "c xpoll-epoll": "", "d xpoll-epoll": "calls", "e xpoll-epoll": "new",
                          "a raw-epoll": "new", "f": "new"})
        with contextlib.redirect_stdout(io.StringIO()) as text:
            self.assertEqual(counts.table(new, old), 3)
        self.assertRegex(text.getvalue(),
                         r"(?m)^a xpoll-epoll +4.00 +4.00 +6.00 +1,004 +1,000 +90$")
        self.assertIn("f                                  not counted: it hangs", text.getvalue())

    def test_rows_of_this_tree_are_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(folder + "/bin")
            os.symlink(TOOL, folder + "/bin/xpoll")
            found = counts.calls_of(folder, "unread")
        self.assertLessEqual({"unread xpoll-poll", "unread raw-epoll"}, set(found))
        self.assertAlmostEqual(found["unread raw-epoll"]["calls"], 4, 2)

    def test_results_of_an_earlier_run_are_forgotten(self):
        names = ["timers-1000000.json", "timers-100000.json", "http.json", "kqueue.json"]
        for name in names:
            open(os.path.join(self.folder, name), "w", encoding="utf-8").close()
        main.forget(self.folder)
        self.assertEqual(os.listdir(self.folder), ["kqueue.json"])

    def test_java_has_its_tables(self):
        servers = [{"server": name, "connections": 1000, "data_ms": 1.0, "cpu_ms": cpu,
                    "cpu_us_per_event": 1.0, "rss_kb": 2048, "threads": 3, "in_1999_s": 11}
                   for name, cpu in (("Poller, inline", 5), ("Poller, gangs", 7),
                                     ("Poller, one-shot", 9), ("java.nio Selector", 6))]
        loops = [{"variant": "xpoll-descriptors", "pipes": n, "reads_per_s": 1.0, "ratio": 2.3,
                  "cpu_ns_per_read": ns, "bytes_per_read": 0.0} for n, ns in ((8, 10), (1000, 12))]
        for name, rows in ("servers", servers), ("looptest", loops):
            with open(os.path.join(self.folder, f"java-{name}.json"), "w",
                      encoding="utf-8") as file:
                json.dump({"java": "a Java", "results": rows}, file)
        results = data.Results(self.folder)
        path = os.path.join(self.folder, "report.html")
        page.write(results, path, "./dev bench")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for word in "in_1999_s", "bytes_per_read", "java.nio Selector", "1,000 pipes":
            self.assertIn(word, text)

    def test_java_readme_gets_the_tables_that_were_measured(self):
        rows = [{"server": name, "connections": n, "cpu_ms": 1234.0, "cpu_us_per_event": 2.46,
                 "rss_kb": 2048, "threads": 1003, "in_1999_s": year}
                for n, year in ((1000, 11), (8000, None)) for name in ("a", "b")]
        with open(os.path.join(self.folder, "java-servers.json"), "w", encoding="utf-8") as file:
            json.dump({"results": rows}, file)
        os.mkdir(os.path.join(self.folder, "java"))
        path = os.path.join(self.folder, "java", "README.md")
        marks = "<!-- java-looptest -->\nold\n<!-- /java-looptest -->\n"
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{marks}<!-- java-servers -->\nold\n<!-- /java-servers -->\nend\n")
        readme.update_java(data.Results(self.folder), self.folder)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith(marks), text)
        self.assertIn("| b | 1.23 | 2.5 | 11 | 2 | 1,003 | 1.23 | 2.5 |  | 2 | 1,003 |\n", text)
        self.assertTrue(text.endswith("|\n<!-- /java-servers -->\nend\n"), text)

    def test_page_is_whole_without_other_files(self):
        self.measure("active", 8)
        with open(os.path.join(self.folder, "kqueue-5.json"), "w", encoding="utf-8") as file:
            json.dump({"results": [{"variant": "<odd>", "ns": 5.5}]}, file)
        path = os.path.join(self.folder, "report.html")
        page.write(data.Results(self.folder), path, "./dev bench")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("&lt;odd&gt;", text)
        for word in "n = 8: k=16", "Web servers", "Java: the table of 1999", "Not measured here":
            self.assertIn(word, text)
        self.assertNotRegex(text, r'(src|href)="(?!data:|#)')
        self.assertIn("width=device-width", text)
        self.assertIn("prefers-color-scheme: dark", text)

    def test_contents_name_the_sections_and_pictures_come_first(self):
        self.measure("active", 8)
        self.measure("looptest", 8)
        for n in 8, 16, 32:
            self.measure("idle", n)
        path = os.path.join(self.folder, "report.html")
        page.write(data.Results(self.folder), path, "./dev bench")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        links = re.findall('<a href="#([^"]+)">', text)
        self.assertEqual(links, re.findall("<h2 id=([^>]+)>", text))
        self.assertEqual((links[:3], links[-1]), (["looptest", "active", "idle"], "growth"))
        for title in links[:3]:
            section = text.partition(f"<h2 id={title}>")[2]
            self.assertLess(section.index("<svg"), section.index("<details"))
        self.assertIn("<polyline", text.partition("<h2 id=idle>")[2])

    def test_instructions_are_beside_the_system_calls(self):
        self.measure("active", 8)
        self.measure("active", 16)
        with open(os.path.join(self.folder, "instructions-active.json"), "w",
                  encoding="utf-8") as file:
            json.dump({"workload": "active", "n": 8, "rows": [
                {"variant": variant, "phase": "k=16", "instructions": count, "syscalls": 12.5}
                for variant, count in (("xpoll-epoll", 5432.25), ("raw-epoll", 765.75))]}, file)
        path = os.path.join(self.folder, "active-8.json")
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        ours = next(row for row in report["results"]
                    if (row["variant"], row["phase"]) == ("xpoll-epoll", "k=16"))
        ours["syscalls_per_read"] = None
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        results = data.Results(self.folder)
        self.assertEqual(results.sizes("active"), [8, 16])
        self.assertEqual(results.number("active-8", "raw-epoll", "instructions_per_read", "k=16"),
                         765.75)
        self.assertIsNone(results.number("active-16", "raw-epoll", "instructions", "k=16"))
        self.assertEqual(results.number("active-8", "xpoll-epoll", "syscalls", "k=16"), 12.5)
        self.assertNotEqual(results.number("active-8", "raw-epoll", "syscalls", "k=16"), 12.5)
        rows = {(row[0], row[1]): row for row in page.beside(results)}
        self.assertEqual(rows["active: k=16", 8][-1], "5,432 / 766")
        self.assertEqual(rows["active: k=16", 16][-1], "–")
        self.assertIn("raw-epoll", rows["active: k=16", 8][3])
        self.assertEqual({len(row) for row in rows.values()}, {len(page.BESIDE)})

    def test_threads_are_one_picture(self):
        self.measure("changes", 4)
        results = data.Results(self.folder)
        (lines,) = data.growth(results).values()
        self.assertEqual([n for n, _ in lines["raw-epoll"]], [1, 2, 4, 8, 16, 32])
        self.assertEqual(list(page.panels(results, "changes", [4])), [])

    def test_growth_is_fitted_to_three_sizes_or_more(self):
        for n in 8, 16, 32:
            self.measure("user", n)
        lines = data.growth(data.Results(self.folder))["user", "add", "ns"]
        self.assertEqual([n for n, _ in lines["by-hand"]], [8, 16, 32])
        self.assertAlmostEqual(data.slope([(10, 5), (100, 50), (1000, 500)]), 1)
        self.assertIsNone(data.slope([(10, 5), (100, 50)]))

    def test_summary_is_made_of_the_numbers(self):
        self.measure("looptest", 8)
        results = data.Results(self.folder)
        ns = results.number("looptest-8", "xpoll-epoll", "ns_per_")
        said = page.summary(results)
        self.assertIn(f"takes xpoll {ns:,.0f} ns", said)
        self.assertEqual(said.count(". ") + 1, 1)
        self.assertIn("Too little", page.summary(data.Results(self.folder + "/none")))

    def test_readme_gets_the_table_and_nothing_else_of_it_changes(self):
        readme.SIZES = [8, 16, 24]
        for n in readme.SIZES:
            self.measure("looptest", n)
            self.measure("idle", n)
            shutil.copy(os.path.join(self.folder, f"idle-{n}.json"),
                        os.path.join(self.folder, f"drop-in-{n}.json"))
        os.makedirs(os.path.join(self.folder, "docs/internals"))
        paths = {os.path.join(self.folder, name): (columns, rows) for name, columns, rows in (
            ("README.md", 8, readme.IN_README),
            ("docs/internals/measuring.md", 10, readme.VARIANTS))}
        for path in paths:
            with open(path, "w", encoding="utf-8") as file:
                file.write("before\n<!-- looptest -->\nold\n<!-- /looptest -->\nafter\n")
        results = data.Results(self.folder)
        readme.update(results, self.folder)
        for path, (columns, variants) in paths.items():
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
            self.assertEqual((lines[:2], lines[-2:]), (["before", "<!-- looptest -->"],
                                                       ["<!-- /looptest -->", "after"]))
            rows = {cells[1]: cells for cells in ([cell.strip() for cell in line.split("|")]
                                                  for line in lines[2:-2])}
            self.assertEqual({len(cells) for cells in rows.values()}, {columns})
            self.assertEqual(len(rows), len(variants) + 2)
            ours = rows["xpoll-epoll (default)"]
            self.assertEqual(ours[2],
                             f"{results.number('looptest-8', 'xpoll-epoll', 'ns_per_'):,.0f}")
            self.assertEqual(rows["raw-epoll"][4], "1.00")
            self.assertEqual(rows["libuv"][2], "-")
        images = os.path.join(self.folder, "docs/images")
        self.assertEqual(sorted(os.listdir(images)), ["drop-in.svg", "looptest.svg"])
        for name in os.listdir(images):
            root = xml.etree.ElementTree.parse(os.path.join(images, name)).getroot()
            self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
            if name == "looptest.svg":  # site.css puts its panels one above the other
                self.assertEqual(root.get("width"), f"{3 * 390}")

    def test_readme_without_results_stays_as_it_is(self):
        with self.assertRaisesRegex(SystemExit, "no results of looptest"):
            readme.update(data.Results(self.folder), self.folder)

    def test_bad_arguments_of_the_scripts_are_refused(self):
        for script, *arguments in (("http.py", "--idle", "-1"), ("http.py", "--idle", "many"),
                                   ("http.py", "-t", "0"), ("http.py", "--rounds", "9999999"),
                                   ("start.py", "--rounds", "many"),
                                   ("report/main.py", "frobnicate"),
                                   ("report/main.py", "page", "--fast")):
            with self.subTest(script=script, arguments=arguments):
                result = run(sys.executable, os.path.join(BENCH, script), *arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn("error: ", result.stderr)


if __name__ == "__main__":
    xt.main()
