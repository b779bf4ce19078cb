#!/usr/bin/env python3
"""Check the models of this folder with spin: docs/internals/testing.md.

  prove.py verify [RUN...]   exhaustively; without names all, and that each line is reached
  prove.py break [NAME...]   break copies of the models: spin has to notice each
  prove.py names             is each step some C function's, and do all these exist?
  prove.py show RUN|NAME     the steps to the error, if there is one

Needs spin and gcc; exits with 77 where they are missing.
"""
import concurrent.futures
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from broken import BROKEN, RUNS

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[2] / "src"
MEMORY_MB = 2000
DEPTH = 200000
SECONDS = 240  # a limit for machines that are slow, not a goal


class Failure(Exception):
    """What a person should read."""


def limit_memory():
    size = (MEMORY_MB + 500) << 20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


class Model:
    """One model with its parameters, in a folder of its own."""

    def __init__(self, folder, name, flags, progress):
        self.folder, self.name, self.progress = Path(folder), name, progress
        self.flags = [f"-D{flag}" for flag in flags.split()]
        self.flags += ["-DPROGRESS"] if progress else []
        self.texts = {path.name: path.read_text() for path in HERE.glob("*.pml")}
        self.places = [""]  # where the lines of the whole come from
        self.unreached = set()

    def edit(self, edits):
        for name, old, new in edits:
            count = self.texts[name].count(old)
            if count != 1:
                raise Failure(f"{name} has {count} of: {old}")
            self.texts[name] = self.texts[name].replace(old, new)

    def whole(self, name):
        """A file with what it includes; spin does not always say which file a line is of."""
        for number, line in enumerate(self.texts[name].splitlines(), 1):
            include = re.match(r'#include "(.*)"', line)
            if include:
                yield from self.whole(include.group(1))
            else:
                self.places.append(f"{name}:{number}")
                yield line

    def call(self, *command, **options):
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True,
                              timeout=SECONDS, check=False, **options)

    def build(self):
        text = "\n".join(self.whole(f"{self.name}.pml"))
        (self.folder / "model.pml").write_text(text + "\n")
        made = self.call("spin", "-a", *self.flags, "model.pml")
        if made.returncode == 0 and "rror" not in made.stdout:
            # Unoptimised: one function of many thousand lines, which runs for seconds.
            # A claim of progress is about what goes on for ever, not about where it ends.
            kind = "-DNOSTUTTER" if self.progress else "-DSAFETY"
            # States are not compressed either: that takes as long as all the rest.
            made = self.call("gcc", "-w", "-O0", kind, "-DNOFAIR", f"-DMEMLIM={MEMORY_MB}",
                             "-o", "pan", "pan.c")
        if made.returncode:
            raise Failure(f"{self.name} {' '.join(self.flags)}:\n{made.stdout}{made.stderr}")

    def verify(self):
        """The first error or None; the number of states; megabytes."""
        cycles = ["-a"] if self.progress else []
        text = self.call("./pan", *cycles, f"-m{DEPTH}", "-w22", preexec_fn=limit_memory).stdout
        states = re.search(r"(\d+) states, stored", text)
        memory = re.search(r"([\d.]+)\s+total actual memory", text)
        if not states or "Search not completed" in text and "errors: 0" in text \
                or "max search depth too small" in text:
            raise Failure(f"{self.name}: not exhaustive\n{text[-2000:]}")
        error = re.search(r"^pan:\d+: (.*) \(at depth", text, re.M)
        self.unreached = {(name, int(state)) for name, states_of in
                          re.findall(r"^unreached in \w+ ?(\w*)\n((?:\t.*\n)*)", text, re.M)
                          for state in re.findall(r"state (\d+),", states_of)}
        return error and error.group(1), int(states.group(1)), float(memory.group(1))

    def lines(self):
        """All lines with a statement, and those of them that were reached."""
        every, reached, process = set(), set(), ""
        for row in self.call("./pan", "-d").stdout.splitlines():
            head = re.match(r"(?:proctype|init|claim) ?(\w*)", row)
            state = re.match(r"\s+state\s+(\d+) .*\] [\w.]+:(\d+) =>", row)
            process = head.group(1) if head else process
            if state and not row.startswith("claim") and process != "never_0":
                place = self.places[int(state.group(2))]
                every.add(place)
                if (process, int(state.group(1))) not in self.unreached:
                    reached.add(place)
        return every, reached

    def steps(self):
        """The steps to the error, as spin prints them."""
        text = self.call("spin", "-t", "-p", *self.flags, "model.pml").stdout
        return re.sub(r"model\.pml:(\d+)", lambda match: self.places[int(match.group(1))], text)


def run_one(job):
    """Verify one run, or one that was broken."""
    name, model_name, flags, progress, edits, with_lines = job
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="xpoll-proof.") as folder:
        model = Model(folder, model_name, flags, progress)
        model.edit(edits)
        model.build()
        error, states, megabytes = model.verify()
        lines = model.lines() if with_lines else (set(), set())
    return name, error, states, megabytes, time.monotonic() - begin, lines


def run_all(jobs):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        yield from pool.map(run_one, jobs)


