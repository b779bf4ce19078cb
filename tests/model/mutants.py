#!/usr/bin/env python3
"""Would the tests notice?  Break a copy of the library in one place and let them try.

  mutants.py check                                  can each mutant be made?
  mutants.py try [--build FOLDER] [--compiler NAME] [--core next] [WORD...]

"try" needs the library built in FOLDER (build/release) and the Python of build/venv.

The model plays with each, and one test of the others runs: both have to notice; but some
mutants are too rare for so few rounds of the model, or nothing that it does reaches them.
With words only those mutants of whose names or tests one is a part.  What comes out is a
table: what is broken, the test that noticed, and the round of the model that did, of ROUNDS,
with what it said.

Tests of contract and source run with a library that is broken.  Those of unit and fault are
linked with the file that is broken in the place of the library's, and need no Python.

With --core next the mutants are those of mutants_next.py; FOLDER is then one that was built
with -D XPOLL_CORE=next.
"""
from __future__ import annotations

import argparse
import functools
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import mutants_next

ROOT = Path(__file__).resolve().parents[2]


class Mutant(NamedTuple):
    """A text that occurs once, and what stands there instead."""

    whole: str
    broken: str
    says: str  # The model, so that no other failure is taken for this one; "": nothing.
    test: str  # SUITE.PROGRAM:TEST, which has to fail; without TEST any of the program's.


