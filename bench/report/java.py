"""The Java binding's numbers, which bench/java.py has measured, as tables and targets."""

import collections

HEADS = {
    "java-costs": (("call", "call"), ("c", "from C, ns"), ("java", "from Java, ns")),
    "java-looptest": (("variant", "variant"), ("pipes", "pipes"), ("reads_per_s", "reads/s"),
                      ("cpu_ns_per_read", "CPU ns/read"), ("ratio", "× Selector"),
                      ("bytes_per_read", "garbage, bytes/read")),
    "java-servers": (("connections", "connections"), ("server", "server"),
                     ("data_ms", "data, ms"), ("cpu_ms", "server CPU, ms"),
                     ("cpu_us_per_event", "CPU µs/event"), ("rss_mb", "memory, MB"),
                     ("threads", "threads"), ("in_1999_s", "in 1999, s")),
}
TITLES = {
    "java-costs": "Java: what a call costs",
    "java-looptest": "Java: looptest beside java.nio",
    "java-servers": "Java: the table of the Poller package's README",
}
INLINE, GANGS = "Poller, inline", "Poller, gangs"
ONE_SHOT, SELECTOR = "Poller, one-shot", "java.nio Selector"
OTHERS = (SELECTOR, "a thread each", "a virtual thread each")


def rows(results, name):
    found = (results.get(name) or {}).get("results", [])
    return [{**row, "rss_mb": row["rss_kb"] / 1024} if "rss_kb" in row else row for row in found]


def said(report):
    """What was run, in words."""
    words = [report[key] for key in ("measured", "java") if key in report]
    if report.get("writes"):
        words.append(f"{report['writes']:,} writes of 10 bytes, {report['rounds']} rounds")
    if report.get("load"):
        words.append(f"load of the machine afterwards {report['load'][0]:.1f}")
    return "; ".join(words)


def cell(value, form):
    return format(value, form) if value is not None else ""


def costs_lines(results):
    """The README's tables: the lines, cells and all."""
    names = {"look_nothing": "a wait that finds nothing, ns",
             "look_ready": "a wait that finds one descriptor, ns",
             "disable_enable": "disable and enable, ns"}
    return [("", "C", "from Java"),
            *((names[row["call"]], cell(row.get("c"), ",.0f"), cell(row.get("java"), ",.0f"))
              for row in rows(results, "java-costs") if row["call"] in names)]


def looptest_lines(results):
    names = {"xpoll-oneshot": "Poller, one-shot", "xpoll-descriptors": "Poller, descriptors",
             "xpoll-channels": "Poller, channels",
             "nio-selectedKeys": "Selector, selectedKeys", "nio-consumer": "Selector, consumer"}
    found = {(row["variant"], row["pipes"]): row for row in rows(results, "java-looptest")}
    sizes = sorted({size for _, size in found})
    head = [""]
    for size in sizes:
        head += [f"n = {size:.0f}: ns", "x Selector", "garbage, bytes"]
    lines = [head]
    for variant, name in names.items():
        line = [name]
        for size in sizes:
            row = found.get((variant, size), {})
            line += [cell(row.get("cpu_ns_per_read"), ",.0f"), cell(row.get("ratio"), ".2f"),
                     cell(row.get("bytes_per_read"), ".0f")]
        lines.append(line)
    return lines


def servers_lines(results):
    found = {(row["server"], row["connections"]): row for row in rows(results, "java-servers")}
    sizes = sorted({size for _, size in found})
    head = [""]
    for size in sizes:
        head += [f"{size:,}: CPU s", "us/event", "in 1999, s"]
    lines = [[*head, "MB", "threads"]]
    for server in dict.fromkeys(server for server, _ in found):
        line = [server]
        for size in sizes:
            row = found.get((server, size), {})
            cpu_ms = row.get("cpu_ms")
            line += [cell(cpu_ms and cpu_ms / 1e3, ".2f"), cell(row.get("cpu_us_per_event"), ".1f"),
                     cell(row.get("in_1999_s"), "d")]
        most = found.get((server, sizes[-1]), {})
        lines.append([*line, cell(most.get("rss_mb"), ".0f"), cell(most.get("threads"), ",.0f")])
    return lines


LINES = {"java-costs": costs_lines, "java-looptest": looptest_lines,
         "java-servers": servers_lines}


Found = collections.namedtuple("Found", "workload target value good")


def targets(results):
    return [*costs(results), *looptest(results), *servers(results)]


def costs(results):
    found = []
    for row in rows(results, "java-costs"):
        if "look" in row["call"] and "c" in row and "java" in row:
            added = row["java"] - row["c"]
            found.append(Found(f"Java, {row['call'].replace('_', ' ')}", "≤ 60 ns more than C",
                               f"{added:.0f} ns", added <= 60))
    return found


def looptest(results):
    found, ours = [], {}
    for row in rows(results, "java-looptest"):
        if row["variant"] != "xpoll-descriptors":
            continue
        ours[row["pipes"]] = row["cpu_ns_per_read"]
        name = f"Java, looptest, n = {row['pipes']:.0f}"
        found.append(Found(name, "≥ 2.2 × Selector", f"{row['ratio']:.2f}", row["ratio"] >= 2.2))
        found.append(Found(name, "no garbage", f"{row['bytes_per_read']:.1f} bytes/read",
                           row["bytes_per_read"] < 0.5))
    if len(ours) > 1:
        spread = max(ours.values()) / min(ours.values()) - 1
        found.append(Found("Java, looptest, all n", "within 10 %", f"{100 * spread:.0f} %",
                           spread <= 0.1))
    return found


def servers(results):
    cpu = {(row["connections"], row["server"]): row["cpu_ms"]
           for row in rows(results, "java-servers")}
    found = []
    for connections in sorted({key[0] for key in cpu}):
        name = f"Java, {connections:,} connections"
        for server in INLINE, GANGS:
            least = min((cpu[connections, other] for other in OTHERS
                         if (connections, other) in cpu), default=None)
            ours = cpu.get((connections, server))
            if ours and least:
                found.append(Found(f"{name}: {server}", "less CPU than the others",
                                   f"{ours / least:.2f} × the least of them", ours < least))
        gangs, once = cpu.get((connections, GANGS)), cpu.get((connections, ONE_SHOT))
        if gangs and once:
            found.append(Found(f"{name}: one-shot", "≤ 1.15 × gangs", f"{once / gangs:.2f}",
                               once <= 1.15 * gangs))
    return found
