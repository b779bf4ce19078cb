"""How what an operation takes grows with how many there are: an exponent for each row.

Of a cost c(n) for each operation the exponent is the slope of log c over log n, by least
squares: 0 is constant, 1 is in proportion to n.  Where each operation touches another part
of a table that no cache holds, memory alone makes it grow; rows by hand show how much.
"""

import math

# workload, its field, what is counted, phases (None: all of the report), and whose.
XPOLL, RAW = "xpoll-epoll", "raw-epoll"
ROWS = [
    ("idle", "ns_per_", "ns an event, 10 of n active", [None], (XPOLL, RAW, "raw-poll")),
    ("costs", "ns_per_", "ns a change", ("add", "disable", "enable", "delete"), (XPOLL, RAW)),
    ("memory", "ns_per_", "ns a descriptor", ("add", "destroy"), (XPOLL, RAW)),
    ("memory", "bytes_per_", "bytes a descriptor", ("add",), (XPOLL,)),
    ("user", "ns_per_", "ns", None, (XPOLL, "by-hand")),
    ("user", "bytes_per_", "bytes a user event", ("add",), (XPOLL,)),
    ("timers", "ns_per_", "ns a timer", None, (XPOLL, "timerfd", "libevent", "libuv")),
    ("timers", "bytes_per_", "bytes a timer", ("arm",), (XPOLL,)),
    ("files", "ns_per_", "ns a file", None, (XPOLL, "by-hand", "libuv")),
]
HEAD = ("what", "whose", "from n", "to n", "at first", "at last", "exponent", "of log n")


def slope(points):
    """The slope of log y over log x; None: not enough points."""
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len(logs) < 3:
        return None
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    return (sum((x - mean_x) * (y - mean_y) for x, y in logs)
            / sum((x - mean_x) ** 2 for x, _ in logs))


def series(results):
    """Name of a plot -> its unit, {whose: [(n, cost)]}, of what was measured three times."""
    found = {}
    for workload, field, what, phases, variants in ROWS:
        sizes = results.sizes(workload)
        for phase in phases or (results.phases(f"{workload}-{sizes[0]}") if sizes else ()):
            lines = {}
            for variant in variants:
                points = [(n, results.number(f"{workload}-{n}", variant, field, phase))
                          for n in sizes]
                points = [(n, y) for n, y in points if y]
                if slope(points) is not None:
                    lines[variant] = points
            if lines:
                name = " ".join(filter(None, (workload, phase, field.split("_")[0])))
                found["growth-" + name] = what, lines
    return found


def rows(results):
    """What is in HEAD."""
    for name, (what, lines) in series(results).items():
        for variant, points in lines.items():
            yield (f"{name.replace('growth-', '')}: {what}", variant, points[0][0],
                   points[-1][0], points[0][1], points[-1][1], slope(points),
                   slope([(n, math.log(n)) for n, _ in points]))


def text(results):
    lines = [f"{HEAD[0]:<40}{HEAD[1]:<13}" + "".join(f"{head:>12}" for head in HEAD[2:])]
    for what, whose, first, last, low, high, exponent, logarithm in rows(results):
        lines.append(f"{what:<40}{whose:<13}{first:>12,}{last:>12,}{low:>12,.1f}{high:>12,.1f}"
                     f"{exponent:>12.2f}{logarithm:>12.2f}")
    return "\n".join(lines)
