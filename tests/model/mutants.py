#!/usr/bin/env python3
"""Would the model notice?  Break a copy of the library in one place and let it play.

  mutants.py SOURCES BUILD/python COMPILER
"""
from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

# What is broken, by a text that occurs once and what stands there instead.
MUTANTS = {
    "a trigger does not call a sleeping thread out": (
        "queue->look_wanted = queue->waiters > 0;\n\t\t/* It leaves", "/*"),
    "what found no room is forgotten": (
        "xp_candidate_carry(queue, fd, slot, XP_BIT(i), events);", ""),
    "what was enabled is not looked at": (
        "xp_candidate_asked(queue, fd, slot, filters);\n\t\treturn 0;", "return 0;"),
    "DISPATCH does not disable": (
        "slot->enabled &= XP_SET(~XP_BIT(filter));", ""),
    "a wake is never used up": (
        "atomic_exchange(&queue->wake_pending, 0)", "atomic_load(&queue->wake_pending)"),
    "DELETE does not reach the kernel": (
        "filters == slot->present)\n\t\treturn delete_all(queue, fd, slot);",
        "filters == slot->present)\n\t\treturn 0;"),
    "a periodic timer expires once": (
        "\ttimer_run(timers, timer_of(reg));\n\ttimers_tell(queue, timers);\n}\n\n"
        "static bool timer_supports", "}\n\nstatic bool timer_supports"),
    "a child keeps the parent's counts of signals": (
        "self->reported = xp_signal_delivered(number_of(reg));\n\trc = xp_signal_observe",
        "rc = xp_signal_observe"),
}
SECONDS = 40


def build(sources: Path, generated: Path, compiler: str, text: str, folder: Path) -> None:
    """The binding with this library inside, as a package in the folder."""
    (folder / "xpoll.c").write_text(text)
    package = folder / "xpoll"
    package.mkdir()
    for name in ("__init__.py", "selector.py"):
        (package / name).symlink_to(sources / "python" / "xpoll" / name)
    files = [folder / "xpoll.c", *sorted((sources / "python" / "src").glob("*.c"))]
    includes = [folder, generated, sysconfig.get_path("include")]
    subprocess.run([compiler, "-std=c11", "-pthread", "-shared", "-fPIC", "-w",
                    "-DPy_LIMITED_API=0x030b0000", *(f"-I{path}" for path in includes),
                    *files, "-o", package / "_xpoll.abi3.so"], check=True)


def play(folder: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    here = Path(__file__).parent
    return subprocess.run(
        [sys.executable, here / "run.py", "--seconds", str(seconds), "--seed", "0",
         "--first-failure"],
        env={**os.environ, "PYTHONPATH": f"{folder}:{here}"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def survives(name: str, text: str, arguments: list[str], seconds: float) -> bool:
    sources, generated, compiler = Path(arguments[0]), Path(arguments[1]), arguments[2]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        header = sources / "include" / "xpoll.h"
        (folder / "xpoll.h").symlink_to(header)
        build(sources, generated, compiler, text, folder)
        result = play(folder, seconds)
    print(f"{name}: {(result.stdout.splitlines() or ['no output'])[-1][:200]}", flush=True)
    return result.returncode == 0


def main() -> int:
    if "XPOLL_MODEL_SECONDS" not in os.environ:
        print("SKIP: takes a minute")
        return 77
    arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, Path(arguments[0]) / "scripts" / "amalgamate.py", folder],
                       check=True)
        text = (Path(folder) / "xpoll.c").read_text()
    failed = 0
    for name, (whole, broken) in MUTANTS.items():
        if text.count(whole) != 1:
            print(f"{name}: the text is there {text.count(whole)} times")
            failed += 1
        elif survives(name, text.replace(whole, broken), arguments, SECONDS):
            print(f"{name}: NOT NOTICED")
            failed += 1
    if not survives("nothing is broken", text, arguments, 1):
        failed += 1
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
