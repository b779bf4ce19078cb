"""The targets of the project, with what was measured."""

import collections

Target = collections.namedtuple("Target", "workload target value good")

K = ("k=1", "k=16", "k=256")
THREADS = ("1 thread", *(f"{n} threads" for n in (2, 4, 8, 16, 32)))
# workload, phases, variant, at least so many times as fast as which other.  The ratio is that
# of the rounds where the report has it.
FASTER = [
    ("looptest", [None], "xpoll-epoll", 1.4, ["raw-epoll"]),
    ("looptest", [None], "xpoll-epoll", 2.5, ["libuv", "libev", "libevent"]),
    ("looptest", [None], "xpoll-epoll", 0.42, ["limit"]),
    ("edge", K, "xpoll-epoll", 0.97, ["raw-epoll"]),
    ("active", K, "xpoll-epoll", 0.97, ["raw-epoll"]),
    ("idle", [None], "xpoll-epoll", 0.97, ["raw-epoll"]),
    ("dispatch", K[:1], "xpoll-epoll", 0.95, ["raw-epoll"]),
    ("dispatch", K[1:], "xpoll-epoll", 1.3, ["raw-epoll"]),
    ("timers", ("arm", "cancel", "expire"), "xpoll-epoll", 1, ["libevent", "libuv"]),
    ("threads", THREADS, "xpoll-epoll", 1, ["raw-epoll"]),
    ("hand-off", THREADS, "xpoll-epoll", 0.95, ["raw-epoll"]),
    ("drop-in-5000", [None], "drop-in", 18, ["raw-poll"]),
    ("drop-in-5000", [None], "drop-in", 0.9, ["raw-epoll"]),
    ("drop-in-9000", [None], "drop-in", 22, ["raw-poll"]),
    ("drop-in-9000", [None], "drop-in", 0.7, ["raw-epoll"]),
    ("drop-in-5000", [None], "drop-in", 0.85, ["ideal"]),
    ("drop-in-9000", [None], "drop-in", 0.85, ["ideal"]),
    ("kqueue", [None], "kevent", 1.15, ["raw-epoll"]),
    ("active", K, "xpoll-poll", 0.95, ["raw-poll"]),
    ("active", K, "xpoll-select", 0.95, ["raw-poll"]),
    ("looptest", [None], "xpoll-poll", 0.95, ["raw-poll"]),
    ("looptest", [None], "xpoll-select", 0.95, ["raw-poll"]),
]
# Likewise: takes at most so many times the time of raw-epoll.
DEARER = [
    ("costs", ("add", "delete"), "xpoll-epoll", 1.15),
    ("costs", ("disable", "enable"), "xpoll-epoll", 0.25),
    ("wake", [None], "xpoll-epoll", 1.15),
    ("kqueue-change", [None], "kevent", 1.3),
]
INLINE, GANGS, ONE_SHOT = "Poller, inline", "Poller, gangs", "Poller, one-shot"
OTHERS = ("java.nio Selector", "a thread each", "a virtual thread each")


def rows(results):
    return [*faster(results), *dearer(results), *spread(results), *memory(results),
            *java_costs(results), *java_looptest(results), *java_servers(results)]


def reports(results, workload):
    return [workload] if results.get(workload) else \
        [f"{workload}-{n}" for n in results.sizes(workload)]


def ratio(results, name, variant, other, phase):
    value = results.number(name, variant, "ratio_" + other.replace("-", "_"), phase)
    if value is None:
        ours, theirs = (results.rate(name, who, phase) for who in (variant, other))
        value = ours / theirs if ours and theirs else None
    return value


def faster(results):
    for workload, phases, variant, least, others in FASTER:
        for name in reports(results, workload):
            for phase, other in ((phase, other) for phase in phases for other in others):
                value = ratio(results, name, variant, other, phase)
                if value is not None:
                    yield Target(", ".join(filter(None, (name, variant, phase))),
                                 f"≥ {least:g} × {other}", f"{value:.2f}", value >= least)


def dearer(results):
    for workload, phases, variant, most in DEARER:
        for name in reports(results, workload):
            for phase in phases:
                value = ratio(results, name, variant, "raw-epoll", phase)
                if value:
                    yield Target(", ".join(filter(None, (name, variant, phase))),
                                 f"≤ {most:g} × the time of raw-epoll", f"{1 / value:.2f}",
                                 1 / value <= most)


def spread(results):
    """Beside the limit of the same run: the pipes themselves get slower, too."""
    values = [value for n in results.sizes("idle") if
              (value := results.number(f"idle-{n}", "xpoll-epoll", "ratio_limit"))]
    if values:
        value = max(values) / min(values) - 1
        yield Target("idle, 0 to 9000, × limit", "flat within 5 %", f"{100 * value:.0f} %",
                     value <= 0.05)


def memory(results):
    """What a further descriptor takes: the queue itself is there with the first."""
    taken = {n: n * (results.number(f"memory-{n}", "xpoll-epoll", "bytes_per_", "add") or 0)
             for n in results.sizes("memory")}
    if len(taken) > 1 and all(taken.values()):
        few, many = min(taken), max(taken)
        each = (taken[many] - taken[few]) / (many - few)
        yield Target(f"memory, from {few:,} to {many:,} descriptors", "≤ 64 bytes each",
                     f"{each:.0f}", round(each) <= 64)


def java_costs(results):
    for row in results.rows("java-costs"):
        if "look" in row["call"] and "c" in row and "java" in row:
            added = row["java"] - row["c"]
            yield Target(f"Java, {row['call'].replace('_', ' ')}", "≤ 60 ns more than C",
                         f"{added:.0f} ns", added <= 60)


def java_looptest(results):
    ours = {}
    for row in results.rows("java-looptest"):
        if row["variant"] != "xpoll-descriptors":
            continue
        ours[row["pipes"]] = row["cpu_ns_per_read"]
        name = f"Java, looptest, n = {row['pipes']:.0f}"
        yield Target(name, "≥ 2.2 × Selector", f"{row['ratio']:.2f}", row["ratio"] >= 2.2)
        yield Target(name, "no garbage", f"{row['bytes_per_read']:.1f} bytes/read",
                     row["bytes_per_read"] < 0.5)
    if len(ours) > 1:
        value = max(ours.values()) / min(ours.values()) - 1
        yield Target("Java, looptest, all n", "within 10 %", f"{100 * value:.0f} %", value <= 0.1)


def java_servers(results):
    cpu = {(row["connections"], row["server"]): row["cpu_ms"]
           for row in results.rows("java-servers")}
    for connections in sorted({key[0] for key in cpu}):
        name = f"Java, {connections:,} connections"
        least = min((cpu[connections, other] for other in OTHERS if (connections, other) in cpu),
                    default=None)
        for server in INLINE, GANGS:
            ours = cpu.get((connections, server))
            if ours and least:
                yield Target(f"{name}: {server}", "less CPU than the others",
                             f"{ours / least:.2f} × the least of them", ours < least)
        gangs, once = cpu.get((connections, GANGS)), cpu.get((connections, ONE_SHOT))
        if gangs and once:
            yield Target(f"{name}: one-shot", "≤ 1.15 × gangs", f"{once / gangs:.2f}",
                         once <= 1.15 * gangs)
