"""One self-contained HTML page of all that was measured: pictures, and the numbers folded."""

import html
import re

import results as numbers
import rounds
import svg

STYLE = """
:root { color-scheme: light dark; --line: #d0d7de; --soft: #f3f5f7; --note: #59636e; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3d444d; --soft: #1b222b; --note: #9198a1; }
  body { background: #0d1117; color: #d0d7de; } a { color: #58a6ff; } }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 78rem; margin: 0 auto; padding: 1rem; }
p { max-width: 60rem; }
h2 { margin: 3rem 0 .5rem; padding-top: .6rem; border-top: 1px solid var(--line); }
.note, summary { color: var(--note); } .summary { font-size: 1.15rem; }
nav ul { columns: 17rem; } svg { max-width: 100%; height: auto; margin-right: .5rem;
  vertical-align: top; }
code { background: var(--soft); padding: .1em .3em; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .875rem; }
th, td { padding: .2em .7em; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; } th { background: var(--soft); }
th:first-child, td:first-child { text-align: left; }
"""
# What publications say of the same.
SAYS = {
    "costs": "The kqueue paper, figures 10 to 13: adding takes twice as long as a poll, and a "
             "wait the same whatever the number of descriptors; enabling and disabling cost less "
             "than adding and deleting.",
    "idle": "The kqueue paper, figure 14, and the article on zombie connections: poll's time "
            "grows with the descriptors that it watches, that of kqueue and epoll does not.",
    "drop-in": "The same program on the kernel's poll(2), on the drop-in, and written for "
               "epoll(7).",
}
PYTHON_SAYS = ("A read of looptest on a selector and in an event loop, and a change of interest "
               "alone. KqueueSelector is the standard one, over libxpoll-kqueue.")
# Reports of other programs: title and text, a panel for each .., a bar for each .., its length.
OTHERS = {
    "http": ("Web servers", "Processor time for a request of 10 busy "
             "connections under wrk, beside idle ones.", "idle", "server",
             "request_us", "us a request: less is better", "bench/http.py"),
    "start": ("Start of a program", "true(1) by itself, with the drop-in in LD_PRELOAD, and by "
              "xpoll run.", "program", "variant", "cpu_us",
              "us of processor time: less is better", "bench/start.py"),
    "python-8": ("Python: 8 socket pairs", PYTHON_SAYS, "loop", "variant", "cpu_ns",
                 "ns of processor time: less is better", "python/bench/looptest.py -n 8"),
    "python-400": ("Python: 400 socket pairs", PYTHON_SAYS, "loop", "variant", "cpu_ns",
                   "ns of processor time: less is better", "python/bench/looptest.py -n 400"),
    "java-looptest": ("Java: looptest", "Poller beside java.nio's Selector, and the library from "
                      "C.", "pipes", "variant", "cpu_ns_per_read",
                      "ns of processor time a read: less is better", "./dev bench java"),
    "java-servers": ("Java: the table of 1999", "What the README of 1999 measured, Poller and a "
                     "thread each, beside the ways of today.", "connections", "server", "cpu_ms",
                     "ms of processor time: less is better", "./dev bench java"),
    "java-http": ("Java: an HTTP server", "The JDK's, with 10,000 idle connections and 100 active "
                  "ones, on the JDK's selector and on xpoll's.", "active", "selector",
                  "us_per_request", "us of processor time a request: less is better",
                  "./dev bench java"),
}


