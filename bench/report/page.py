"""One self-contained HTML page of all that was measured: pictures first."""

import base64
import html
import os
import re

import growth
import sources

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
PAPER = ["figure-10", "figure-11", "figure-12", "figure-13", "figure-14", "figure-15", "figure-16"]
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


def table(head, rows):
    parts = ["<div class=scroll><table><tr>", *(f"<th>{text(cell)}" for cell in head)]
    for row in rows:
        parts += ["<tr>", *(f"<td>{cell}" for cell in row)]
    return "".join(parts) + "</table></div>\n"


def times(value):
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 2 else f"{value:.2f}"


def summary(results):
    """Three sentences: the loop, the drop-in, idle descriptors."""
    def get(*key):
        return results.number(*key)

    said = []
    ns = get("looptest-8", "xpoll-epoll", "ns_per_")
    if ns and get("looptest-8", "xpoll-epoll", "ratio_raw_epoll"):
        said.append(f"With 8 pipes a read of looptest takes xpoll {ns:,.0f} ns: it is "
                    f"{times(get('looptest-8', 'xpoll-epoll', 'ratio_raw_epoll'))} times as fast "
                    "as epoll(7) used by hand and "
                    f"{times(get('looptest-8', 'xpoll-epoll', 'ratio_raw_poll'))} times as fast as "
                    "poll(2).")
    sizes = results.sizes("drop-in")
    ratio = get(f"drop-in-{sizes[-1]}", "drop-in", "ratio_raw_poll") if sizes else None
    if ratio:
        said.append(f"A program written for poll(2), with 10 of {sizes[-1]:,} pipes active, runs "
                    f"{times(ratio)} times as fast with the drop-in, unchanged.")
    lines = {variant: results.series("idle", variant, lambda ns, _: ns)
             for variant in ("xpoll-epoll", "raw-poll")}
    if all(len(points) > 1 for points in lines.values()):
        (few, ours), (many, ours_then) = lines["xpoll-epoll"][0], lines["xpoll-epoll"][-1]
        poll, poll_then = lines["raw-poll"][0][1], lines["raw-poll"][-1][1]
        said.append(f"From {few - 10:,} to {many - 10:,} idle connections beside 10 active ones, "
                    f"a read goes from {ours:,.0f} to {ours_then:,.0f} ns; with poll(2) from "
                    f"{poll:,.0f} to {poll_then:,.0f} ns.")
    return " ".join(said) or "Too little was measured for a summary."


