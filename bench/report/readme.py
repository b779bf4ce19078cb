"""The READMEs' numbers: the table of looptest and its pictures, and those of Java."""

import os
import re

import rounds
import svg
from results import growth

VARIANTS = ["xpoll-epoll", "xpoll-poll", "xpoll-select", "raw-epoll", "four-calls", "raw-poll",
            "libevent", "libuv", "xpoll-rust", "mio", "polling", "limit"]
SIZES = [8, 1000, 9000]
# README has these rows, and the first and the last size.
IN_README = ["xpoll-epoll", "raw-epoll", "raw-poll", "libevent", "libuv", "xpoll-rust", "mio",
             "polling"]
# What Java's README calls its variants.
LOOPS = {"c": "from C", "xpoll-oneshot": "Poller, one-shot",
         "xpoll-descriptors": "Poller, descriptors", "xpoll-channels": "Poller, channels",
         "nio-selectedKeys": "Selector, selectedKeys", "nio-consumer": "Selector, consumer"}


def cell(value, form, missing=""):
    return missing if value is None else format(value, form)


def ratio(value):
    return cell(value, ".4f" if value is not None and value < 0.1 else ".2f", "-")


def markdown(rows):
    lines = ["| " + " | ".join(cells) + " |\n" for cells in rows]
    lines.insert(1, "|---|" + "--:|" * (len(rows[0]) - 1) + "\n")
    return "".join(lines)


def looptest(results, variants, sizes):
    rows = [["variant"], *([f"{name} (default)" if name == "xpoll-epoll" else name]
                           for name in variants)]
    for n in sizes:
        def get(variant, field, name=f"looptest-{n}"):
            return results.number(name, variant, field)

        columns = {f"n = {n}: ns/read": lambda v: cell(get(v, "ns_per_"), ",.0f", "-")}
        if n == sizes[0]:
            columns["calls/read"] = lambda v: cell(get(v, "syscalls_per_"), ".2f", "-")
        columns["x raw-epoll"] = lambda v: ratio(get(v, "ratio_raw_epoll"))
        for head, column in columns.items():
            for row, value in zip(rows, [head, *map(column, variants)]):
                row.append(value)
    return markdown(rows)


def by_size(rows, kind, size, names, columns):
    """A line for each kind, and these columns, name -> text of a row, for each size."""
    found = {(row[kind], row[size]): row for row in rows}
    sizes = sorted({n for _, n in found})
    kinds = names or {name: name for name, _ in found}
    heads = [f"{n:,.0f} {size}: {head}" if head == next(iter(columns)) else head
             for n in sizes for head in columns]
    return markdown([["", *heads], *(
        [name, *(column(found.get((key, n), {})) for n in sizes for column in columns.values())]
        for key, name in kinds.items() if any((key, n) in found for n in sizes))])


def java_looptest(rows):
    return by_size(rows, "variant", "pipes", LOOPS, {
        "ns": lambda row: cell(row.get("cpu_ns_per_read"), ",.0f"),
        "x Selector": lambda row: cell(row.get("ratio"), ".2f"),
        "garbage, bytes": lambda row: cell(row.get("bytes_per_read"), ".0f")})


def java_servers(rows):
    return by_size(rows, "server", "connections", None, {
        "CPU s": lambda row: cell(row.get("cpu_ms") and row["cpu_ms"] / 1e3, ".2f"),
        "us/event": lambda row: cell(row.get("cpu_us_per_event"), ".1f"),
        "in 1999, s": lambda row: cell(row.get("in_1999_s"), "d"),
        "MB": lambda row: cell(row.get("rss_kb") and row["rss_kb"] / 1024, ".0f"),
        "threads": lambda row: cell(row.get("threads"), ",.0f")})


def put(path, tables):
    """Each between its marks, <!-- name --> and <!-- /name -->."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name, lines in tables.items():
        marks = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
        if not marks.search(text):
            raise SystemExit(f"bench: {path} has no place for {name}")
        text = marks.sub(lambda found, lines=lines: found.group(1) + lines + found.group(2), text)
    rounds.save(path, text)


def java_http(rows):
    head = f"{rows[0]['idle']:,} idle, {rows[0]['active']:,} active connections"
    return markdown([[head, "us/request", "least", "most"], *(
        [f"{row['selector']}'s selector", *(cell(row[key], ".1f")
                                          for key in ("us_per_request", "least", "most"))]
        for row in rows)])


def update_java(results, root):
    """Put what was measured into java/README.md."""
    tables = {name: lines(results.rows(name)) for name, lines in (
        ("java-looptest", java_looptest), ("java-servers", java_servers),
        ("java-http", java_http)) if results.rows(name)}
    if not tables:
        raise SystemExit("bench: no results of ./dev bench java")
    put(os.path.join(root, "java/README.md"), tables)


def update(results, root):
    """Put the table into measuring.md, a part of it into README.md, and the pictures into docs."""
    missing = [n for n in SIZES if not results.get(f"looptest-{n}")]
    if missing:
        raise SystemExit("bench: no results of looptest with n = " +
                         ", ".join(str(n) for n in missing))
    put(os.path.join(root, "README.md"),
        {"looptest": looptest(results, IN_README, [SIZES[0], SIZES[-1]])})
    put(os.path.join(root, "docs/internals/measuring.md"),
        {"looptest": looptest(results, VARIANTS, SIZES)})
    images = os.path.join(root, "docs/images")
    svg.save(os.path.join(images, "looptest.svg"), svg.bars(
        [(f"{n:,} pipes", results.rates(f"looptest-{n}")) for n in SIZES],
        "reads/s: more is better"))
    for (workload, _, what), lines in growth(results).items():
        if workload == "drop-in":
            svg.save(os.path.join(images, "drop-in.svg"), svg.lines(lines, "pipes", what))
