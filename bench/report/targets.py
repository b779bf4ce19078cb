"""The targets of the project, with what was measured."""


import java


class Target:
    """One row: text, the number it is about, and whether that is good."""

    def __init__(self, workload, target, value, good, note=""):
        self.workload, self.target, self.value, self.good = workload, target, value, good
        self.note = note


def rows(results):
    return [row for part in (looptest, stable, idle, dispatch, costs, others, drop_in,
                             kqueue, fallback, java.targets)
            for row in part(results)]


def at_least(results, workload, name, phase, reference, least, variant="xpoll-epoll"):
    value = results.number(name, variant, "ratio_" + reference, phase)
    if value is None:
        return []
    return [Target(workload, f"≥ {least:g} × {reference.replace('_', '-')}", f"{value:.2f}",
                   value >= least)]


def against(results, name, other):
    """Our rate divided by that of another variant."""
    ours = results.number(name, "xpoll-epoll", "ns_per_")
    theirs = results.number(name, other, "ns_per_")
    return theirs / ours if ours and theirs else None


def looptest(results):
    found = []
    for n in results.sizes("looptest"):
        name, title = f"looptest-{n}", f"looptest, n = {n}"
        found += at_least(results, title, name, None, "raw_epoll", 1.4)
        for library in "libuv", "libev", "libevent":
            value = against(results, name, library)
            if value is not None:
                found.append(Target(title, f"≥ 2.5 × {library}", f"{value:.2f}", value >= 2.5))
        found += at_least(results, title, name, None, "limit", 0.42)
    return found


def stable(results):
    found = []
    for workload in "edge", "active":
        for n in results.sizes(workload):
            for phase in "k=1", "k=16", "k=256":
                found += at_least(results, f"{workload}, n = {n}, {phase}", f"{workload}-{n}",
                                  phase, "raw_epoll", 0.97)
    return found


def idle(results):
    found, costs = [], {}
    for n in results.sizes("idle"):
        found += at_least(results, f"idle, 10 active of {n}", f"idle-{n}", None, "raw_epoll", 0.97)
        costs[n] = results.number(f"idle-{n}", "xpoll-epoll", "ratio_limit")
    # Beside the limit of the same run: the pipes themselves get slower, too.
    values = [value for value in costs.values() if value]
    if values:
        spread = max(values) / min(values) - 1
        found.append(Target("idle, 0 to 9000, × limit", "flat within 5 %",
                            f"{100 * spread:.0f} %", spread <= 0.05))
    return found


def dispatch(results):
    found = []
    for n in results.sizes("dispatch"):
        for phase, least in ("k=1", 0.95), ("k=16", 1.3), ("k=256", 1.3):
            found += at_least(results, f"dispatch, n = {n}, {phase}", f"dispatch-{n}", phase,
                              "raw_epoll", least)
    return found


def costs(results):
    found = []
    for n in results.sizes("costs"):
        for phase, most in (("add", 1.15), ("delete", 1.15), ("disable", 0.25),
                            ("enable", 0.25)):
            ratio = results.number(f"costs-{n}", "xpoll-epoll", "ratio_raw_epoll", phase)
            if ratio:
                found.append(Target(f"costs, n = {n}, {phase}", f"≤ {most:g} × raw epoll_ctl",
                                    f"{1 / ratio:.2f}", 1 / ratio <= most))
    return found


def others(results):
    found = []
    ratio = results.number("wake-2", "xpoll-epoll", "ratio_raw_epoll")
    if ratio:
        found.append(Target("wake, on one processor", "≤ 1.15 × eventfd and epoll",
                            f"{1 / ratio:.2f}",
                            1 / ratio <= 1.15))
    for n in results.sizes("timers"):
        for phase in "arm", "cancel", "expire":
            for library in "libevent", "libuv":
                found += at_least(results, f"timers, {n:,}, {phase}", f"timers-{n}", phase,
                                  library, 1)
    for n in results.sizes("threads"):
        for phase in "1 thread", "2 threads", "4 threads":
            found += at_least(results, f"threads, {phase}", f"threads-{n}", phase, "raw_epoll", 1)
    found += memory(results)
    return found


def memory(results):
    """What a further descriptor takes: the queue itself is there with the first."""
    taken = {n: n * (results.number(f"memory-{n}", "xpoll-epoll", "bytes_per_") or 0)
             for n in results.sizes("memory")}
    if len(taken) < 2 or not all(taken.values()):
        return []
    few, many = min(taken), max(taken)
    each = (taken[many] - taken[few]) / (many - few)
    return [Target(f"memory, from {few:,} to {many:,} descriptors", "≤ 64 bytes each",
                   f"{each:.0f}", round(each) <= 64)]


def drop_in(results):
    found = []
    for n, poll, epoll in (5000, 18, 0.9), (9000, 22, 0.7):
        for reference, least in ("raw_poll", poll), ("raw_epoll", epoll), ("ideal", 0.85):
            found += at_least(results, f"drop-in, n = {n}", f"drop-in-{n}", None, reference,
                              least, "drop-in")
    return found


def kqueue(results):
    return [row for n in results.sizes("kqueue")
            for row in at_least(results, f"kqueue, n = {n}", f"kqueue-{n}", None, "raw_epoll",
                                1.15, "kevent")] + kqueue_change(results)


def kqueue_change(results):
    found = []
    for n in results.sizes("kqueue-change"):
        ratio = results.number(f"kqueue-change-{n}", "kevent", "ratio_raw_epoll")
        if ratio:
            found.append(Target(f"add and delete by kevent, n = {n}", "≤ 1.3 × raw epoll_ctl",
                                f"{1 / ratio:.2f}", 1 / ratio <= 1.3))
    return found


def fallback(results):
    found = []
    for n in results.sizes("active"):
        for backend in "poll", "select":
            for phase in "k=1", "k=16", "k=256":
                found += at_least(results, f"back end {backend}, active, {phase}", f"active-{n}",
                                  phase, "raw_poll", 0.95, f"xpoll-{backend}")
    for n in results.sizes("looptest"):
        for backend in "poll", "select":
            found += at_least(results, f"back end {backend}, looptest, n = {n}", f"looptest-{n}",
                              None, "raw_poll", 0.95, f"xpoll-{backend}")
    return found
