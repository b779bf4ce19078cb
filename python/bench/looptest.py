"""The loop test of xpoll bench, for selectors and event loops of Python.

  looptest.py [-n PAIRS] [-t SECONDS] [--rounds ROUNDS] [--json FILE]

n socket pairs in a ring, all registered for reading.  When one becomes readable it is
read and the next one's writer also waits for room; when there is room, it waits for
reading only again, and writes.  So each read costs a write, two waits and two changes.

"asyncio" is the same ring under an event loop: sock_recv and sock_sendall in n tasks, also on
uvloop, if it is installed.  "modify" is a change of interest alone, to both and back.  With the
folder of kqselect.so in $KQSELECT there is a KqueueSelector on Linux: over libxpoll-kqueue.
All variants run in turns in one process; each number is the median of the rounds.  It is
processor time, since nobody sleeps here: other programs disturb it least.
"""
import argparse
import importlib.util
import json
import os
import select
import statistics
import sys
import time
from collections.abc import Callable

sys.path.append(os.environ.get("KQSELECT", "."))
if importlib.util.find_spec("kqselect"):  # before the module selectors looks
    vars(select).update((name, value) for name, value in vars(
        importlib.import_module("kqselect")).items() if not name.startswith("_"))

import asyncio  # noqa: E402
import selectors  # noqa: E402
import socket  # noqa: E402

import xpoll  # noqa: E402

MakeSelector = Callable[[], selectors.BaseSelector]


def make_pairs(count: int) -> list[tuple[socket.socket, socket.socket]]:
    pairs = [socket.socketpair() for _ in range(count)]
    for pair in pairs:
        for end in pair:
            end.setblocking(False)
    return pairs


def selector_ring(make: MakeSelector, count: int, seconds: float) -> float:
    """Nanoseconds per read."""
    read, both = selectors.EVENT_READ, selectors.EVENT_READ | selectors.EVENT_WRITE
    pairs = make_pairs(count)
    reads = 0
    with make() as selector:
        for i, (reader, writer) in enumerate(pairs):
            selector.register(reader, read, pairs[(i + 1) % count][1])
            selector.register(writer, read, writer)
        selector.modify(pairs[0][1], both, pairs[0][1])
        start = time.process_time()
        end = start + seconds
        while (now := time.process_time()) < end:
            for _ in range(200):
                for key, events in selector.select():
                    if events & selectors.EVENT_WRITE:
                        selector.modify(key.fd, read, key.data)
                        key.data.send(b"x")
                    else:
                        key.fileobj.recv(1)  # type: ignore[union-attr]
                        reads += 1
                        selector.modify(key.data, both, key.data)
    for pair in pairs:
        for sock in pair:
            sock.close()
    return (now - start) / reads * 1e9


def modify(make: MakeSelector, count: int, seconds: float) -> float:
    """Nanoseconds per change."""
    read, both = selectors.EVENT_READ, selectors.EVENT_READ | selectors.EVENT_WRITE
    pairs = make_pairs(count)
    changes = 0
    with make() as selector:
        for reader, _ in pairs:
            selector.register(reader, read)
        start = time.process_time()
        while (now := time.process_time()) < start + seconds:
            for reader, _ in pairs:
                selector.modify(reader, both)
                selector.modify(reader, read)
            changes += 2 * count
    for pair in pairs:
        for sock in pair:
            sock.close()
    return (now - start) / changes * 1e9


def asyncio_ring(make: MakeSelector | None, count: int, seconds: float) -> float:
    """Nanoseconds per read; None: on uvloop."""
    pairs = make_pairs(count)

    async def station(index: int, counter: list[int], end: float) -> None:
        loop = asyncio.get_running_loop()
        reader, writer = pairs[index][0], pairs[(index + 1) % count][1]
        while await loop.sock_recv(reader, 1) == b"x":
            counter[0] += 1
            over = counter[0] % 64 == 0 and time.process_time() > end
            await loop.sock_sendall(writer, b"." if over else b"x")
            if over:
                return
        await loop.sock_sendall(writer, b".")

    async def main() -> float:
        counter = [0]
        start = time.process_time()
        stations = [station(i, counter, start + seconds) for i in range(count)]
        pairs[0][1].send(b"x")
        await asyncio.gather(*stations)
        return (time.process_time() - start) / counter[0] * 1e9

    def loop() -> asyncio.AbstractEventLoop:
        if make is not None:
            return asyncio.SelectorEventLoop(make())
        found: asyncio.AbstractEventLoop = importlib.import_module("uvloop").new_event_loop()
        return found

    with asyncio.Runner(loop_factory=loop) as runner:
        result = runner.run(main())
    for pair in pairs:
        for sock in pair:
            sock.close()
    return result


def variants() -> dict[str, MakeSelector]:
    found: dict[str, MakeSelector] = {
        f"xpoll-{name}": lambda name=name: xpoll.XpollSelector(name)  # type: ignore[misc]
        for name in xpoll.backends()}
    for name in ("EpollSelector", "KqueueSelector", "PollSelector", "SelectSelector"):
        if hasattr(selectors, name):
            found[name] = getattr(selectors, name)
    return found


def fits(name: str, count: int) -> bool:
    return name != "SelectSelector" or count <= 400


def measure(ring: str, options: argparse.Namespace) -> list[dict[str, str | float]]:
    """A row for each variant: nanoseconds, and how many times as fast as EpollSelector."""
    turns: dict[str, Callable[[], float]] = {}
    run = {"selector": selector_ring, "modify": modify, "asyncio": asyncio_ring}[ring]
    for name, make in variants().items():
        if fits(name, options.n):
            turns[name] = lambda make=make: run(make, options.n, options.t)  # type: ignore[misc]
    if ring == "asyncio" and importlib.util.find_spec("uvloop"):
        turns["uvloop"] = lambda: asyncio_ring(None, options.n, options.t)
    times: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(options.rounds):
        for name, turn in turns.items():
            times[name].append(turn())
    base = statistics.median(times.get("EpollSelector", times["PollSelector"]))
    return [{"loop": ring, "sockets": options.n, "variant": name,
             "cpu_ns": statistics.median(found), "x_EpollSelector": base / statistics.median(found)}
            for name, found in times.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=8, help="socket pairs")
    parser.add_argument("-t", type=float, default=0.5, help="processor seconds per round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="write the numbers there, too")
    options = parser.parse_args()
    rows = []
    for ring in "selector", "modify", "asyncio":
        found = measure(ring, options)
        rows += found
        print(f"{ring}, n = {options.n}")
        for row in found:
            print(f"  {row['variant']:<16}{row['cpu_ns']:>10.0f} ns"
                  f"{row['x_EpollSelector']:>8.2f} x")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"results": rows}, file)


if __name__ == "__main__":
    main()