EXPLORER = "unit.explore"
MUTANTS = {
    "a trigger does not call a sleeping thread out": Mutant(
        "queue->recheck_wanted = queue->threads.waiters > 0;\n\t\t/* It leaves", "/*",
        "sleeps on",
        "contract.concurrent:trigger_wakes_the_waiter"),
    "what found no room is forgotten": Mutant(
        "xp_candidate_defer(queue, fd, slot, XP_BIT(i), events);", "", "nothing came|never came",
        "contract.fairness:hazard_06_user_file_and_pipe_share_one_slot"),
    "what was enabled is not looked at": Mutant(
        "xp_recheck_enabled(queue, fd, slot, filter);\n\treturn true;", "return true;",
        "nothing came|sleeps on",
        "contract.disable:add_disabled_readable_never_fires_until_enabled"),
    "DISPATCH does not disable": Mutant(
        "slot->enabled &= XP_SET(~XP_BIT(filter));\n"
        "\t/* A failure means that the file is gone, and the slot with it. */\n"
        "\t(void)xp_interest_silenced(queue, fd, slot, XP_BIT(filter));", "",
        "is disabled|is not <",
        "contract.once:dispatch_unread_data_reports_once_until_enabled"),
    "a wake is never used up": Mutant(
        "atomic_fetch_and(&queue->wake.state, ~(unsigned)XP_WAKE_PENDING)",
        "atomic_load(&queue->wake.state)",
        "[01] wakes, pending", "contract.wake:wake_before_the_wait_ends_it_once"),
    "DELETE does not reach the kernel": Mutant(
        "*rc = xp_entry_end(queue, fd, slot);", "*rc = 0;", "was deleted",
        "contract.delete:delete_ready_one_is_not_delivered"),
    "a periodic timer expires once": Mutant(
        "\ttimer_run_on(timers, timer_of(reg));\n\ttimers_update_due(queue, timers);\n"
        "\treturn 0;\n}\n\nstatic bool timer_supports",
        "\treturn 0;\n}\n\nstatic bool timer_supports",
        "(nothing came|is silent).* -7 ",
        "source.timer:periodic_counts_every_period_and_does_not_drift"),
    "a child keeps the parent's counts of signals": Mutant(
        "self->known = self->reported = xp_signal_delivered(number_of(reg));\n\tself->fd",
        "self->fd", "came . times.*-6 ",
        "source.signal_fork:child_reinit_observes_its_own"),
    "a handler that has not begun is forgotten": Mutant(
        "self->ahead && xp_pending_is_gone()", "self->ahead", "",
        "fault.signal:handler_of_another_thread_that_has_not_begun_counts_nothing"),
    "a signal behind a handled one is not looked for": Mutant(
        "self->ahead = pending || self->known > delivered;", "", "",
        "fault.signal:signal_sent_before_the_handler_of_another_one_begins_is_counted"),
    "marks are not kept": Mutant(
        "unread >= xp_lowat_get(queue, fd, XP_READ)", "unread >= 0", "has no reason|at most",
        "source.lowat:mark_of_a_pipe_is_kept"),
    "room is not looked at again": Mutant(
        "slot->lowat.unmet |= XP_BIT(XP_WRITE);", "return;", "",
        "source.lowat_room:room_of_a_pipe_is_reported_from_the_mark_on"),
    "growth of a file is not reported": Mutant(
        "\treg->report |= notes;\n\tif (lost)",
        "\treg->report |= notes & ~(uint32_t)XPOLL_NOTE_EXTEND;\n\tif (lost)",
        "",
        "source.vnode:write_that_extends_is_write_and_extend"),
    "a process ends with 0": Mutant(
        "event->data = proc->status;", "event->data = 0;", "ended with",
        "source.proc:exit_of_a_child_gives_its_wait_status"),
    "an operation has done nothing": Mutant(
        "event->data = aio_registration(reg)->job.result;", "event->data = 0;", "AIO.* is not ",
        "source.aio:read_gives_what_the_file_has"),
    "what xpoll_revents hands out by edge is called to nobody": Mutant(
        "queue->recheck_wanted |= queue->threads.waiters > 0;\n\t\treturn hand_out",
        ";\n\t\treturn hand_out", "",
        EXPLORER),
    "the child of a sleeper's handler goes on as its parent": Mutant(
        "(void)xp_child_forget_threads(queue);", "", "",
        "fault.fork:hazard_16_child_of_a_sleepers_handler_waits_for_nobody_inside"),
    "reports of a set that was renewed count for the new one": Mutant(
        "if (wait->set != xp_set_number(queue))\n\t\treturn;", "", "",
        "fault.epoll:dead_entry_reported_to_many_sleepers_renews_the_set_once"),
    # What several threads and the kernel do between a report and its delivery.
    "what was harvested before a change is handed out": Mutant(
        "} else if (xp_slot_is_outdated(queue, slot, wait) && !is_of_last_change(fired, slot)) {",
        "} else if (0) {", "", EXPLORER),
    "an outdated report at the deadline ends a wait": Mutant(
        "\t\twait->exhausted = false;\n\t\txp_candidate_outdated(queue, fd, slot,",
        "\t\txp_candidate_outdated(queue, fd, slot,", "", EXPLORER),
    "an outdated report is forgotten": Mutant(
        "\t\txp_candidate_outdated(queue, fd, slot, reported_of(slot, events));\n\t\txp_news_",
        "\t\txp_news_", "", EXPLORER),
    "a level that was handed out by edge is forgotten": Mutant(
        "if (slot->mode == XP_MODE_EDGE && !(slot->modes.clear & filter))", "if (0)", "", EXPLORER),
    "a descriptor is reported twice in a wait": Mutant(
        "if (slot->delivered.epoch == wait->wait_epoch) {\n\t\tdeliver_more",
        "if (0) {\n\t\tdeliver_more", "", EXPLORER),
    "candidates are not looked at": Mutant(
        "rc = xp_sys_poll_now(chunk->fds, (size_t)chunk->len);", "rc = 0;", "", EXPLORER),
    # What few programs do, which no other test did.
    "a delivered candidate is not compared with its file": Mutant(
        "return xp_interest_publish(queue, fd, slot, slot->enabled) == 0;\n}", "return true;\n}",
        "", "contract.reuse:hazard_01_delivered_one_whose_number_is_reused_is_silent"),
    "an entry that the kernel has kept is an error": Mutant(
        "if (XP_UNLIKELY(rc == -EEXIST))\n"
        "\t\trc = queue->ops->change(queue->backend, fd, watch, token);\n\treturn rc;",
        "return rc;", "", "contract.reuse:hazard_01_add_of_a_file_that_is_back_at_its_number"),
    "a cancelled thread takes its events with it": Mutant(
        "\t\txp_candidates_all(queue);\n", "", "",
        "contract.cancel:hazard_20_event_of_a_cancelled_wait_is_not_lost"),
    "a file that was delivered stays the first": Mutant(
        "\tunpollable_place(queue, file,\n"
        "\t                 events ? &queue->unpollable.awake : &queue->unpollable.asleep);",
        "\tif (!events)\n\t\tunpollable_place(queue, file, &queue->unpollable.asleep);", "",
        "contract.files:files_take_turns"),
    "a repeated report of a level by edges is not checked": Mutant(
        "xp_candidate_outdated(queue, fd, slot, filters & ~xp_slot_by_edge(slot));", "", "",
        "fault.harvest:level_that_a_call_reports_again_by_an_edge_is_delivered_by_the_next"),
    "XPOLL_WHOLE acts on one direction": Mutant(
        "if (slot->modes.whole && (slot->modes.oneshot | slot->modes.dispatch) & bit)", "if (0)",
        "", "contract.pwait:whole_dispatch_disables_all_directions"),
    "a record of the caller's array leaves its modes to xpoll_revents": Mutant(
        "slot->delivered.filters = XP_SET(filters);\n"
        "\txp_poll_handed(queue, fd, slot, filters, events);",
        "slot->delivered.filters = XP_SET(filters);", "",
        "contract.pwait:modes_act_before_the_call_returns"),
    "a second report of a wait does not add to the record of the first": Mutant(
        "\twait->ready[i].events |= (int)bits;\n", "", "",
        "contract.pwait:both_directions_come_with_one_record"),
    # The rows of the state machine of a slot.
    "an edge's entry is changed for another filter": Mutant(
        "if (slot->modes.clear && wanted & xp_slot_by_edge(slot) && !view->exact &&", "if (0 &&",
        "", EXPLORER),
    "what is enabled with nobody asleep is not looked at": Mutant(
        "if (!view->sleeping && (covered || silent || holds_edges))\n"
        "\t\treturn step(XP_DO_RECHECK, filters);",
        "if (!view->sleeping && (covered || silent || holds_edges))\n\t\treturn nothing();",
        "", EXPLORER),
    "nor beside edges and a sleeper": Mutant(
        "if (holds_edges && view->sleeping && view->can_probe)", "if (0)", "", EXPLORER),
    "level mode goes on though nobody wants it": Mutant(
        "level_ends(slot, 1);\n\t\treturn push_edges(slot, view);", "return nothing();",
        "", EXPLORER),
    "edges that nobody wants stay armed": Mutant(
        "if (++slot->history.fruitless < FRUITLESS_MOST)", "if (1)", "", EXPLORER),
    "what fired in vain is not armed again": Mutant(
        "if (wanted)\n\t\t\treturn push(XP_MODE_EDGE,",
        "if (0)\n\t\t\treturn push(XP_MODE_EDGE,", "", EXPLORER),
    "what is published is left as it is": Mutant(
        "\treturn push(XP_MODE_LEVEL, wanted);", "\treturn nothing();", "", EXPLORER),
    "what a look has found unready is nobody's": Mutant(
        "return slot->modes.clear ? step(XP_DO_SOLO, filters) : push_edges(slot, view);",
        "return nothing();", "", EXPLORER),
}
ROUNDS = 40  # A few do for most of them, and on each machine the same.
SECONDS = 120  # for a test that hangs, as some do that notice


