"""The measured numbers, as they are looked up for pictures and tables, and how they grow.

Of a cost c(n) for each operation the exponent is the slope of log c over log n, by least
squares: 0 is constant, 1 is in proportion to n.  Where each operation touches another part
of a table that no cache holds, memory alone makes it grow; rows by hand show how much.
"""

import glob
import json
import math
import os


class Results:
    """The reports of a folder, by the name of their file."""

    def __init__(self, folder):
        self.reports = {}
        for path in glob.glob(os.path.join(folder, "*.json")):
            with open(path, encoding="utf-8") as file:
                self.reports[os.path.basename(path)[:-5]] = json.load(file)

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

    def series(self, workload, variant, value, phase=None):
        """[(n, value(ns per operation, n))] over all sizes."""
        found = ((n, self.number(f"{workload}-{n}", variant, "ns_per_", phase))
                 for n in self.sizes(workload))
        return [(n, value(ns, n)) for n, ns in found if ns is not None]

    def rates(self, name, phase=None):
        """variant -> operations per second"""
        found = {row["variant"]: self.number(name, row["variant"], "ns_per_", phase)
                 for row in self.rows(name)}
        return {variant: 1e9 / ns if ns else None for variant, ns in found.items()}

    def phases(self, name):
        return list(dict.fromkeys(row.get("phase") for row in self.rows(name)))

    def workloads(self):
        """name -> its summary"""
        return {report["benchmark"]: report["summary"] for report in self.reports.values()
                if isinstance(report, dict) and "summary" in report}

    def servers(self, key):
        """server -> [(idle connections, value)]"""
        lines = {}
        for row in self.rows("http"):
            if key in row:
                lines.setdefault(row["server"], []).append((row["idle"], row[key]))
        return lines

    def machine(self):
        return next((report["machine"] for report in self.reports.values()
                     if isinstance(report, dict) and "machine" in report), {})


# --- Growth: workload, its field, what is counted, phases (None: all), and whose.
XPOLL, RAW = "xpoll-epoll", "raw-epoll"
GROWTH = [
    ("idle", "ns_per_", "ns an event, 10 of n active", [None], (XPOLL, RAW, "raw-poll")),
    ("costs", "ns_per_", "ns a change", ("add", "disable", "enable", "delete"), (XPOLL, RAW)),
    ("memory", "ns_per_", "ns a descriptor", ("add", "destroy"), (XPOLL, RAW)),
    ("memory", "bytes_per_", "bytes a descriptor", ("add",), (XPOLL,)),
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
    """Name of a plot -> its unit, {whose: [(n, cost)]}, of what was measured three times."""
    found = {}
    for workload, field, what, phases, variants in GROWTH:
        sizes = results.sizes(workload)
        for phase in phases or (results.phases(f"{workload}-{sizes[0]}") if sizes else ()):
            lines = {}
            for variant in variants:
                points = [(n, results.number(f"{workload}-{n}", variant, field, phase))
                          for n in sizes]
                points = [(n, y) for n, y in points if y]
                if slope(points) is not None:
                    lines[variant] = points
            if lines:
                name = " ".join(filter(None, (workload, phase, field.split("_")[0])))
                found["growth-" + name] = what, lines
    return found


def growth_rows(results):
    """What is in HEAD."""
    for name, (what, lines) in growth(results).items():
        for variant, points in lines.items():
            yield (f"{name.replace('growth-', '')}: {what}", variant, points[0][0],
                   points[-1][0], points[0][1], points[-1][1], slope(points),
                   slope([(n, math.log(n)) for n, _ in points]))


def growth_text(results):
    lines = [f"{HEAD[0]:<40}{HEAD[1]:<13}" + "".join(f"{head:>12}" for head in HEAD[2:])]
    for what, whose, first, last, low, high, exponent, logarithm in growth_rows(results):
        lines.append(f"{what:<40}{whose:<13}{first:>12,}{last:>12,}{low:>12,.1f}{high:>12,.1f}"
                     f"{exponent:>12.2f}{logarithm:>12.2f}")
    return "\n".join(lines)