LIBRARIES = ("libevent", "libuv", "mio", "polling", "posix-aio")
BESIDE = ("workload", "n", "ns", "x by hand", "x the limit", "x best library", "system calls",
          "instructions")


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
    said = []
    ns, epoll, poll = (results.number("looptest-8", "xpoll-epoll", field)
                       for field in ("ns_per_", "ratio_raw_epoll", "ratio_raw_poll"))
    if ns and epoll:
        said.append(f"With 8 pipes a read of looptest takes xpoll {ns:,.0f} ns: it is "
                    f"{times(epoll)} times as fast as epoll(7) used by hand and "
                    f"{times(poll)} times as fast as poll(2).")
    for n in results.sizes("drop-in")[-1:]:
        ratio = results.number(f"drop-in-{n}", "drop-in", "ratio_raw_poll")
        said.append(f"A program written for poll(2), with 10 of {n:,} pipes active, runs "
                    f"{times(ratio)} times as fast with the drop-in, unchanged.")
    ours, poll = (results.series("idle", variant) for variant in ("xpoll-epoll", "raw-poll"))
    if len(ours) > 1 and len(poll) > 1:
        (few, first), (many, last) = ours[0], ours[-1]
        said.append(f"From {few - 10:,} to {many - 10:,} idle connections beside 10 active ones, "
                    f"a read goes from {first:,.0f} to {last:,.0f} ns; with poll(2) from "
                    f"{poll[0][1]:,.0f} to {poll[-1][1]:,.0f} ns.")
    return " ".join(said) or "Too little was measured for a summary."


def panels(results, workload, sizes):
    """For each size and phase: {variant: operations per second}."""
    for n in sizes:
        for phase in filter(lambda phase: not numbers.threads(phase),
                            results.phases(f"{workload}-{n}")):
            rates = results.rates(f"{workload}-{n}", phase)
            yield f"n = {n:,}" + (f": {phase}" if phase else ""), rates


def sections(results):
    """Title, text, pictures, names of reports, the command that measures it."""
    grown = numbers.growth(results)
    for workload, says in results.workloads().items():
        sizes = results.sizes(workload)
        few = sizes if workload == "looptest" else sizes[-1:]
        pictures = [svg.bars([panel], f"{results.unit(workload)}s/s: more is better")
                    for panel in panels(results, workload, few)]
        pictures += [svg.lines({f"{name}: {numbers.slope(line):.2f}": line
                                for name, line in lines.items()},
                               "threads" if "threads" in what else "n",
                               f"{phase}: {what}" if phase else what)
                     for (whose, phase, what), lines in grown.items() if whose == workload]
        says = f"{says[0].upper()}{says[1:]}. {SAYS.get(workload, '')}"
        yield (workload, says, pictures, [f"{workload}-{n}" for n in sizes],
               f"xpoll bench {workload}")
    for name, (title, says, panel, bar, value, label, command) in OTHERS.items():
        found = {}
        for row in results.rows(name):
            which = row[panel] if isinstance(row[panel], str) else f"{row[panel]:,.0f} {panel}"
            found.setdefault(which, {})[row[bar]] = row[value]
        yield title, says, [svg.bars([one], label) for one in found.items()], [name], command


def beside(results):
    """What is in BESIDE: the default back end, or the drop-in, beside its rivals."""
    for workload in results.workloads():
        sizes = results.sizes(workload)
        for name in (f"{workload}-{n}" for n in sizes):
            counted = any("instructions_per_" in key for row in results.rows(name)[:1]
                          for key in row)
            if workload != "looptest" and not counted and name != f"{workload}-{sizes[-1]}":
                continue
            for phase in results.phases(name):
                rows = {row["variant"]: row for row in results.rows(name)
                        if row.get("phase") == phase}
                ours = rows.get("drop-in") or next(
                    (row for row in rows.values() if row["default"]), None)
                if ours:
                    title = f"{workload}: {phase}" if phase else workload
                    yield [title, int(name.rpartition("-")[2]), *beside_cells(rows, ours)]


def beside_cells(rows, ours):
    def field(row, start):
        return next((value for key, value in row.items() if key.startswith(start)), None)

    def pair(start, form):
        values = ["–" if value is None else format(value, form)
                  for value in (field(ours, start), field(rows[hand], start))]
        return " / ".join(values) if set(values) != {"–"} else "–"

    def ratio(name):
        """Of the medians, where the command gives none of the rounds."""
        if name not in rows:
            return "–"
        found = ours.get("ratio_" + name.replace("-", "_")) or (
            field(rows[name], "ns_per_") / field(ours, "ns_per_"))
        return times(found) + (f" {name}" if name != "limit" else "")

    references = [key[len("ratio_"):] for key in ours if key.startswith("ratio_")]
    hand = next(name for name in rows if name.replace("-", "_") == references[0])
    library = min((name for name in rows if name in LIBRARIES), default=None,
                  key=lambda name: field(rows[name], "ns_per_"))
    return [field(ours, "ns_per_"), ratio(hand), ratio("limit"), ratio(library),
            pair("syscalls_per_", ".2f"), pair("instructions_per_", ",.0f")]