class Page:
    """Sections, each with pictures, their numbers folded, and the command."""

    def __init__(self, results, plots):
        self.results, self.plots = results, plots
        self.contents, self.parts, self.known = [], [], set()

    def pictures(self, names):
        found = []
        for name in names:
            path = os.path.join(self.plots, name + ".svg")
            if os.path.exists(path):
                with open(path, "rb") as file:
                    data = base64.b64encode(file.read()).decode("ascii")
                found.append(f'<img alt="{text(name)}" src="data:image/svg+xml;base64,{data}">')
        return f"<div class=pictures>{''.join(found)}</div>\n" if found else ""

    def numbers(self, name):
        """All numbers of one report."""
        self.known.add(name)
        rows = self.results.rows(name)
        if not rows:
            return ""
        keys = JAVA.get(name) or {
            key: key for key in rows[0] if not isinstance(rows[0][key], (dict, list))}
        return f"<p>{text(name)}" + table(
            keys.values(), [[number(row.get(key)) for key in keys] for row in rows])

    def section(self, title, says, pictures, reports=(), command=None):
        name = re.sub("[^a-z0-9]+", "-", title.lower().split(":")[0])
        shown = self.pictures(pictures)
        numbers = "".join(self.numbers(report) for report in reports)
        if numbers:
            numbers = f"<details><summary>The numbers</summary>{numbers}</details>"
        self.contents.append(f'<li><a href="#{name}">{text(title)}</a>')
        self.parts += [f"<h2 id={name}>{text(title)}</h2><p>{says}</p>",
                       shown or ("" if numbers else "<p class=note>Not measured here.</p>"),
                       numbers,
                       f"<p class=note>Again: <code>{text(command)}</code></p>" if command else ""]

    def reports(self, workload):
        return [f"{workload}-{n}" for n in self.results.sizes(workload)]

    def first(self):
        loops = self.reports("looptest")
        self.section("looptest", "One token goes round n pipes, and interest changes with every "
                     "event: the benchmark of the original xpoll.", loops, loops,
                     "xpoll bench looptest -n 8")
        self.section("The poll(2) drop-in", "The same program on the kernel's poll(2), on the "
                     "drop-in, and written for epoll(7). <i>ideal</i> is a drop-in that would cost "
                     "nothing.", ["drop-in"], self.reports("drop-in"), "xpoll bench drop-in")
        for name in PAPER:
            title, says = sources.FIGURES[name]
            web = name > "figure-13"
            self.section(title, f"The kqueue paper: {text(says)}", [name],
                         command="bench/http.py" if web else "xpoll bench costs")
        title, says = sources.FIGURES["zombies"]
        self.section(title, text(says), ["zombies"], self.reports("idle"),
                     "xpoll bench idle")
        self.java()

    def java(self):
        about = self.results.get("java-servers") or self.results.get("java-looptest") or {}
        run = f" Measured with {text(about['java'])}." if "java" in about else ""
        in_1999 = "; ".join(f"{n:,} connections {ours} and {others} s"
                            for n, ours, others in sources.JAVA_TABLE[1])
        self.section("Java: the table of the Poller package", "What the README of 1999 measured, "
                     f"Poller and a thread each ({in_1999}), and looptest beside java.nio.{run}",
                     self.numbered("java-looptest", "java-servers"), JAVA, "./dev bench java")

    def numbered(self, *reports):
        return [f"{report}-{number}" for report in reports for number in range(8)]

    def rest(self):
        self.section("The READMEs of the original", "What they call reads/sec counts iterations, "
                     "two for each read; here it is halved. The machines are others: compare "
                     "shapes, not heights.", ["readme-second-version", "readme-first-version",
                                              "readme-linux"])
        self.section("Web servers", "10 active connections under wrk, as fast as they can. Servers "
                     "and load share this machine.", ["web", *self.numbered("web")], ["http"],
                     "bench/http.py")
        for workload, says in {**sources.WORKLOADS,
                               "memory": "What a registered descriptor takes."}.items():
            reports = self.reports(workload)
            self.section(workload, text(says), self.numbered(*reports), reports,
                         f"xpoll bench {workload}")
        self.section("costs", "Each operation of a queue by itself.", [], self.reports("costs"),
                     "xpoll bench costs")
        grown = [[text(row[0]), row[1], *(number(value) for value in row[2:])]
                 for row in growth.rows(self.results)]
        if grown:
            self.section("Growth", "What an operation takes as their number grows: the slope of "
                         "its logarithm over that of n. 0 is constant, 1 in proportion to n.",
                         list(growth.series(self.results)),
                         command="bench/report/main.py growth build/bench")
            self.parts.append(table(growth.HEAD, grown))
        for name in sorted(set(self.results.reports) - self.known):
            if isinstance(self.results.get(name), dict) and self.results.rows(name):
                self.section(name, "Measured by another command.", [], [name])


def missing(results):
    names = sorted({name for report in results.reports.values() if isinstance(report, dict)
                    for name in report.get("missing", [])})
    return f"<p class=note>Not here, so not measured: {text(', '.join(names))}.</p>" \
        if names else ""


def write(results, plots, path, command, machine):
    page = Page(results, plots)
    page.first()
    page.rest()
    described = " · ".join(f"{key} {value}" for key, value in machine.items())
    parts = ["<!doctype html><html lang=en><meta charset=utf-8>"
             '<meta name=viewport content="width=device-width, initial-scale=1">'
             f"<title>xpoll, measured</title><style>{STYLE}</style><h1>xpoll, measured</h1>",
             f"<p class=summary>{text(summary(results))}</p>",
             f"<p class=note>{text(described)} · <code>{text(command)}</code></p>",
             "<nav><ul>", *page.contents, "</ul></nav>",
             "<p class=note>Contenders take turns of a fraction of a second in one process; "
             "numbers are medians of the rounds. Where nothing waits, it is processor time that "
             "counts. Each contender has one colour on all pictures.</p>",
             missing(results), *page.parts, "</html>\n"]
    part = f"{path}.{os.getpid()}.part"
    with open(part, "w", encoding="utf-8") as file:
        file.write("".join(parts))
    os.replace(part, path)
