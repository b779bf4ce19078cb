"""The measured numbers, as they are looked up for pictures and tables, and how they grow.

Of a cost c(n) for each operation the exponent is the slope of log c over log n, by least
squares: 0 is constant, 1 is in proportion to n.  Where each operation touches another part
of a table that no cache holds, memory alone makes it grow; rows by hand show how much.
"""

import glob
import json
import math
import os
import re


class Results:
    """The reports of a folder, by the name of their file."""

    def __init__(self, folder):
        self.reports = {}
        for path in glob.glob(os.path.join(folder, "*.json")):
            with open(path, encoding="utf-8") as file:
                self.reports[os.path.basename(path)[:-5]] = json.load(file)
        for name in [name for name in self.reports if name.startswith("instructions-")]:
            self.merge_instructions(self.reports.pop(name))

    def merge_instructions(self, counted):
        """Beside the system calls of the rows with the same n, and those that nobody counted."""
        found = {(row["variant"], row["phase"]): row for row in counted["rows"]}
        rows = self.rows(f"{counted['workload']}-{counted['n']}")
        for number, row in enumerate(rows):
            rows[number] = {}
            counts = found.get((row["variant"], row.get("phase")), {})
            for key, value in row.items():
                rows[number][key] = value
                if key.startswith("syscalls_per_"):
                    rows[number][key] = counts.get("syscalls") if value is None else value
                    rows[number]["instructions" + key[len("syscalls"):]] = counts.get(
                        "instructions")

    def get(self, name):
        return self.reports.get(name)

    def rows(self, name):
        return (self.get(name) or {}).get("results", [])

    def sizes(self, workload):
        """All n of a workload that were measured."""
        start = workload + "-"
        return sorted(int(name[len(start):]) for name in self.reports
                      if name.startswith(start) and name[len(start):].isdigit())

    def number(self, name, variant, start, phase=None):
        """The field whose name begins with start, such as "ns_per_"; None: not there."""
        for row in self.rows(name):
            if row.get("variant") == variant and row.get("phase") == phase:
                return next((value for key, value in row.items() if key.startswith(start)), None)
        return None

    def series(self, workload, variant, field="ns_per_", phase=None):
        """[(n, its number)] over all sizes."""
        found = ((n, self.number(f"{workload}-{n}", variant, field, phase))
                 for n in self.sizes(workload))
        return [(n, value) for n, value in found if value]

    def rates(self, name, phase=None):
        """variant -> operations per second"""
        found = {row["variant"]: self.number(name, row["variant"], "ns_per_", phase)
                 for row in self.rows(name)}
        return {variant: 1e9 / ns for variant, ns in found.items() if ns}

    def phases(self, name):
        return list(dict.fromkeys(row.get("phase") for row in self.rows(name)))

    def workloads(self):
        """name -> its summary: looptest, the drop-in, and the rest in the order of the alphabet"""
        found = {report["benchmark"]: report["summary"] for report in self.reports.values()
                 if "summary" in report}
        first = [name for name in ("looptest", "drop-in") if name in found]
        return {name: found[name] for name in (*first, *sorted(set(found) - set(first)))}

    def unit(self, workload):
        """One of its operations: "read"."""
        row = self.rows(f"{workload}-{self.sizes(workload)[0]}")[0]
        return next(key[len("ns_per_"):] for key in row if key.startswith("ns_per_"))

    def machine(self):
        return next((report["machine"] for report in self.reports.values()
                     if "machine" in report), {})


def threads(phase):
    """Of "8 threads", 8; None: it is no number of threads."""
    found = re.fullmatch(r"(\d+) threads?", phase or "")
    return int(found[1]) if found else None


# --- Growth: workload, its field, what is counted, phases (None: all), and whose.
XPOLL, RAW, POLL = "xpoll-epoll", "raw-epoll", "raw-poll"
GROWTH = [
    ("idle", "ns_per_", "ns an event, 10 of n active", [None],
     (XPOLL, "xpoll-poll", RAW, POLL, "libevent", "libuv")),
    ("drop-in", "ns_per_", "ns an event, 10 of n active", [None],
     ("drop-in", POLL, RAW, "limit")),
    ("costs", "ns_per_", "ns", None, (XPOLL, RAW, POLL)),
    ("memory", "ns_per_", "ns a descriptor", ("add", "destroy"), (XPOLL, RAW)),
    ("memory", "bytes_per_", "bytes a descriptor", ("add",), (XPOLL, POLL, "libevent", "libuv")),
    ("user", "ns_per_", "ns", None, (XPOLL, "by-hand")),
    ("user", "bytes_per_", "bytes a user event", ("add",), (XPOLL,)),
    ("timers", "ns_per_", "ns a timer", None, (XPOLL, "timerfd", "libevent", "libuv")),
    ("timers", "bytes_per_", "bytes a timer", ("arm",), (XPOLL,)),
    ("files", "ns_per_", "ns a file", None, (XPOLL, "by-hand", "libuv")),
]
HEAD = ("what", "whose", "from n", "to n", "at first", "at last", "exponent", "of log n")


def slope(points):
    """The slope of log y over log x; None: not enough points."""
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len(logs) < 3:
        return None
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    return (sum((x - mean_x) * (y - mean_y) for x, y in logs)
            / sum((x - mean_x) ** 2 for x, _ in logs))


def growth(results):
    """(Workload, phase, what) -> {whose: [(n, cost)]}, of what was measured three times."""
    found = {}
    for workload, field, what, phases, variants in GROWTH:
        sizes = results.sizes(workload)
        for phase in phases or (results.phases(f"{workload}-{sizes[0]}") if sizes else ()):
            lines = {}
            for variant in variants:
                points = results.series(workload, variant, field, phase)
                if slope(points) is not None:
                    lines[variant] = points
            if lines:
                found[workload, phase, what] = lines
    for workload in results.workloads():
        name = f"{workload}-{max(results.sizes(workload), default=0)}"
        lines = {}
        for row in results.rows(name):
            if threads(row.get("phase")):
                lines.setdefault(row["variant"], []).append((
                    threads(row["phase"]), results.number(name, row["variant"], "ns_per_",
                                                          row["phase"])))
        if lines:
            found[workload, None, f"ns, by threads; n = {name.rpartition('-')[2]}"] = lines
    return found


def growth_rows(results):
    """What is in HEAD."""
    for (workload, phase, what), lines in growth(results).items():
        name = f"{workload}, {phase}: {what}" if phase else f"{workload}: {what}"
        for variant, points in lines.items():
            yield (name, variant, points[0][0],
                   points[-1][0], points[0][1], points[-1][1], *(
                       f"{found:.2f}" for found in (
                           slope(points), slope([(n, math.log(n)) for n, _ in points]))))
