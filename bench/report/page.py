"""One self-contained HTML page of all that was measured: pictures first."""

import base64
import html
import os
import re

import results as numbers
import rounds

STYLE = """
:root { color-scheme: light dark; --line: #d0d7de; --soft: #f3f5f7; --note: #59636e;
        --link: #0969da; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3d444d; --soft: #1b222b; --note: #9198a1; --link: #58a6ff; }
  body { background: #0d1117; color: #d0d7de; } }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 70rem; margin: 0 auto;
       padding: 1rem 1rem 4rem; overflow-wrap: break-word; }
h1, h2 { line-height: 1.2; } h2 { margin: 3rem 0 .5rem; padding-top: .6rem;
  border-top: 1px solid var(--line); }
a { color: var(--link); } .note, figcaption { color: var(--note); }
.summary { font-size: 1.15rem; } nav ul { columns: 17rem; column-gap: 2rem; padding-left: 1.2rem; }
.pictures { display: grid; gap: .5rem 1.5rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr)); }
.pictures img { width: 100%; max-width: 34rem; height: auto; }
code { background: var(--soft); padding: .1em .3em; border-radius: .2em; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .875rem; }
th, td { padding: .2em .7em; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; } th { background: var(--soft); }
th:first-child, td:first-child { text-align: left; }
summary { cursor: pointer; color: var(--note); }
"""
# README of the original xpoll: "reads/sec" there counts iterations, two for each read.
README_TABLES = {
    "second version: FreeBSD 13.0": {
        "kqueue": {8: 1473887.72, 1000: 1392773.82},
        "poll": {8: 391819.20, 1000: 2051.60},
    },
    "first version: FreeBSD 13.0": {
        "kqueue": {8: 2950424.72, 1000: 2815974.78},
        "poll": {8: 572939.51, 1000: 4415.42},
    },
    "Linux, both versions: Fedora 34, VirtualBox": {
        "epoll": {8: 1026485.04, 1000: 882090.23},
        "poll": {8: 577317.68, 1000: 5797.41},
    },
}

# Title, and what the text says that its figure shows.
FIGURES = {
    "figure-10": (
        "Figure 10: time needed for the initial kqueue call",
        "Adding to a kqueue takes twice as long as a poll; once they are registered, looking "
        "at them takes the same whatever their number."),
    "figure-11": (
        "Figure 11: time required when all descriptors are active",
        "The worst case of kqueue, every descriptor active, takes less than poll."),
    "figure-12": (
        "Figure 12: accumulated time for kqueue vs poll",
        "kqueue has a higher startup cost; it pays off unless a descriptor is polled less "
        "than 4 times."),
    "figure-13": (
        "Figure 13: time required for each kqueue operation",
        "Enable and disable cost less than add and delete."),
    "figure-14": (
        "Figure 14: kernel CPU time consumed by system call",
        "The kqueue times are constant regardless of the number of inactive connections."),
    "figure-15": (
        "Figure 15: amount of idle time remaining",
        "With select the system is out of resources by the time there are 2000 connections."),
    "figure-16": (
        "Figure 16: response time from httperf",
        "The unmodified server runs out of CPU at around 600 idle connections; with kqueue it "
        "has 48 % idle time left at 10000."),
    "zombies": (
        "The article: 40000 requests beside zombie connections",
        "poll's time grows linearly with the descriptors that it watches; epoll's stays flat. "
        "With no zombies at all poll is slightly ahead."),
}
# Workloads whose pictures are among the sources' or are of another kind.
OWN_PICTURES = {"looptest", "drop-in", "idle", "costs", "memory"}
# The fields of Java's reports, and what their columns are called.
JAVA = {
    "java-looptest": {"variant": "variant", "pipes": "pipes", "reads_per_s": "reads/s",
                      "cpu_ns_per_read": "CPU ns/read", "ratio": "× Selector",
                      "bytes_per_read": "garbage, bytes/read"},
    "java-costs": {"call": "call", "c": "from C, ns", "java": "from Java, ns"},
    "java-servers": {"server": "server", "connections": "connections", "data_ms": "data, ms",
                     "cpu_ms": "server CPU, ms", "cpu_us_per_event": "CPU µs/event",
                     "rss_kb": "memory, kB", "threads": "threads", "in_1999_s": "in 1999, s"},
}