def mutants_of(core: str) -> dict[str, Mutant]:
    if core != "next":
        return MUTANTS
    return {name: Mutant(whole, broken, "", test)
            for name, (whole, broken, test) in mutants_next.MUTANTS.items()}


def amalgamation(sources: Path, core: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, sources / "scripts" / "amalgamate.py", folder,
                        *([core] if core else [])],
                       check=True, stdout=subprocess.DEVNULL)
        return (Path(folder) / "xpoll.c").read_text()


class Workshop:
    """Where mutants are made: the tests are those of the build, and used as they are."""

    def __init__(self, sources: Path, build: Path, compiler: str, core: str,
                 scratch: Path) -> None:
        self.sources, self.build, self.compiler = sources, build, compiler
        self.scratch = scratch
        # A file of another core goes before one of that name.
        self.roots = [sources / "src" / folder for folder in ([core] if core else []) + [""]]
        self.options = [f"-I{path}" for path in (
            sources / "include", build / "python", sysconfig.get_path("include"))]

    @functools.cached_property
    def binding(self) -> list[Path]:
        return [self.compile(path, self.scratch / f"{path.stem}.o")
                for path in sorted((self.sources / "python" / "src").glob("*.c"))]

    def compile(self, source: Path, target: Path) -> Path:
        subprocess.run([self.compiler, "-std=c11", "-fPIC", "-w", "-c",
                        "-DPy_LIMITED_API=0x030b0000", *self.options, source, "-o", target],
                       check=True)
        return target

    def link(self, files: list[Path], target: Path, *options: str) -> None:
        subprocess.run([self.compiler, "-shared", "-pthread", *options, *files, "-o", target],
                       check=True)

    def make(self, text: str, folder: Path) -> None:
        """The binding with this library inside, as a package, and the library itself."""
        source = folder / "xpoll.c"
        source.write_text(text)
        library = self.compile(source, folder / "xpoll.o")
        self.link([library], folder / "libxpoll.so.1", "-Wl,-soname,libxpoll.so.1")
        package = folder / "xpoll"
        package.mkdir()
        for name in ("__init__.py", "selector.py"):
            (package / name).symlink_to(self.sources / "python" / "xpoll" / name)
        self.link([library, *self.binding], package / "_xpoll.abi3.so")

    def play(self, folder: Path, rounds: int) -> tuple[str, int]:
        """What the model says, nothing if it has noticed nothing; the round."""
        here = Path(__file__).resolve().parent
        result = subprocess.run(
            [sys.executable, here / "run.py", "--seconds", "3600", "--rounds", str(rounds),
             "--seed", "0", "--first-failure"],
            env={**os.environ, "PYTHONPATH": f"{folder}:{here}"}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        lines = [line for line in result.stdout.splitlines()
                 if re.match(r"\w*(Wrong|Error)\b|.*Wrong: ", line)]
        said = " ".join(lines) or result.stdout[-200:] if result.returncode else ""
        return said, result.stdout.count("seed ")

    def program(self, test: str) -> Path:
        return self.build / "tests" / "bin" / test.partition(":")[0].replace(".", "_")

    def relink(self, mutant: Mutant, folder: Path) -> Path:
        """The test's program, with the broken file in front of the library's archive."""
        suite, _, name = mutant.test.partition(":")[0].partition(".")
        broken = folder / "broken.c"
        broken.write_text(next(
            text.replace(mutant.whole, mutant.broken)
            for root in self.roots
            for text in map(Path.read_text, sorted(root.rglob("*.c"))) if mutant.whole in text))
        tests = sorted((self.sources / "tests" / suite).glob(f"{name}*.c"))
        if len(self.roots) > 1 and mutant.test.startswith(EXPLORER):
            tests[tests.index(tests[0].with_name("explore_core.c"))] = tests[0].with_name(
                "next_explore.c")
        wraps = sorted(set(re.findall(r"__wrap_(\w+)", tests[0].read_text())))
        subprocess.run(
            [self.compiler, "-O1", "-w", "-rdynamic", "-D_GNU_SOURCE", "-DXPOLL_SEAM",
             "-DXPOLL_RAWCALL_EXTERN", "-o", folder / "program",
             *(f"-I{path}" for path in (*self.roots, self.sources / "include",
                                        self.sources / "tests" / "lib")),
             *(f"-Wl,--wrap={wrap}" for wrap in wraps),
             broken, *tests, self.build / "lib" / "libxt.a", self.build / "lib" / "libxpoll_seam.a",
             "-lpthread", "-lrt"], check=True)
        return folder / "program"

    def passes(self, program: Path, folder: Path, test: str) -> bool:
        """Does this test, alone, pass with this library?"""
        name = test.partition(":")[2]
        command = [program, *(["--backend", "epoll", name] if name else [])]
        try:
            result = subprocess.run(
                command, env={**os.environ, "LD_LIBRARY_PATH": str(folder)}, check=False,
                timeout=SECONDS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return False
        return result.returncode == 0

    def row(self, name: str, mutant: Mutant, text: str) -> tuple[str, bool]:
        """Its line of the table; was it noticed by all that can?"""
        with tempfile.TemporaryDirectory(dir=self.scratch) as scratch:
            folder = Path(scratch)
            if inside(mutant):
                program = self.relink(mutant, folder)
            else:
                program = self.program(mutant.test)
                self.make(text.replace(mutant.whole, mutant.broken), folder)
            missed = self.passes(program, folder, mutant.test)
            said, played = self.play(folder, ROUNDS) if mutant.says else ("", 0)
        verdict = f"`{mutant.test}`" + (" NOT NOTICED" if missed else "")
        if not mutant.says:
            return f"| {name} | {verdict} | - |", not missed
        found = re.search(mutant.says, said)
        words = f"{played}: {found.group()[:20].strip()}" if found else f"NOT NOTICED {said[:200]}"
        return f"| {name} | {verdict} | {words} |", bool(found) and not missed

    def whole(self, text: str, mutants: list[Mutant]) -> bool:
        """Unbroken it is quiet, made and run in the same way; those inside run anyway."""
        said = ""
        with tempfile.TemporaryDirectory(dir=self.scratch) as scratch:
            folder = Path(scratch)
            if not all(map(inside, mutants)):
                self.make(text, folder)
            if any(mutant.says for mutant in mutants):
                said, _ = self.play(folder, 1)
            failed = [mutant.test for mutant in mutants if not inside(mutant) and
                      not self.passes(self.program(mutant.test), folder, mutant.test)]
        if failed or said:
            print(f"nothing is broken, but: {' '.join(failed)} {said[:200]}")
        return not failed and not said


def inside(mutant: Mutant) -> bool:
    return mutant.test.startswith(("unit.", "fault."))


def check(sources: Path, core: str) -> bool:
    text = amalgamation(sources, core)
    good = True
    for name, mutant in mutants_of(core).items():
        if text.count(mutant.whole) != 1:
            print(f"{name}: the text is there {text.count(mutant.whole)} times")
            good = False
    print(f"{len(mutants_of(core))} mutants")
    return good


def attempt(sources: Path, build: Path, compiler: str, core: str, words: list[str]) -> bool:
    text = amalgamation(sources, core)
    chosen = {name: mutant for name, mutant in mutants_of(core).items()
              if not words or any(word in name or word in mutant.test for word in words)}
    with tempfile.TemporaryDirectory(prefix="xpoll-mutants.") as scratch:
        workshop = Workshop(sources, build, compiler, core, Path(scratch))
        good = workshop.whole(text, list(chosen.values()))
        with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            for row, noticed in pool.map(
                    lambda item: workshop.row(*item, text), chosen.items()):
                print(row, flush=True)
                good = good and noticed
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("check", "try"))
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--core", choices=("", "next"), default="")
    parser.add_argument("--if-long", action="store_true",
                        help="be skipped where XPOLL_MODEL_SECONDS is not set")
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_intermixed_args()
    if options.verb == "try" and options.if_long and "XPOLL_MODEL_SECONDS" not in os.environ:
        print("SKIP: takes a minute")
        return 77
    good = check(ROOT, options.core)
    if options.verb == "try" and good:
        good = attempt(ROOT, options.build.resolve(), options.compiler, options.core,
                       options.words)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
