"""The READMEs' numbers: the table of the loop test and its plots, and those of Java."""

import os
import re
import shutil

VARIANTS = ["xpoll-epoll", "xpoll-poll", "xpoll-select", "raw-epoll", "four-calls", "raw-poll",
            "libevent", "libuv", "xpoll-rust", "mio", "polling", "limit"]
SIZES = [8, 1000, 9000]
PLOTS = ["looptest", "drop-in"]


# What Java's README calls its variants and calls.
LOOPS = {"xpoll-oneshot": "Poller, one-shot", "xpoll-descriptors": "Poller, descriptors",
         "xpoll-channels": "Poller, channels", "nio-selectedKeys": "Selector, selectedKeys",
         "nio-consumer": "Selector, consumer"}
CALLS = {"look_nothing": "a wait that finds nothing, ns",
         "look_ready": "a wait that finds one descriptor, ns",
         "disable_enable": "disable and enable, ns"}


def cell(value, form, missing=""):
    return missing if value is None else format(value, form)


def ratio(value):
    return cell(value, ".4f" if value is not None and value < 0.1 else ".2f", "-")


def markdown(rows):
    lines = ["| " + " | ".join(cells) + " |\n" for cells in rows]
    lines.insert(1, "|---|" + "--:|" * (len(rows[0]) - 1) + "\n")
    return "".join(lines)


def table(results):
    rows = [["variant"], *([f"{name} (default)" if name == "xpoll-epoll" else name]
                           for name in VARIANTS)]
    for n in SIZES:
        def get(variant, field, name=f"looptest-{n}"):
            return results.number(name, variant, field)

        columns = {f"n = {n}: ns/read": lambda v: cell(get(v, "ns_per_"), ",.0f", "-")}
        if n == SIZES[0]:
            columns["calls/read"] = lambda v: cell(get(v, "syscalls_per_"), ".2f", "-")
        columns["x raw-epoll"] = lambda v: ratio(get(v, "ratio_raw_epoll"))
        for head, column in columns.items():
            for row, value in zip(rows, [head, *map(column, VARIANTS)]):
                row.append(value)
    return markdown(rows)


def costs_lines(results):
    """The README's tables: the lines, cells and all."""
    return [("", "C", "from Java"),
            *((CALLS[row["call"]], cell(row.get("c"), ",.0f"), cell(row.get("java"), ",.0f"))
              for row in results.rows("java-costs") if row["call"] in CALLS)]


def sized_lines(results, report, kind, size_key, names, head, cells):
    """A line for each kind, with these cells for each size."""
    found = {(row[kind], row[size_key]): row for row in results.rows(report)}
    sizes = sorted({size for _, size in found})
    kinds = names or {name: name for name, _ in found}
    return sizes, found, [
        ["", *(text for size in sizes for text in head(size))],
        *([name, *(text for size in sizes for text in cells(found.get((key, size), {})))]
          for key, name in kinds.items())]


def looptest_lines(results):
    return sized_lines(
        results, "java-looptest", "variant", "pipes", LOOPS,
        lambda size: [f"n = {size:.0f}: ns", "x Selector", "garbage, bytes"],
        lambda row: [cell(row.get("cpu_ns_per_read"), ",.0f"), cell(row.get("ratio"), ".2f"),
                     cell(row.get("bytes_per_read"), ".0f")])[2]


def servers_lines(results):
    sizes, found, lines = sized_lines(
        results, "java-servers", "server", "connections", None,
        lambda size: [f"{size:,}: CPU s", "us/event", "in 1999, s"],
        lambda row: [cell(row.get("cpu_ms") and row["cpu_ms"] / 1e3, ".2f"),
                     cell(row.get("cpu_us_per_event"), ".1f"), cell(row.get("in_1999_s"), "d")])
    lines[0] += ["MB", "threads"]
    for line in lines[1:]:
        most = found.get((line[0], sizes[-1]), {})
        line += [cell(most and most["rss_kb"] / 1024, ".0f"), cell(most.get("threads"), ",.0f")]
    return lines


LINES = {"java-costs": costs_lines, "java-looptest": looptest_lines,
         "java-servers": servers_lines}


def put(path, tables):
    """Each between its marks, <!-- name --> and <!-- /name -->."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name, lines in tables.items():
        marks = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
        if not marks.search(text):
            raise SystemExit(f"bench: {path} has no place for {name}")
        text = marks.sub(lambda found, lines=lines: found.group(1) + lines + found.group(2), text)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def update_java(results, root):
    """Put what was measured into java/README.md."""
    tables = {name: markdown(lines(results)) for name, lines in LINES.items()
              if results.rows(name)}
    if not tables:
        raise SystemExit("bench: no results of ./dev bench java")
    put(os.path.join(root, "java/README.md"), tables)


def update(results, plots, root):
    """Put the table into README.md, and the plots into docs/images."""
    missing = [n for n in SIZES if not results.get(f"looptest-{n}")]
    if missing:
        raise SystemExit("bench: no results of looptest with n = " +
                         ", ".join(str(n) for n in missing))
    put(os.path.join(root, "README.md"), {"looptest": table(results)})
    images = os.path.join(root, "docs/images")
    os.makedirs(images, exist_ok=True)
    for name in PLOTS:
        shutil.copy(os.path.join(plots, name + ".svg"), images)
