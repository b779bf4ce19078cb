"""What the drivers share: turns, their medians, a bar with the time left, files of results."""

import json
import os
import statistics
import sys
import time


def turns(names, rounds):
    """(round, name): each name once a round, in an order that rotates."""
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            yield number, name


def medians(samples):
    """Of each number that the samples, dictionaries, have."""
    return {key: statistics.median(sample[key] for sample in samples)
            for key, value in samples[0].items() if isinstance(value, (int, float))}


class Progress:
    """On a terminal a bar; else, if there are to be lines, one for each step."""

    def __init__(self, total, name=None):
        self.total, self.name, self.done, self.began = total, name, 0, time.monotonic()

    def show(self, doing, weight=0):
        """What is done now; weight: of the step before."""
        self.done += weight
        spent = time.monotonic() - self.began
        left = spent / self.done * (self.total - self.done) if self.done else self.total
        said = f"{100 * self.done / self.total:3.0f}%, {left // 60:.0f}:{left % 60:02.0f} left: "
        if sys.stderr.isatty():
            full = int(24 * self.done / self.total)
            end = "" if self.done < self.total else "\n"
            print(f"\r\033[K[{'#' * full}{'.' * (24 - full)}] {said}{doing}", end=end,
                  file=sys.stderr, flush=True)
        elif self.name:
            print(f"{self.name}: {said}{doing}", file=sys.stderr, flush=True)


def save(path, text):
    """A file that is whole or not there; text, or what becomes JSON."""
    if not isinstance(text, str):
        text = json.dumps(text, indent=1) + "\n"
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    part = f"{path}.{os.getpid()}.part"
    with open(part, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(part, path)
