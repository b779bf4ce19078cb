#!/usr/bin/env python3
"""Run the model for a while; a failure is made short and printed as a regression test.

  run.py [--seconds S] [--rounds N] [--seed N] [--first-failure] [--backend NAME]

With --backend that one plays alone; else all play side by side.
Without arguments one round is played, always the same; $XPOLL_MODEL_SECONDS gives the
seconds and lets the seeds begin anywhere; $XPOLL_MODEL_ROUNDS gives the rounds, from 0 on,
as far as the seconds allow: the same on each machine.  Each round has the next seed, which
is printed: a wait that hangs ends the program, and that round repeated will hang again.

Hypothesis chooses the steps; it is not asked to shrink them, since leaving out steps and
playing the rest again finds as short a sequence in seconds.
"""
from __future__ import annotations

import argparse
import faulthandler
import functools
import os
import signal
import sys
import time
import traceback
from typing import Any

import xpoll
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from machine import Machine

Steps = list[tuple[str, dict[str, Any]]]
ROUND = settings(max_examples=20, stateful_step_count=50, deadline=None, database=None,
                 phases=[Phase.generate], suppress_health_check=list(HealthCheck),
                 report_multiple_bugs=False, print_blob=False)
HANGS = 120  # Seconds, for a step: none waits as long, on any machine.
# Arguments that say less than these do.
PLAIN = {"asleep": False, "timeout": 0, "modes": 0, "switch": 0, "max_events": 64,
         "disabled": False, "pick": 0, "onto": 0, "count": 1, "size": 1, "then": ""}


def place(error: BaseException) -> tuple[type, int]:
    """Where it was raised: by that one failure is known from another."""
    return type(error), traceback.extract_tb(error.__traceback__)[-1].lineno or 0


def play(steps: Steps) -> BaseException | None:
    """Do these steps; what went wrong."""
    with Machine() as machine:
        try:
            for name, arguments in steps:
                getattr(machine, name)(**arguments)
        except Exception as error:
            return error
    return None


def fails_so(steps: Steps, failure: tuple[type, int]) -> bool:
    error = play(steps)
    return error is not None and place(error) == failure


def shorten(steps: Steps, failure: tuple[type, int]) -> Steps:
    size = len(steps)
    while size := size // 2:
        at = 0
        while at < len(steps):
            shorter = steps[:at] + steps[at + size:]
            if fails_so(shorter, failure):
                steps = shorter
            else:
                at += size
    for at, (name, arguments) in enumerate(steps):
        for argument in PLAIN.keys() & arguments.keys():
            plain = {**steps[at][1], argument: PLAIN[argument]}
            plainer = [*steps[:at], (name, plain), *steps[at + 1:]]
            if plain != steps[at][1] and fails_so(plainer, failure):
                steps = plainer
    return steps


def report(steps: Steps) -> None:
    error = play(steps)
    if error is None:
        print("It did not fail again.  The steps were:")
    else:
        steps = shorten(steps, place(error))
        print(play(steps))
    alone = f'"{Machine.alone}"' if Machine.alone else ""
    print(f"    with Machine({alone}) as model:")
    for name, arguments in steps:
        text = ", ".join(f"{argument}={value!r}" for argument, value in arguments.items())
        print(f"        model.{name}({text})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    seconds = os.environ.get("XPOLL_MODEL_SECONDS")
    parser.add_argument("--seconds", type=float, default=float(seconds or 0))
    rounds = int(os.environ.get("XPOLL_MODEL_ROUNDS", "0"))
    chance = seconds and not rounds
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9 if chance else 0)
    parser.add_argument("--rounds", type=int, default=rounds or 10**9)
    parser.add_argument("--first-failure", action="store_true", help="do not make it short")
    parser.add_argument("--backend", default="")
    arguments = parser.parse_args()
    if arguments.backend and arguments.backend not in xpoll.backends():
        print(f"SKIP: {arguments.backend} cannot be used here")
        return 77
    Machine.alone = arguments.backend
    # Not faulthandler's own timer: that is a thread, beside which the model would fork.
    faulthandler.register(signal.SIGALRM, chain=True)
    Machine.begin = staticmethod(functools.partial(signal.alarm, HANGS))
    end = time.monotonic() + arguments.seconds
    number = arguments.seed
    last = number + arguments.rounds
    while number == arguments.seed or (time.monotonic() < end and number < last):
        print(f"seed {number}", flush=True)
        try:
            run_state_machine_as_test(seed(number)(Machine), settings=ROUND)
        except Exception as error:
            error, steps = next(iter(Machine.failures), (error, []))
            print(f"{type(error).__name__}: {error}", flush=True)
            if not arguments.first_failure:
                report(steps)
            return 1
        number += 1
    signal.alarm(0)
    print(f"{number - arguments.seed} rounds of {ROUND.max_examples} sequences")
    return 0


if __name__ == "__main__":
    sys.exit(main())
