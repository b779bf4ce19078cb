"""The measured numbers, as they are looked up for pictures and tables."""

import glob
import json
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

    def rate(self, name, variant, phase=None):
        ns = self.number(name, variant, "ns_per_", phase)
        return 1e9 / ns if ns else None

    def series(self, workload, variant, value, phase=None):
        """[(n, value(ns per operation, n))] over all sizes."""
        found = ((n, self.number(f"{workload}-{n}", variant, "ns_per_", phase))
                 for n in self.sizes(workload))
        return [(n, value(ns, n)) for n, ns in found if ns is not None]

    def variants(self, name):
        return list(dict.fromkeys(row["variant"] for row in self.rows(name)))

    def phases(self, name):
        return list(dict.fromkeys(row.get("phase") for row in self.rows(name)))

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
