#!/usr/bin/env python3
"""Would the tests notice?  Break a copy of the library in one place and let them try.

  mutants.py check                                  can each mutant be made?
  mutants.py try [--build FOLDER] [--compiler NAME] [WORD...]

"try" needs the library built in FOLDER (build/release) and the Python of build/venv.

The model plays with each, and one test of the others runs: both have to notice; but some
mutants are too rare for so few rounds of the model, or nothing that it does reaches them.
With words only those mutants of whose names or tests one is a part.  What comes out is a
table: what is broken, the test that noticed, and the round of the model that did, of ROUNDS,
with what it said.

Tests of contract and source run with a library that is broken.  Those of unit and fault are
linked with the file that is broken in the place of the library's, and need no Python.
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

ROOT = Path(__file__).resolve().parents[2]


class Mutant(NamedTuple):
    """A text that occurs once, and what stands there instead."""

    whole: str
    broken: str
    says: str  # The model, so that no other failure is taken for this one; "": nothing.
    test: str  # SUITE.PROGRAM:TEST, which has to fail; without TEST any of the program's.


EXPLORER = "unit.explore:every_order_of_steps_keeps_the_contract"
MUTANTS = {
    "a periodic timer expires once": Mutant(
        "\tif (!(reg->flags & XPOLL_DISPATCH))\n"
        "\t\ttimer_enqueue(queue, heap_of(timers, reg->fflags), reg);\n\treturn 0;\n",
        "\t(void)timers;\n\treturn 0;\n",
        "(nothing came|is silent).* -7 ",
        "source.timer:periodic_counts_every_period_and_does_not_drift"),
    "a child keeps the parent's counts of signals": Mutant(
        "self->known = self->reported = xp_signal_delivered(signal_of(reg));\n\tself->fd",
        "self->fd", "came . times.*-6 ",
        "source.signal_fork:child_reinit_observes_its_own"),
    "a handler that has not begun is forgotten": Mutant(
        "self->pending_counted &&\n\t           xp_pending_others_asleep()",
        "self->pending_counted", "",
        "fault.signal:handler_of_another_thread_that_has_not_begun_counts_nothing"),
    "a signal behind a handled one is not looked for": Mutant(
        "self->pending_counted = pending || self->known > delivered;", "", "",
        "fault.signal:signal_sent_before_the_handler_of_another_one_begins_is_counted"),
    "marks are not kept": Mutant(
        "unread >= xp_lowat_get(queue, fd, XP_READ)", "unread >= 0", "has no reason|at most",
        "source.lowat:mark_of_a_pipe_is_kept"),
    "growth of a file is not reported": Mutant(
        "\treg->pending_fflags |= notes;\n\tif (lost)",
        "\treg->pending_fflags |= notes & ~(uint32_t)XPOLL_NOTE_EXTEND;\n\tif (lost)",
        "",
        "source.vnode:write_that_extends_is_write_and_extend"),
    "a process ends with 0": Mutant(
        "event->data = proc->status;", "event->data = 0;", "ended with",
        "source.proc:exit_of_a_child_gives_its_wait_status"),
    "an operation has done nothing": Mutant(
        "event->data = aio_registration(reg)->job.result;", "event->data = 0;", "AIO.* is not ",
        "source.aio:read_gives_what_the_file_has"),
    "candidates are not looked at": Mutant(
        "rc = xp_sys_poll_now(chunk->fds, (size_t)chunk->len);", "rc = 0;", "", EXPLORER),
    # What a thread has harvested, and what the program changes meanwhile.
    "a report older than the last mark is delivered": Mutant(
        "slot->has_cutoff &&\n"
        "\t\tqueue->last_cutoff - slot->cutoff < queue->last_cutoff - wait->cutoff_snapshot",
        "0", "",
        EXPLORER),
    "a report of an arming before the last one is delivered": Mutant(
        "report_check_superseded(wait, fd, slot, fired->token)) {",
        "0) {", "",
        EXPLORER),
    "an entry is changed for another filter whose edge may be delivered twice": Mutant(
        "} else if (awaited && !xp_change_repeats_edge(queue, slot, filters)) {",
        "} else if (awaited) {", "",
        EXPLORER),
    "a filter is reported twice in a call": Mutant(
        "if (is_delivered(wait, slot)) {\n\t\trecheck_delivered",
        "if (0) {\n\t\trecheck_delivered", "",
        "contract.fairness:all_ready_returns_what_only_the_kernel_knows_beside_what_is_at_hand"),
    "a repeated report of a level by edges is not checked": Mutant(
        "if (filters)\n\t\txp_candidate_add_delivered(queue, fd, slot, filters);\n}\n\n"
        "static XP_NOINLINE void deliver_e",
        ";\n}\n\nstatic XP_NOINLINE void deliver_e", "",
        "fault.harvest:level_that_a_call_reports_again_by_an_edge_is_delivered_by_the_next"),
    "a cancelled thread takes its events with it": Mutant(
        "\txp_candidates_add_edges(queue);\n\txp_set_unattached",
        "\txp_set_unattached", "",
        "contract.cancel:hazard_20_event_of_a_cancelled_wait_is_not_lost"),
    # Files that are closed, and numbers that are used again.
    "reports are never confirmed": Mutant(
        "XP_LIKELY(++slot->reports != 0) || queue->ops->caps",
        "XP_LIKELY(++slot->reports != 0) || 1 || queue->ops->caps", "",
        "contract.close:hazard_02_close_with_duplicate_is_dropped"),
    "the set is not renewed": Mutant(
        "\tslot->stale = 0;\n\twait->must_renew_set = true;",
        "\tslot->stale = 0;", "",
        "contract.close:hazard_02_dead_entry_and_reused_number_do_not_mix"),
    "a delivered candidate is not compared with its file": Mutant(
        "} else if (named || is_same_file(queue, found->fd, slot, checked)) {",
        "} else if (1) {", "",
        "contract.reuse:hazard_01_delivered_one_whose_number_is_reused_is_silent"),
    "an entry that the kernel has kept is an error": Mutant(
        "if (XP_UNLIKELY(rc == -EEXIST))",
        "if (0)", "",
        "contract.reuse:hazard_01_add_of_a_file_that_is_back_at_its_number"),
    "DELETE does not reach the kernel": Mutant(
        "\t\treturn xp_entry_end(queue, fd, slot, false);\n\tunsigned mine",
        "\t\treturn 0;\n\tunsigned mine", "was deleted",
        "contract.delete:delete_ready_one_is_not_delivered"),
    # What nobody wants.
    "a level that nobody wants goes on": Mutant(
        "(void)xp_entry_arm(queue, fd, slot, once ? XP_MODE_ONCE : XP_MODE_EDGE,",
        "if (once)\n\t\t\t(void)xp_entry_arm(queue, fd, slot, XP_MODE_ONCE,", "",
        "contract.disable:disable_tcp_reset_is_silent_and_sleeps"),
    "edges that nobody wants stay armed": Mutant(
        "slot->mode == XP_MODE_EDGE && ++slot->fruitless_reports >= XP_FRUITLESS_MOST",
        "0", "",
        "contract.disable:disable_of_a_socket_under_traffic_wakes_at_most_five_times"),
    "an entry without filters reports hang-ups for ever": Mutant(
        "(queue->lazy && !filters) ? XP_WATCH_ONESHOT",
        "0 ? XP_WATCH_ONESHOT", "",
        "contract.disable:disable_refused_datagrams_wake_a_bounded_number_of_times"),
    "DISPATCH does not disable": Mutant(
        "(void)disable_filters(queue, fd, slot, all);", ";", "is disabled|is not <",
        "contract.once:dispatch_unread_data_reports_once_until_enabled"),
    "XPOLL_WHOLE acts on one direction": Mutant(
        "slot->whole ? slot->present : bit;", "bit;", "",
        "contract.pwait:whole_dispatch_disables_all_directions"),
    # Edges.
    "edges share the entry of a level": Mutant(
        "\t\t\tsolo |= bit;",
        "\t\t\t;", "",
        "contract.edges:edge_is_not_repeated_by_changes_of_other_filters"),
    "an edge that was delivered does not count": Mutant(
        "slot->edge_delivered = 1;",
        "(void)slot;", "",
        "contract.edges:edge_is_not_repeated_by_changes_of_other_filters"),
    "bits of a file that must not be checked are lost": Mutant(
        "slot->deferred_for |= filters & XP_ALL_FILTERS;",
        ";", "",
        "contract.clear:clear_both_directions_of_a_device_with_room_for_one_come_once"),
    "every kind of file is checked by poll(2)": Mutant(
        "return xp_kind_can_probe(xp_slot_kind(fd, slot));",
        "return true;", "",
        "contract.close:enable_of_a_number_that_is_a_file_now_is_enoent_or_nothing"),
    # When the kernel is asked, and who is the first.
    "what was enabled is not checked": Mutant(
        "\tslot->check |= XP_SET(filters);\n\txp_candidate_append",
        "\txp_candidate_append", "nothing came|sleeps on",
        "contract.disable:add_disabled_readable_never_fires_until_enabled"),
    "what did not fit into one harvest is left": Mutant(
        "while (wait->more && !xp_wait_is_full(wait)",
        "while (0 && !xp_wait_is_full(wait)", "",
        "contract.room:one_call_delivers_all_that_is_ready"),
    "sources, candidates and files keep their order": Mutant(
        "switch ((wait->epoch + i) % 3) {",
        "switch (i) {", "nothing came|never came",
        "contract.fairness:hazard_06_user_file_and_pipe_share_one_slot"),
    "the filter that found no room is not the first": Mutant(
        "\t\t\tslot->resume_filter = filter & 3;",
        "\t\t\t;", "",
        "contract.files:file_both_directions_come_with_room_for_one"),
    "what was not fetched is forgotten": Mutant(
        "\t\t\txp_candidate_push(queue, fd, slot);\n"
        "\t\t\txp_defer_delivery(queue, fd, slot, slot->enabled, events);", "\t\t\t;", "",
        "contract.pollike:clear_not_handed_out_comes_again"),
    "a file that was delivered stays the first": Mutant(
        "file_move_to_list(file, *events ? &queue->files.awake : &queue->files.asleep);",
        "if (!*events)\n\t\tfile_move_to_list(file, &queue->files.asleep);", "",
        "contract.files:files_take_turns"),
    "who watches the queue by edges is not reported to again": Mutant(
        "if (XP_UNLIKELY(queue->outer.in_use) && rc > 0 && !wait->delivered_some)",
        "if (0)", "",
        "contract.attention:queue_fd_by_edges_is_told_of_what_an_add_enables"),
    # Who is woken.
    "a thread that leaves does not wake the next": Mutant(
        "if (xp_kick_take_request(queue) && must_wake_sleeper(queue)) {\n\t\txp_kick_one(queue);",
        "if (xp_kick_take_request(queue) && must_wake_sleeper(queue)) {", "sleeps on",
        "contract.concurrent:trigger_wakes_the_waiter"),
    "one that was called out does not wake the next": Mutant(
        "if (wait->must_kick && queue->kick.unreturned > 0)\n\t\txp_kick_one(queue);",
        ";", "",
        "contract.wake:wake_all_of_threads_that_return_at_once_is_few_writes"),
    "a thread goes to sleep while others are called out": Mutant(
        "if (XP_UNLIKELY(until_ns != XP_NOW && queue->kick.unreturned > 0)) {",
        "if (0) {", "",
        "contract.wake:wake_all_of_threads_that_return_at_once_is_few_writes"),
    "a wake is never used up": Mutant(
        "atomic_fetch_and(&queue->wake.state, ~(unsigned)XP_WAKE_PENDING) & XP_WAKE_PENDING",
        "1", "[01] wakes, pending",
        "contract.wake:wake_before_the_wait_ends_it_once"),
    "threads may wait for two formats": Mutant(
        "if (XP_UNLIKELY(xp_wait_excluded(queue, format)))\n\t\treturn -EBUSY;",
        ";", "",
        "contract.pollike:second_thread_in_wait_is_ebusy"),
    # What is stored.
    "hang-ups that the event level ignores are lost": Mutant(
        "xp_note_ignored_hangup(queue, slot);",
        ";", "",
        "contract.pollike:hang_up_that_the_event_level_does_not_tell_is_reported"),
    "an unconnected socket hangs up": Mutant(
        "? without_unconnected(queue, fd, slot, events) : events;",
        "? events : events;", "",
        "contract.listener:sockets_that_never_listened_are_silent"),
    "a mark is not kept": Mutant(
        "\t\tevents = xp_lowat_mask_events(queue, fd, slot, events);\n",
        "", "",
        "source.lowat:mark_of_a_pipe_is_kept"),
    "no entry is exclusive": Mutant(
        "return slot->exclusive && queue->lazy && mode",
        "return 0 && slot->exclusive && queue->lazy && mode", "",
        "fault.epoll:exclusive_entry_is_exclusive_while_all_of_it_is_enabled"),
    "no entry reports once for a pool": Mutant(
        "return queue->ops->change_unlocked && ending &&",
        "return 0 && queue->ops->change_unlocked && ending &&", "",
        "fault.pool:level_that_one_of_two_threads_has_is_made_silent_by_the_fourth_report"),
    "a silent entry stays silent beside a sleeper": Mutant(
        "queue->threads.sleepers <= (queue->threads.together > 0) &&",
        "queue->threads.sleepers == 0 &&", "",
        "fault.pool:silent_entry_of_two_threads_is_a_level_again_after_64_reports"),
    "a wait does not notice that other threads wait": Mutant(
        "expect_others(queue, &queue->threads.together);", "", "",
        "fault.pool:thread_beside_another_sleeps_again_without_a_mask"),
    "an exclusive entry does not report a half-close": Mutant(
        "events |= half_close_bit(queue, fd, slot, events);",
        ";", "",
        "contract.exclusive:exclusive_half_close_is_eof"),
    "a second report of a wait does not add to the record of the first": Mutant(
        "\t\tready->events |= (int)events;\n",
        "\t\t;\n", "",
        "contract.pwait:both_directions_come_with_one_record"),
    "a record of the caller's array leaves its modes to xpoll_revents": Mutant(
        "\txp_finish_delivery(queue, fd, slot, filters);\n\treturn bits;", "\treturn bits;", "",
        "contract.pwait:modes_act_before_the_call_returns"),
    "a renewal leaves threads asleep in the old set": Mutant(
        "\t}\n\txp_kick_all(queue);\n}", "\t}\n}", "",
        "contract.concurrent:hazard_02_adds_after_a_renewal_wake_both_waiters"),
    "the kernel is never asked beside candidates": Mutant(
        "++queue->ask.skipped >= XP_ASK_EVERY",
        "0", "",
        "contract.fairness:hazard_06_user_file_and_pipe_share_one_slot"),
    "the kernel is asked for no more than there is room for": Mutant(
        "return has_events && room < XP_ASK_REPORTS_LEAST ? XP_ASK_REPORTS_LEAST : room;",
        "(void)has_events;\n\treturn room;", "",
        "contract.fairness:hazard_06_states_that_last_leave_room_for_the_others"),
    "a stop ends a wait": Mutant(
        "rc == -EINTR ? xp_must_return_eintr(queue) : rc < 0",
        "rc < 0", "",
        "contract.interrupt:stop_without_a_handler_ends_no_wait"),
    "one check in vain makes an entry level-triggered": Mutant(
        "++slot->fruitless_checks < XP_FRUITLESS_MOST)",
        "1)", "",
        "contract.stats:stats_pauses_now_and_then_cost_little"),
}
ROUNDS = 40  # A few do for most of them, and on each machine the same.
SECONDS = 120  # for a test that hangs, as some do that notice


def amalgamation(sources: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, sources / "scripts" / "amalgamate.py", folder],
                       check=True, stdout=subprocess.DEVNULL)
        return (Path(folder) / "xpoll.c").read_text()


class Workshop:
    """Where mutants are made: the tests are those of the build, and used as they are."""

    def __init__(self, sources: Path, build: Path, compiler: str, scratch: Path) -> None:
        self.sources, self.build, self.compiler = sources, build, compiler
        self.scratch = scratch
        self.root = sources / "src"
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
            for text in map(Path.read_text, sorted(self.root.rglob("*.c")))
            if mutant.whole in text))
        tests = sorted((self.sources / "tests" / suite).glob(f"{name}*.c"))
        wraps = sorted(set(re.findall(r"__wrap_(\w+)", tests[0].read_text())))
        subprocess.run(
            [self.compiler, "-O1", "-w", "-rdynamic", "-D_GNU_SOURCE", "-DXPOLL_SEAM",
             "-DXPOLL_RAWCALL_EXTERN", "-o", folder / "program",
             *(f"-I{path}" for path in (self.root, self.sources / "include",
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


def check(sources: Path) -> bool:
    text = amalgamation(sources)
    good = True
    for name, mutant in MUTANTS.items():
        if text.count(mutant.whole) != 1:
            print(f"{name}: the text is there {text.count(mutant.whole)} times")
            good = False
    print(f"{len(MUTANTS)} mutants")
    return good


def attempt(sources: Path, build: Path, compiler: str, words: list[str]) -> bool:
    text = amalgamation(sources)
    chosen = {name: mutant for name, mutant in MUTANTS.items()
              if not words or any(word in name or word in mutant.test for word in words)}
    with tempfile.TemporaryDirectory(prefix="xpoll-mutants.") as scratch:
        workshop = Workshop(sources, build, compiler, Path(scratch))
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
    parser.add_argument("--if-long", action="store_true",
                        help="be skipped where XPOLL_MODEL_SECONDS is not set")
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_intermixed_args()
    if options.verb == "try" and options.if_long and "XPOLL_MODEL_SECONDS" not in os.environ:
        print("SKIP: takes a minute")
        return 77
    good = check(ROOT)
    if options.verb == "try" and good:
        good = attempt(ROOT, options.build.resolve(), options.compiler, options.words)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
