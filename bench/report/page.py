"""One self-contained HTML page of all that was measured."""

import base64
import html
import os

import java
import sources
import targets

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1180px; margin: 2em auto; padding: 0 1em;
       color: #222; background: #fff; }
h1, h2, h3 { line-height: 1.25; } h2 { margin-top: 2.2em; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; margin: .8em 0; font-size: 14px; }
th, td { padding: .2em .7em; border-bottom: 1px solid #ddd; text-align: right;
         white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } th { background: #f4f4f4; }
img { max-width: 100%; height: auto; display: block; margin: .6em 0; }
code { background: #f4f4f4; padding: .1em .3em; } .scroll { overflow-x: auto; }
.good { color: #0b6e4f; } .bad { color: #b3261e; font-weight: 600; } .note { color: #555; }
"""
FIGURES = [
    ("figure-10", "xpoll bench costs"), ("figure-11", "xpoll bench costs"),
    ("figure-12", "xpoll bench costs -n 100"), ("figure-13", "xpoll bench costs"),
    ("figure-14", "bench/http.py"), ("figure-15", "bench/http.py"),
    ("figure-16", "bench/http.py"), ("zombies", "xpoll bench idle"),
]
MORE = ["active", "edge", "dispatch", "threads", "wake", "churn", "memory", "timers",
        "kqueue", "kqueue-change"]


def text(value):
    return html.escape(str(value))


def number(value):
    if value is None:
        return "–"
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return text(value)
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"


def table(head, rows):
    parts = ["<div class=scroll><table><tr>", *(f"<th>{text(cell)}" for cell in head)]
    for row in rows:
        parts += ["<tr>", *(f"<td>{cell}" for cell in row)]
    return "".join(parts) + "</table></div>\n"


def image(folder, name):
    path = os.path.join(folder, name + ".svg")
    if not os.path.exists(path):
        return "<p class=note>Not measured here.</p>\n"
    with open(path, "rb") as file:
        data = base64.b64encode(file.read()).decode("ascii")
    return f'<img alt="{text(name)}" src="data:image/svg+xml;base64,{data}">\n'


def report_table(report):
    """All numbers of one JSON report about variants or rows."""
    results = report.get("results") or []
    keys = [key for key in results[0] if not isinstance(results[0][key], (dict, list))] \
        if results else []
    return table(keys, [[number(row.get(key)) for key in keys] for row in results])


def target_table(results):
    rows = []
    for row in targets.rows(results):
        mark = "<span class=good>met</span>" if row.good else "<span class=bad>missed</span>"
        rows.append((text(row.workload), text(row.target), text(row.value), mark))
    return table(("workload", "target", "measured", ""), rows)


def readme(results, plots):
    parts = ["<h2>The READMEs of the original xpoll</h2>",
             "<p>looptest: one token goes round n pipes. What the READMEs call reads/sec counts "
             "iterations, two for each read; here it is halved. The READMEs' machines are others: "
             "compare shapes, not heights.</p>", image(plots, "readme"), image(plots, "looptest")]
    rows = [(text(title), name, *(number(rates[n] / 2) for n in (8, 1000)))
            for title, by_name in sources.README_TABLES.items() for name, rates in by_name.items()]
    parts.append(table(("README", "", "n = 8: reads/s", "n = 1000: reads/s"), rows))
    sizes = results.sizes("looptest")
    if sizes:
        rows = []
        for variant in results.variants(f"looptest-{sizes[0]}"):
            row = [variant]
            for n in sizes:
                name = f"looptest-{n}"
                row += [number(results.number(name, variant, key)) for key in
                        ("reads_per_second", "ratio_raw_epoll", "ratio_raw_poll", "ratio_limit")]
            rows.append(row)
        head = ["measured here"]
        for n in sizes:
            head += [f"n = {n}: reads/s", "× epoll", "× poll", "× limit"]
        parts.append(table(head, rows))
    parts.append("<p>Again: <code>xpoll bench looptest -n 8</code></p>")
    return "".join(parts)


def figures(plots):
    parts = []
    for name, command in FIGURES:
        title, _, _, _, says = sources.SKETCHES[name]
        heading = title if name == "zombies" else f"The kqueue paper, {title}"
        parts.append(f"<h2>{text(heading)}</h2><p>{text(says)}</p>{image(plots, name)}"
                     f"<p>Again: <code>{text(command)}</code></p>\n")
    return "".join(parts)


def more(results, plots):
    parts = ["<h2>Web servers</h2><p>10 active connections under wrk, and a fixed 500 pages a "
             "second from httperf. Servers and load share this machine.</p>", image(plots, "web")]
    if results.get("http"):
        parts.append(report_table(results.get("http")))
    parts.append("<p>Again: <code>bench/http.py</code></p>")
    parts.append("<h2>The poll(2) drop-in</h2>" + image(plots, "drop-in"))
    for workload in MORE:
        for n in results.sizes(workload):
            name = f"{workload}-{n}"
            parts.append(f"<h2>{workload}</h2>{image(plots, name)}{report_table(results.get(name))}"
                         f"<p>Again: <code>xpoll bench {workload} -n {n}</code></p>")
    return "".join(parts)


def of_java(results):
    parts = ["<h2>Java: the Poller package's README</h2><p>Seconds for all connections, on a PC of "
             "1999 with Solaris 7.</p>", table(*sources.JAVA_TABLE)]
    for name, head in java.HEADS.items():
        found = java.rows(results, name)
        if found:
            parts += [f"<h2>{text(java.TITLES[name])}</h2>",
                      f"<p>{text(java.said(results.get(name)))}</p>",
                      table([title for _, title in head],
                            [[number(row.get(key)) for key, _ in head] for row in found])]
    return "".join([*parts, "<p>Again: <code>./dev bench java</code></p>"])


def others(results):
    """Reports of other commands, when their numbers are there."""
    parts = [of_java(results)]
    workloads = ("looptest", "idle", "costs", "drop-in", *MORE)
    known = ("http", *java.HEADS, *(f"{w}-{n}" for w in workloads for n in results.sizes(w)))
    for name in sorted(set(results.reports) - set(known)):
        report = results.get(name)
        if isinstance(report, dict) and report.get("results"):
            parts.append(f"<h2>{text(name)}</h2>{report_table(report)}")
    return "".join(parts)


def missing(results):
    names = sorted({name for report in results.reports.values() if isinstance(report, dict)
                    for name in report.get("missing", [])})
    return f"<p>Not here, so not measured: {text(', '.join(names))}.</p>" if names else ""


def write(results, plots, path, command, machine):
    described = "".join(f"<tr><td>{text(key)}<td>{text(value)}" for key, value in machine.items())
    parts = ["<!doctype html><html lang=en><meta charset=utf-8><title>xpoll, measured</title>"
             f"<style>{STYLE}</style><h1>xpoll, measured</h1>",
             "<p>Variants take turns of a fraction of a second in one process; numbers are "
             "medians of the rounds, ratios medians of the rounds' ratios. Where nothing waits, "
             "it is processor time that counts.</p>",
             f"<table>{described}<tr><td>the command<td><code>{text(command)}</code></table>",
             missing(results), "<h2>The targets</h2>", target_table(results),
             readme(results, plots), figures(plots), more(results, plots), others(results),
             "</html>\n"]
    part = f"{path}.{os.getpid()}.part"
    with open(part, "w", encoding="utf-8") as file:
        file.write("".join(parts))
    os.replace(part, path)
