"""The loop test of xpoll bench, for selectors and event loops of Python.

  looptest.py [-n PAIRS] [-t SECONDS] [--rounds ROUNDS]

n socket pairs in a ring, all registered for reading.  When one becomes readable it is
read and the next one's writer also waits for room; when there is room, it waits for
reading only again, and writes.  So each read costs a write, two waits and two changes.

"asyncio" is the same ring under an event loop: sock_recv and sock_sendall in n tasks.
All variants run in turns in one process; each number is the median of the rounds.  It is
processor time, since nobody sleeps here: other programs disturb it least.
"""
import argparse
import asyncio
import selectors
import socket
import statistics
import time
from collections.abc import Callable

import xpoll

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


def asyncio_ring(make: MakeSelector, count: int, seconds: float) -> float:
    """Nanoseconds per read."""
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

    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(make())) as runner:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=8, help="socket pairs")
    parser.add_argument("-t", type=float, default=0.5, help="processor seconds per round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for ring in (selector_ring, asyncio_ring):
        names = {name: make for name, make in variants().items() if fits(name, options.n)}
        times: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(options.rounds):
            for name, make in names.items():
                times[name].append(ring(make, options.n, options.t))
        base = statistics.median(times.get("EpollSelector", times["PollSelector"]))
        print(f"{ring.__name__}, n = {options.n}")
        for name in names:
            median = statistics.median(times[name])
            print(f"  {name:<16}{median:>10.0f} ns/read{base / median:>8.2f} x")


if __name__ == "__main__":
    main()
