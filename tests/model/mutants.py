#!/usr/bin/env python3
"""Would the model notice?  Break a copy of the library in one place and let it play.

  mutants.py SOURCES BUILD/python COMPILER [WORD...]

With words only those of whose names one is a part.
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

# What is broken, by a text that occurs once and what stands there instead; and what the
# model has to say of it, so that no other failure is taken for this one.
MUTANTS = {
    "a trigger does not call a sleeping thread out": (
        "queue->look_wanted = queue->waiters > 0;\n\t\t/* It leaves", "/*", "sleeps on"),
    "what found no room is forgotten": (
        "xp_candidate_carry(queue, fd, slot, XP_BIT(i), events);", "", "nothing came|never came"),
    "what was enabled is not looked at": (
        "xp_candidate_asked(queue, fd, slot, filters);\n\t\treturn 0;", "return 0;",
        "nothing came|sleeps on"),
    "DISPATCH does not disable": (
        "slot->enabled &= XP_SET(~XP_BIT(filter));\n"
        "\t/* A failure means that the file is gone, and the slot with it. */\n"
        "\t(void)xp_interest_silenced(queue, fd, slot, XP_BIT(filter));", "",
        "is disabled|is not <"),
    "a wake is never used up": (
        "atomic_exchange(&queue->wake_pending, 0)", "atomic_load(&queue->wake_pending)",
        "[01] wakes, pending"),
    "DELETE does not reach the kernel": (
        "*rc = xp_interest_end(queue, fd, slot);", "*rc = 0;", "was deleted"),
    "a periodic timer expires once": (
        "\ttimer_run_on(timers, timer_of(reg));\n\ttimers_tell(queue, timers);\n}\n\n"
        "static bool timer_supports", "}\n\nstatic bool timer_supports",
        "(nothing came|is silent).* -7 "),
    "a child keeps the parent's counts of signals": (
        "self->reported = xp_signal_delivered(number_of(reg));\n\trc = xp_signal_observe",
        "rc = xp_signal_observe", "came . times.*-6 "),
    "marks are not kept": (
        "unread >= xp_mark_get(queue, fd, XP_READ)", "unread >= 0", "has no reason|at most"),
    "room is not looked at again": (
        "slot->unmet |= XP_BIT(XP_WRITE);", "return;", "never came|nothing came"),
    "growth of a file is not told": (
        "\treg->report |= notes;\n\tif (lost)",
        "\treg->report |= notes & ~(uint32_t)XPOLL_NOTE_EXTEND;\n\tif (lost)",
        "nothing came.* -4 |sleeps on"),
    "a process ends with 0": (
        "event->data = proc->status;", "event->data = 0;", "ended with"),
    "an operation has done nothing": (
        "event->data = aio_reg(reg)->job.result;", "event->data = 0;", "AIO.* is not "),
}
ROUNDS = 40  # A few do for most of them, and on each machine the same.


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


def play(folder: Path, rounds: int) -> subprocess.CompletedProcess[str]:
    here = Path(__file__).parent
    return subprocess.run(
        [sys.executable, here / "run.py", "--seconds", "3600", "--rounds", str(rounds),
         "--seed", "0", "--first-failure"],
        env={**os.environ, "PYTHONPATH": f"{folder}:{here}"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def verdict(name: str, text: str, arguments: list[str], rounds: int) -> str:
    """What the model says of it; nothing if it has noticed nothing."""
    sources, generated, compiler = Path(arguments[0]), Path(arguments[1]), arguments[2]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        header = sources / "include" / "xpoll.h"
        (folder / "xpoll.h").symlink_to(header)
        build(sources, generated, compiler, text, folder)
        result = play(folder, rounds)
    lines = [line for line in result.stdout.splitlines()
             if re.match(r"\w*(Wrong|Error)\b|.*Wrong: ", line)]
    said = " ".join(lines) if result.returncode else ""
    played = result.stdout.count("seed ")
    print(f"{name}: {said[:200] or 'nothing'} (round {played})", flush=True)
    return said


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
    chosen = {name: mutant for name, mutant in MUTANTS.items()
              if not arguments[3:] or any(word in name for word in arguments[3:])}
    for name, (whole, broken, expected) in chosen.items():
        if text.count(whole) != 1:
            print(f"{name}: the text is there {text.count(whole)} times")
            failed += 1
        elif not re.search(expected, verdict(name, text.replace(whole, broken), arguments,
                                             ROUNDS)):
            print(f"{name}: NOT NOTICED")
            failed += 1
    if verdict("nothing is broken", text, arguments, 1):
        failed += 1
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
