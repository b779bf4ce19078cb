#!/usr/bin/env python3
"""Would the tests notice a broken epoll drop-in?  Break a copy in one place and let them try.

  mutants.py check [--compiler NAME]                          can each mutant be made?
  mutants.py try [--build FOLDER] [--compiler NAME] [WORD...]

"check" compiles the broken file of each mutant.  "try" needs the tests and libraries in FOLDER
(build/release), and builds each program with the broken drop-in in it.  With words only those
mutants of whose names or tests one is a part.

The test "random" replays a recording of Linux's epoll(7) of STEPS steps (record.c).  Another test
is TOPIC:CASE, a case of the program epoll_TOPIC.  What comes out is a table: what is broken, and
the first line in which the test noticed.
"""
from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
STEPS = 20000
SECONDS = 120  # for a test that hangs, as some do that notice
PARTS = ("files.c", "perform.c", "recording.c")  # of random.c


class Mutant(NamedTuple):
    """A text that occurs once in a file of dropin/epoll, and what stands there instead."""

    file: str
    whole: str
    broken: str
    test: str
    backend: str = "poll"  # of the library


MUTANTS = {
    # Registrations.
    "an entry may be added twice": Mutant(
        "change.c", "if (entry->is_live && !is_stale(entry, status))\n", "if (0)\n", "random"),
    "an exclusive entry may be modified": Mutant(
        "change.c", "return entry->events & EPOLLEXCLUSIVE ? -EINVAL", "return 0 ? -EINVAL",
        "random"),
    "flags beside EPOLLEXCLUSIVE are not checked": Mutant(
        "change.c", "|| events & ~EP_EXCLUSIVE_OK)", ")", "random"),
    "a regular file may be added": Mutant(
        "change.c", "if (S_ISREG(status->st_mode) || S_ISDIR", "if (S_ISDIR",
        "call:arguments_are_checked_as_on_linux"),
    "EPOLLET is ignored": Mutant(
        "entry.c", "(events & EPOLLET ? XPOLL_CLEAR : 0)", "0", "random"),
    "EPOLLONESHOT acts on one direction": Mutant(
        "entry.c", "XPOLL_DISPATCH | XPOLL_WHOLE", "XPOLL_DISPATCH", "random"),
    "EPOLLRDHUP is not registered": Mutant(
        "entry.c", "(events & EPOLLRDHUP ? EP_POLLRDHUP : 0)", "0", "random"),
    "an entry without bits reports nothing": Mutant(
        "entry.c", "if (rc == 0 && needs_bare(entry, bits))", "if (0)",
        "random"),
    "a MOD is no new edge": Mutant(
        "entry.c", "if (rc == 0 && on)", "if (0 && on)", "random"),
    "a MOD does not add a direction": Mutant(
        "entry.c", "if (rc == 0 && fresh)", "if (0 && fresh)", "random"),
    "a MOD keeps the modes": Mutant(
        "entry.c", "modes_of(entry->events) == modes_of(event->events);", "true;", "random"),
    "a MOD keeps the data": Mutant(
        "entry.c", "\tentry->data = event->data.u64;\n", "",
        "call:mod_changes_directions_and_data"),
    "a DEL leaves the registrations": Mutant(
        "change.c", "\tep_unregister(set, fd, entry);\n\tep_entry_end(set, entry);\n\treturn 0;",
        "\tep_entry_end(set, entry);\n\treturn 0;", "random"),
    # Events.
    "bits that were not requested are reported": Mutant(
        "ready.c", "\tevents &= entry->events | EPOLLERR | EPOLLHUP;\n", "", "random"),
    "an error is reported on request only": Mutant(
        "ready.c", "events &= entry->events | EPOLLERR | EPOLLHUP;",
        "events &= entry->events | EPOLLHUP;", "random"),
    "an edge reports its own direction only": Mutant(
        "ready.c", "entry->events & (EPOLLET | EPOLLONESHOT) && wanted & (wanted - 1);", "false;",
        "random"),
    "a record that is no event is not enabled again": Mutant(
        "ready.c",
        "\tif (!events) {\n\t\tep_enable_again(set, record->fd, entry, record->events);\n",
        "\tif (!events) {\n", "descriptor:an_inner_set_without_an_event_ends_no_wait", "epoll"),
    "there is room for one event": Mutant(
        "wait.c", "int cap = maxevents;", "int cap = 1;", "random"),
    "a held record is returned beside that of the queue": Mutant(
        "wait.c", "if (records[i].fd == deferred_fd)", "if (0)", "random"),
    "a record without room is lost": Mutant(
        "wait.c", "\t\t\tep_defer_record(set, &records[i]);", "\t\t\t;", "random"),
    # Sets in sets, and what poll(2) finds.
    "an inner set always has an event": Mutant(
        "ready.c", "bool ready = inner && ep_is_ready(inner);",
        "bool ready = inner && (ep_is_ready(inner) || 1);",
        "descriptor:an_inner_set_without_an_event_ends_no_wait", "epoll"),
    "a record that was taken is not held": Mutant(
        "ready.c", "\tset->deferred = *record;\n\tatomic_store(&set->has_deferred, true);\n", "",
        "random"),
    "a held record is not looked at again": Mutant(
        "ready.c", "record.events = poll_now(record.fd, entry, record.events);",
        "(void)poll_now(record.fd, entry, record.events);", "random"),
    "a one-shot whose held condition is over stays silent": Mutant(
        "ready.c", "if (entry->events & EPOLLONESHOT)", "if (0)",
        "descriptor:a_one_shot_that_only_poll_has_found_stays_armed"),
    "a MOD leaves the held record": Mutant(
        "entry.c", "\tdrop_deferred(set, entry);\n\tentry->events = event->events;",
        "\tentry->events = event->events;",
        "descriptor:a_one_shot_that_poll_has_found_is_reported_once_after_a_change"),
    "a ring of sets is not found": Mutant(
        "nest.c", "inner == forbidden ? -ELOOP : ", "", "nest:rings_of_sets_are_refused"),
    "the sets above are not counted": Mutant(
        "nest.c", "below + above > EP_LEVELS_MOST", "below >= EP_LEVELS_MOST",
        "nest:chains_have_five_levels"),
    "a notifier is not silenced": Mutant(
        "notifier.c", "(void)!recv(notifier->fds[0], &byte, 1, MSG_DONTWAIT);", ";",
        "descriptor:a_set_without_an_event_is_silent"),
    "a notifier does not ring": Mutant(
        "notifier.c", "(void)!send(notifier->fds[1], &byte, 1, MSG_DONTWAIT);", "(void)byte;",
        "descriptor:a_set_is_selected"),
    # Descriptors.
    "a close leaves the entries": Mutant(
        "table.c", "\t\tforget_entries(fd);\n", "", "random"),
    "a duplicate is not recorded": Mutant(
        "table.c", "\t\t(void)record_fd(object, duplicate);", "\t\t;", "random"),
    "a set that is polled keeps its first descriptor": Mutant(
        "set.c", "\trc = ep_replace_fds(&set->object, fd);\n\tset->is_pollable = rc == 0;",
        "\tset->is_pollable = true;\n\trc = 0;", "descriptor:a_set_is_selected"),
    # eventfd, timerfd, signalfd.
    "an eventfd counts the writes": Mutant(
        "counter.c", "sum += value;\n\treturn", "sum++;\n\treturn", "random"),
    "a semaphore is taken at once": Mutant(
        "counter.c", "(void)send_message(counter, value - 1);", ";",
        "eventfd:a_semaphore_is_taken_one_by_one"),
    "a counter overflows": Mutant(
        "counter.c", "fits = value <= COUNTER_MOST - sum;", "fits = true;",
        "eventfd:limits_are_those_of_linux"),
    "a timer that was read stays readable": Mutant(
        "timer.c", "timer->is_expired = false;\n\t\tep_pipe_drain(&timer->pipe);",
        "timer->is_expired = false;", "random"),
    "a timer does not count what it has missed": Mutant(
        "timer.c", "\ttimer->ticks += (uint64_t)missed;\n", "",
        "timerfd:an_interval_counts_until_it_is_read"),
    "a timer without an interval expires again": Mutant(
        "timer.c", "\tif (timer->interval_ns == 0)\n\t\ttimer->due_ns = 0;\n", "", "random"),
    "a signal makes no descriptor readable": Mutant(
        "signals.c", "\t\tif (sigismember(&one->mask, info->si_signo) == 1)\n\t\t\tep_pipe_notify",
        "\t\tif (0)\n\t\t\tep_pipe_notify", "signalfd:a_set_reports_each_signal"),
    "the highest signal is read first": Mutant(
        "signals.c", "info.si_signo < (*found)->info.si_signo",
        "info.si_signo > (*found)->info.si_signo", "signalfd:the_lowest_number_is_read_first"),
}