def text(value):
    return html.escape(str(value))


def number(value):
    if value is None:
        return "–"
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return text(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def times(value):
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 2 else f"{value:.2f}"


def table(head, rows):
    rows = ["".join(f"<td>{number(cell)}" for cell in row) for row in rows]
    head = "".join(f"<th>{text(cell)}" for cell in head)
    return f"<div class=scroll><table><tr>{'<tr>'.join([head, *rows])}</table></div>\n"


def summary(results):
    """Three sentences: the loop, the drop-in, idle descriptors."""
    def get(name, variant, field):
        return results.number(name, variant, field)

    said = []
    ns = get("looptest-8", "xpoll-epoll", "ns_per_")
    epoll = get("looptest-8", "xpoll-epoll", "ratio_raw_epoll")
    if ns and epoll:
        poll = get("looptest-8", "xpoll-epoll", "ratio_raw_poll")
        said.append(f"With 8 pipes a read of looptest takes xpoll {ns:,.0f} ns: it is "
                    f"{times(epoll)} times as fast as epoll(7) used by hand and "
                    f"{times(poll)} times as fast as poll(2).")
    sizes = results.sizes("drop-in")
    ratio = get(f"drop-in-{sizes[-1]}", "drop-in", "ratio_raw_poll") if sizes else None
    if ratio:
        said.append(f"A program written for poll(2), with 10 of {sizes[-1]:,} pipes active, runs "
                    f"{times(ratio)} times as fast with the drop-in, unchanged.")
    ours, poll = (results.series("idle", variant, lambda ns, _: ns)
                  for variant in ("xpoll-epoll", "raw-poll"))
    if len(ours) > 1 and len(poll) > 1:
        (few, first), (many, last) = ours[0], ours[-1]
        said.append(f"From {few - 10:,} to {many - 10:,} idle connections beside 10 active ones, "
                    f"a read goes from {first:,.0f} to {last:,.0f} ns; with poll(2) from "
                    f"{poll[0][1]:,.0f} to {poll[-1][1]:,.0f} ns.")
    return " ".join(said) or "Too little was measured for a summary."


def numbered(*reports):
    return [f"{report}-{number}" for report in reports for number in range(8)]


def sections(results):
    """Title, text in HTML, names of pictures, reports, the command that measures it."""
    def reports(workload):
        return [f"{workload}-{n}" for n in results.sizes(workload)]

    loops = reports("looptest")
    yield ("looptest", "One token goes round n pipes, and interest changes with every event: the "
           "benchmark of the original xpoll.", loops, loops, "xpoll bench looptest -n 8")
    yield ("The poll(2) drop-in", "The same program on the kernel's poll(2), on the drop-in, and "
           "written for epoll(7). <i>ideal</i> is a drop-in that would cost nothing.",
           ["drop-in"], reports("drop-in"), "xpoll bench drop-in")
    for name, (title, says) in FIGURES.items():
        if name == "zombies":
            yield title, text(says), [name], reports("idle"), "xpoll bench idle"
        else:
            yield (title, f"The kqueue paper: {text(says)}", [name], [],
                   "bench/http.py" if name > "figure-13" else "xpoll bench costs")
    about = results.get("java-servers") or results.get("java-looptest") or {}
    run = f" Measured with {text(about['java'])}." if "java" in about else ""
    yield ("Java: the table of the Poller package", "What the README of 1999 measured, Poller and "
           "a thread each, and looptest beside java.nio." + run,
           numbered("java-looptest", "java-servers"), JAVA, "./dev bench java")
    yield ("The READMEs of the original", "What they call reads/sec counts iterations, two for "
           "each read; here it is halved. The machines are others: compare shapes, not heights.",
           ["readme-second-version", "readme-first-version", "readme-linux"], [], None)
    yield ("Web servers", "10 active connections under wrk, as fast as they can. Servers and load "
           "share this machine.", ["web", *numbered("web")], ["http"], "bench/http.py")
    summaries = results.workloads()
    for workload in sorted(set(summaries) - OWN_PICTURES | {"memory"}):
        says = summaries.get(workload, "what a registered descriptor takes")
        yield (workload, text(says[0].upper() + says[1:]) + ".", numbered(*reports(workload)),
               reports(workload), f"xpoll bench {workload}")
    yield ("costs", "Each operation of a queue by itself.", [], reports("costs"),
           "xpoll bench costs")
    grown = list(numbers.growth_rows(results))
    if grown:
        yield ("Growth", "What an operation takes as their number grows: the slope of its "
               "logarithm over that of n. 0 is constant, 1 in proportion to n."
               + table(numbers.HEAD, grown), list(numbers.growth(results)), [],
               "bench/report/main.py growth build/bench")


def pictures(plots, names):
    found = []
    for name in names:
        path = os.path.join(plots, name + ".svg")
        if os.path.exists(path):
            with open(path, "rb") as file:
                data = base64.b64encode(file.read()).decode("ascii")
            found.append(f'<img alt="{text(name)}" src="data:image/svg+xml;base64,{data}">')
    return f"<div class=pictures>{''.join(found)}</div>\n" if found else ""


def report_table(results, name):
    rows = results.rows(name)
    if not rows:
        return ""
    keys = JAVA.get(name) or {
        key: key for key in rows[0] if not isinstance(rows[0][key], (dict, list))}
    return f"<p>{text(name)}" + table(keys.values(),
                                      [[row.get(key) for key in keys] for row in rows])


def section(results, plots, title, says, images, reports, command):
    """Pictures, their numbers folded, and the command."""
    shown = pictures(plots, images)
    folded = "".join(report_table(results, report) for report in reports)
    if folded:
        folded = f"<details><summary>The numbers</summary>{folded}</details>"
    if not shown and not folded:
        shown = "<p class=note>Not measured here.</p>"
    again = f"<p class=note>Again: <code>{text(command)}</code></p>" if command else ""
    return f"<h2 id={anchor(title)}>{text(title)}</h2><p>{says}</p>{shown}{folded}{again}"


def anchor(title):
    return re.sub("[^a-z0-9]+", "-", title.lower().split(":")[0])


def write(results, plots, path, command, machine):
    parts = list(sections(results))
    known = {report for part in parts for report in part[3]}
    reports = {name: report for name, report in results.reports.items()
               if isinstance(report, dict)}
    parts += [(name, "Measured by another command.", [], [name], None)
              for name in sorted(set(reports) - known) if results.rows(name)]
    missing = sorted({name for report in reports.values() for name in report.get("missing", [])})
    described = " · ".join(f"{key} {value}" for key, value in machine.items())
    rounds.save(path, "".join([
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f"<title>xpoll, measured</title><style>{STYLE}</style><h1>xpoll, measured</h1>"
        f"<p class=summary>{text(summary(results))}</p>"
        f"<p class=note>{text(described)} · <code>{text(command)}</code></p><nav><ul>",
        *(f'<li><a href="#{anchor(part[0])}">{text(part[0])}</a>' for part in parts),
        "</ul></nav><p class=note>Contenders take turns of a fraction of a second in one process; "
        "numbers are medians of the rounds. Where nothing waits, it is processor time that "
        "counts. Each contender has one colour on all pictures.</p>",
        f"<p class=note>Not here, so not measured: {text(', '.join(missing))}.</p>"
        if missing else "",
        *(section(results, plots, *part) for part in parts), "</html>\n"]))
