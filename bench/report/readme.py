"""The READMEs' numbers: the table of the loop test and its plots, and those of Java."""

import os
import re
import shutil

import java

VARIANTS = ["xpoll-epoll", "xpoll-poll", "xpoll-select", "raw-epoll", "four-calls", "raw-poll",
            "raw-select", "libev", "libevent", "libuv", "xpoll-rust", "mio", "polling", "limit"]
SIZES = [8, 1000, 9000]
PLOTS = ["looptest", "drop-in"]


def number(value, form):
    return "-" if value is None else format(value, form)


def ratio(value):
    return number(value, ".4f" if value is not None and value < 0.1 else ".2f")


def row(results, variant):
    name = f"{variant} (default)" if variant == "xpoll-epoll" else variant
    cells = [name]
    for n in SIZES:
        report = f"looptest-{n}"
        cells.append(number(results.number(report, variant, "ns_per_"), ",.0f"))
        if n == SIZES[0]:
            cells.append(number(results.number(report, variant, "syscalls_per_"), ".2f"))
        cells.append(ratio(results.number(report, variant, "ratio_raw_epoll")))
    return cells


def table(results):
    heads = ["variant"]
    for n in SIZES:
        heads.append(f"n = {n}: ns/read")
        if n == SIZES[0]:
            heads.append("calls/read")
        heads.append("x raw-epoll")
    return markdown([heads, *(row(results, variant) for variant in VARIANTS)])


def markdown(rows):
    lines = ["| " + " | ".join(cells) + " |\n" for cells in rows]
    lines.insert(1, "|---|" + "--:|" * (len(rows[0]) - 1) + "\n")
    return "".join(lines)


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
    tables = {name: markdown(lines(results)) for name, lines in java.LINES.items()
              if java.rows(results, name)}
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