class Workshop:
    """Where mutants are made: the drop-in is compiled once, and for each mutant one file again."""

    def __init__(self, build: Path, compiler: str, scratch: Path) -> None:
        self.build, self.compiler, self.scratch = build, compiler, scratch
        dropin = ROOT / "dropin"
        self.options = ["-std=gnu11", "-O1", "-w", "-fexceptions", "-D_GNU_SOURCE", "-DXPOLL_API=",
                        *(f"-I{path}" for path in (
                            dropin / "epoll", dropin / "epoll" / "include", dropin, ROOT / "src",
                            ROOT / "include", ROOT / "tests" / "lib", HERE))]
        self.sources = [*sorted((dropin / "epoll").glob("*.c")),
                        *sorted((dropin / "common").glob("*.c"))]

    def compile(self, source: Path, target: Path, *options: str) -> Path:
        subprocess.run([self.compiler, *self.options, *options, "-c", source, "-o", target],
                       check=True)
        return target

    def objects(self) -> dict[Path, Path]:
        """The objects of the drop-in and of the tests, by their sources."""
        topics = {mutant.test.partition(":")[0] for mutant in MUTANTS.values()}
        tests = {HERE / name for topic in topics for name in parts_of(topic)}
        sources = [*self.sources, *sorted(tests)]
        with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            made = pool.map(
                lambda item: self.compile(item[1], self.scratch / f"{item[0]}.o"),
                enumerate(sources))
            return dict(zip(sources, made))

    def check(self, mutant: Mutant) -> bool:
        """Can the mutant be made, and compiled?"""
        whole = (ROOT / "dropin" / "epoll" / mutant.file).read_text()
        if whole.count(mutant.whole) != 1:
            return False
        broken = self.scratch / f"{abs(hash(mutant))}-{mutant.file}"
        broken.write_text(whole.replace(mutant.whole, mutant.broken))
        result = subprocess.run([self.compiler, *self.options, "-fsyntax-only", broken],
                                check=False)
        return result.returncode == 0

    def program(self, mutant: Mutant | None, test: str, objects: dict[Path, Path],
                folder: Path) -> Path:
        """The test's program, with the broken drop-in in it."""
        topic = test.partition(":")[0]
        files = {source: objects[source] for source in
                 [*self.sources, *(HERE / name for name in parts_of(topic))]}
        if mutant:
            source = ROOT / "dropin" / "epoll" / mutant.file
            broken = folder / mutant.file
            broken.write_text(source.read_text().replace(mutant.whole, mutant.broken))
            files[source] = self.compile(broken, folder / "broken.o")
        library = self.build / "lib"
        subprocess.run(
            [self.compiler, "-rdynamic", "-pthread", *files.values(), library / "libxt.a",
             f"-L{library}", "-lxpoll", f"-Wl,-rpath,{library}", "-ldl",
             "-o", folder / "program"], check=True)
        return folder / "program"

    def record(self) -> Path:
        """A recording of Linux's epoll(7)."""
        path = self.scratch / "recording"
        subprocess.run(
            [self.build / "tests" / "bin" / "epoll_record", "--seed", "1"], check=True,
            env={**os.environ, "XPOLL_EPOLL_RECORD": str(path), "XPOLL_EPOLL_STEPS": str(STEPS)},
            stdout=subprocess.DEVNULL)
        return path

    def noticed(self, program: Path, test: str, backend: str, recording: Path) -> str:
        """What the test says about the program; nothing if it passes."""
        case = "repeated" if test == "random" else test.partition(":")[2]
        try:
            result = subprocess.run(
                [program, case], check=False, timeout=SECONDS, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={
                    **os.environ, "XPOLL_BACKEND": backend,
                    "XPOLL_EPOLL_REPLAY": str(recording)})
        except subprocess.TimeoutExpired:
            return "it hangs"
        found = re.search(r"\.c:\d+: (.*)", result.stdout)
        if result.returncode == 0:
            return ""
        return found.group(1) if found else f"it ends with {result.returncode}"