def flat(results, name, several):
    """Rows with their n, where there are several, and with the spread of their rounds."""
    for row in results.rows(name):
        row = {**({"n": int(name.rpartition("-")[2])} if several else {}), **row}
        rate = next((value for key, value in row.items() if key.endswith("_per_second")), 0)
        if rate and isinstance(row.get("spread"), dict):
            spread = row["spread"]["max"] - row["spread"]["min"]
            row["spread"] = f"{100 * spread / rate:.0f} %"
        yield row


def report_table(results, names):
    rows = [row for name in names for row in flat(results, name, len(names) > 1)]
    keys = list(dict.fromkeys(key for row in rows for key, value in row.items()
                              if key != "default" and not isinstance(value, (dict, list))))
    return table([key.replace("ratio_", "x ") for key in keys],
                 [[row.get(key) for key in keys] for row in rows])


def section(results, title, says, pictures, reports, command):
    found = [name for name in reports if results.rows(name)]
    folded = report_table(results, found) if found else ""
    shown = "".join(pictures) or ("" if folded else "<p class=note>Not measured here.")
    if folded:
        folded = f"<details><summary>The numbers</summary>{folded}</details>"
    again = f"<p class=note>Again: <code>{text(command)}</code>" if command else ""
    return f"<h2 id={anchor(title)}>{text(title)}</h2><p>{text(says)}</p>{shown}{folded}{again}\n"


def anchor(title):
    return re.sub("[^a-z0-9]+", "-", title.lower())


def write(results, path, command):
    parts = list(sections(results))
    known = {report for part in parts for report in part[3]}
    parts += [(name, "Measured by another command.", [], [name], None)
              for name in sorted(set(results.reports) - known) if results.rows(name)]
    missing = sorted({name for report in results.reports.values()
                      for name in report.get("missing", ()) if "xpoll-" + name not in svg.COLORS})
    machine = " · ".join(f"{key} {value}" for key, value in results.machine().items())
    compared, grown = list(beside(results)), list(numbers.growth_rows(results))
    rounds.save(path, "".join([
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f"<title>xpoll, measured</title><style>{STYLE}</style><h1>xpoll, measured</h1>"
        f"<p class=summary>{text(summary(results))}</p>"
        f"<p class=note>{text(machine)} · <code>{text(command)}</code></p><nav><ul>",
        *(f'<li><a href="#{anchor(title)}">{text(title)}</a>'
          for title in [*(part[0] for part in parts), *["Beside its rivals"] * bool(compared),
                        *["Growth"] * bool(grown)]),
        "</ul></nav><p class=note>Contenders take turns of a fraction of a second in one process; "
        "numbers are medians of the rounds. Where nothing waits, it is processor time that "
        "counts. Each contender has one colour on all pictures.</p>",
        f"<p class=note>Not here, so not measured: {text(', '.join(missing))}.</p>"
        if missing else "",
        *(section(results, *part) for part in parts),
        "<h2 id=beside-its-rivals>Beside its rivals</h2><p>Our default back end, or the drop-in, "
        "with the ratios to its rivals: more is better. System calls and instructions, which do "
        "not vary, are ours / by hand; instructions are those outside of the kernel.</p>"
        + table(BESIDE, compared) if compared else "",
        "<h2 id=growth>Growth</h2><p>What an operation takes as their number grows: the slope of "
        "its logarithm over that of n. 0 is constant, 1 in proportion to n.</p>"
        + table(numbers.HEAD, grown) if grown else "", "</html>\n"]))