def verify(names):
    chosen = [run for run in RUNS if not names or run.name in names]
    jobs = [(run.name, run.model, run.flags, run.progress, [], not names) for run in chosen]
    every, reached, good = set(), set(), True
    print(f"{'run':24} {'states':>9} {'MB':>5} {'s':>5}")
    for name, error, states, megabytes, seconds, lines in run_all(jobs):
        print(f"{name:24} {states:9} {megabytes:5.0f} {seconds:5.1f}"
              f"{'  ERROR: ' + error if error else ''}", flush=True)
        every |= lines[0]
        reached |= lines[1]
        good = good and not error
    if good:
        for line in sorted(every - reached):
            print(f"{line} is not reached by any run")
    return good and every == reached


def break_all(names):
    runs = {run.name: run for run in RUNS}
    chosen = [broken for broken in BROKEN if not names or broken.name in names]
    jobs = [(broken.name, runs[broken.run].model, f"{runs[broken.run].flags} {broken.flags}",
             runs[broken.run].progress, broken.edits, False) for broken in chosen]
    good = True
    for broken, (name, error, *_) in zip(chosen, run_all(jobs)):
        noticed = error and broken.notices in error
        print(f"{'noticed' if noticed else 'MISSED '}  {name}: {error or 'no error'}", flush=True)
        good = good and bool(noticed)
    return good


def show(name):
    runs = {run.name: run for run in RUNS}
    broken = {broken.name: broken for broken in BROKEN}.get(name)
    run = runs[broken.run if broken else name]
    with tempfile.TemporaryDirectory(prefix="xpoll-proof.") as folder:
        model = Model(folder, run.model, f"{run.flags} {broken.flags if broken else ''}",
                      run.progress)
        model.edit(broken.edits if broken else [])
        model.build()
        print(model.verify()[0] or "no error")
        print(model.steps())
    return True


def names_exist():
    """Comments of the form "src/core/x.c: function, function"."""
    good, count = True, 0
    for path in sorted(HERE.glob("*.pml")):
        for comment in re.findall(r"/\*.*?\*/", path.read_text(), re.S):
            text = re.sub(r"\n \*|\s+", " ", comment)
            for source, functions in re.findall(r"src/(\S+?\.[ch]): +(\w+(?:, +\w+)*)", text):
                code = SOURCE / source
                code = code.read_text() if code.exists() else ""
                for function in re.split(r", +", functions):
                    count += 1
                    if not re.search(rf"^\w.*\b{function}\(", code, re.M):
                        print(f"{path.name}: there is no {function} in src/{source}")
                        good = False
    print(f"{count} functions named")
    return good and count > 0


# Whose an inline or a step is: a function's of the library, or what stands for others.
NAMED = re.compile(r"src/\S+?\.[ch]:\s+\w+|/\* The (?:program|kernel|claims)\b")
# Processes that are not the library's: the program, the kernel, the clock, the claims.
OUTSIDE = ("program", "world", "time", "claims", "watch")
NEAR = 6  # so many lines before a step may describe it


def block_end(text, at):
    """Behind the bracket that closes the one at this place."""
    depth = 0
    for at in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    raise Failure("a bracket is not closed")


def steps_of(text):
    """Each step of the library's processes: its line, itself, and what is around it."""
    for process in re.finditer(r"^(?:active )?proctype (\w+)\(.*?^\}", text, re.M | re.S):
        if process.group(1) in OUTSIDE:
            continue
        body = process.group()
        for found in re.finditer(r"atomic \{", body):
            end = block_end(body, found.end() - 1)
            rest = body[end:].partition("\n")[0]
            near = "\n".join(body[:found.start()].splitlines()[-NEAR:]) + body[found.start():end]
            line = text[:process.start() + found.start()].count("\n") + 1
            yield line, body[found.start():end], near + rest


def steps_named():
    """Does each inline say what it models, and each step, or an inline that it calls?"""
    texts = {path.name: path.read_text() for path in sorted(HERE.glob("*.pml"))}
    good, count, told = True, 0, set()
    for name, text in texts.items():
        for comment, inline in re.findall(r"(/\*(?:(?!\*/).)*\*/\n)?inline (\w+)\(", text, re.S):
            if NAMED.search(comment):
                told.add(inline)
            else:
                print(f"{name}: what does {inline} model?")
                good = False
    for name, text in texts.items():
        for line, step, around in steps_of(text):
            count += 1
            if not NAMED.search(around) and not told & set(re.findall(r"(\w+)\(", step)):
                print(f"{name}:{line}: of which function is this step?")
                good = False
    print(f"{count} steps and {len(told)} inlines say what they model")
    return good and count > 0


def main():
    verb, names = sys.argv[1] if len(sys.argv) > 1 else "", sys.argv[2:]
    if verb != "names":
        for tool in ("spin", "gcc"):
            if not shutil.which(tool):
                print(f"SKIP: {tool} is not installed")
                return 77
    verbs = {"verify": lambda: verify(names), "break": lambda: break_all(names),
             "names": lambda: names_exist() & steps_named(), "show": lambda: show(*names)}
    if verb not in verbs:
        print(__doc__)
        return 2
    try:
        return 0 if verbs[verb]() else 1
    except Failure as failure:
        print(failure)
        return 1


if __name__ == "__main__":
    sys.exit(main())
