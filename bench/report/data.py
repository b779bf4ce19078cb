"""The measured numbers, as they are looked up for figures and tables."""

import glob
import json
import os


class Results:
    def __init__(self, folder):
        self.reports = {}
        for path in glob.glob(os.path.join(folder, "*.json")):
            with open(path, encoding="utf-8") as file:
                self.reports[os.path.basename(path)[:-5]] = json.load(file)

    def get(self, name):
        return self.reports.get(name)

    def sizes(self, workload):
        """All n of a workload that were measured."""
        start = workload + "-"
        return sorted(int(name[len(start):]) for name in self.reports
                      if name.startswith(start) and name[len(start):].isdigit())

    def result(self, name, variant, phase=None):
        for result in (self.get(name) or {}).get("results", []):
            if result.get("variant") == variant and result.get("phase") == phase:
                return result
        return None

    def number(self, name, variant, start, phase=None):
        """The field whose name begins with start, such as "ns_per_"; None: not there."""
        for key, value in (self.result(name, variant, phase) or {}).items():
            if key.startswith(start):
                return value
        return None

    def series(self, workload, variant, value, phase=None):
        """[(n, value(ns per operation, n))] over all sizes."""
        points = []
        for n in self.sizes(workload):
            ns = self.number(f"{workload}-{n}", variant, "ns_per_", phase)
            if ns is not None:
                points.append((n, value(ns, n)))
        return points

    def variants(self, name):
        return list(dict.fromkeys(r["variant"] for r in (self.get(name) or {})["results"]))

    def servers(self, key):
        """server -> [(idle connections, value)]"""
        lines = {}
        for row in (self.get("http") or {}).get("results", []):
            if key in row:
                lines.setdefault(row["server"], []).append((row["idle"], row[key]))
        return lines

    def machine(self):
        for report in self.reports.values():
            if "machine" in report:
                return report["machine"]
        return {}