def parts_of(topic: str) -> list[str]:
    return [f"{topic}.c", *(PARTS if topic == "random" else [])]


def check(compiler: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="xpoll-mutants.") as scratch:
        workshop = Workshop(ROOT, compiler, Path(scratch))
        with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            good = dict(zip(MUTANTS, pool.map(workshop.check, MUTANTS.values())))
    for name in (name for name, made in good.items() if not made):
        print(f"{name}: the text is not there once, or what stands there cannot be compiled")
    print(f"{len(MUTANTS)} mutants")
    return all(good.values())


def attempt(build: Path, compiler: str, words: list[str]) -> bool:
    chosen = {name: mutant for name, mutant in MUTANTS.items()
              if not words or any(word in name or word in mutant.test for word in words)}
    with tempfile.TemporaryDirectory(prefix="xpoll-mutants.") as scratch:
        workshop = Workshop(build, compiler, Path(scratch))
        objects, recording = workshop.objects(), workshop.record()

        def row(mutant: Mutant | None, test: str, backend: str) -> str:
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                program = workshop.program(mutant, test, objects, Path(folder))
                return workshop.noticed(program, test, backend, recording)

        said = [row(None, *where) for where in sorted(
            {(mutant.test, mutant.backend) for mutant in chosen.values()})]
        good = not any(said)
        if not good:
            print("nothing is broken, but:", *filter(None, said))
        with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            for name, words_said in zip(chosen, pool.map(
                    lambda mutant: row(mutant, mutant.test, mutant.backend), chosen.values())):
                print(f"| {name} | {chosen[name].test} | {words_said or 'NOT NOTICED'} |",
                      flush=True)
                good = good and bool(words_said)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("check", "try"))
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_intermixed_args()
    good = check(options.compiler)
    if options.verb == "try" and good:
        good = attempt(options.build.resolve(), options.compiler, options.words)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
