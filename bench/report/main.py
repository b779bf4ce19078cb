#!/usr/bin/env python3
"""Measure everything, and make a page of it.

  main.py measure [--quick] [--only REGEX] FOLDER   run the steps, into FOLDER/*.json
  main.py page [--quick] FOLDER                     FOLDER/plots, FOLDER/report.html
  main.py readme FOLDER                             put those of the README into it,
  main.py readme --only java FOLDER                 or those of java/README.md
  main.py list [--quick]                            the steps and how long they take

Exit codes: 0 done, 1 a step failed (the others were run), 2 wrong arguments.
"""

import argparse
import contextlib
import datetime
import os
import platform
import re
import subprocess
import sys
import time

import plan


def show(done, total, began, doing):
    if not sys.stderr.isatty():
        print(f"bench: {doing}", file=sys.stderr)
        return
    spent = time.monotonic() - began
    left = spent / done * (total - done) if done else total
    print(f"\r\033[K[{100 * done / total:3.0f}%] {left // 60:.0f}:{left % 60:02.0f} left  {doing}",
          end="" if doing else "\n", file=sys.stderr, flush=True)


def forget(folder):
    """Results of an earlier run would be mixed with those of this one."""
    for quick in False, True:
        for step in plan.steps(folder, quick):
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(folder, step.name + ".json"))


def measure(options):
    steps = [step for step in plan.steps(options.folder, options.quick)
             if re.search(options.only, step.name)]
    total, done, failed = sum(step.seconds for step in steps), 0, []
    began = time.monotonic()
    os.makedirs(options.folder, exist_ok=True)
    if not options.only:
        forget(options.folder)
    for step in steps:
        show(done, total, began, step.name)
        with open(os.path.join(options.folder, step.name + ".txt"), "w",
                  encoding="utf-8") as file:
            code = subprocess.run(step.command, stdout=file, stderr=subprocess.STDOUT,
                                  check=False).returncode
        if code not in (0, 77):
            failed.append(step.name)
        done += step.seconds
    show(total, total, began, "")
    for name in failed:
        print(f"bench: {name} failed; {options.folder}/{name}.txt says why", file=sys.stderr)
    return 1 if failed else 0


def machine(results):
    described = results.machine()
    return {
        "processor": f"{described.get('cpu', platform.machine())}, "
                     f"{described.get('cores', os.cpu_count())} cores",
        "kernel": described.get("kernel", platform.platform()),
        "C library": " ".join(platform.libc_ver()),
        "measured": datetime.date.today().isoformat(),
    }


def page(options):
    import data
    import figures
    import page as page_of

    results = data.Results(options.folder)
    plots = os.path.join(options.folder, "plots")
    made = figures.make_all(results, plots)
    path = os.path.join(options.folder, "report.html")
    page_of.write(results, plots, path, "./dev bench" + (" --quick" if options.quick else ""),
                  machine(results))
    print(f"{len(made)} plots are in {plots}, the page is {path}")
    return 0


def readme(options):
    import data
    import readme as readme_of

    results = data.Results(options.folder)
    if options.only == "java":
        readme_of.update_java(results, plan.ROOT)
    else:
        readme_of.update(results, os.path.join(options.folder, "plots"), plan.ROOT)
    return 0


def list_steps(options):
    steps = plan.steps(options.folder, options.quick)
    for step in steps:
        print(f"{step.seconds:6.0f} s  {step.name}")
    print(f"{sum(step.seconds for step in steps):6.0f} s  in all")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("measure", "page", "readme", "list"))
    parser.add_argument("folder", nargs="?", default="build/bench")
    parser.add_argument("--quick", action="store_true", help="short turns, few sizes")
    parser.add_argument("--only", default="", help="steps whose name this finds")
    options = parser.parse_intermixed_args()
    return {"measure": measure, "page": page, "readme": readme,
            "list": list_steps}[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
