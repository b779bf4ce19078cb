"""The READMEs' numbers: the table of the loop test and its plots, and those of Java."""

import os
import re
import shutil

VARIANTS = ["xpoll-epoll", "xpoll-poll", "xpoll-select", "raw-epoll", "four-calls", "raw-poll",
            "raw-select", "libev", "libevent", "libuv", "xpoll-rust", "mio", "polling", "limit"]
SIZES = [8, 1000, 9000]
PLOTS = ["looptest", "drop-in"]


def cell(value, form, missing=""):
    return missing if value is None else format(value, form)


def ratio(value):
    return cell(value, ".4f" if value is not None and value < 0.1 else ".2f", "-")


def row(results, variant):
    name = f"{variant} (default)" if variant == "xpoll-epoll" else variant
    cells = [name]
    for n in SIZES:
        report = f"looptest-{n}"
        cells.append(cell(results.number(report, variant, "ns_per_"), ",.0f", "-"))
        if n == SIZES[0]:
            cells.append(cell(results.number(report, variant, "syscalls_per_"), ".2f", "-"))
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


def costs_lines(results):
    """The README's tables: the lines, cells and all."""
    names = {"look_nothing": "a wait that finds nothing, ns",
             "look_ready": "a wait that finds one descriptor, ns",
             "disable_enable": "disable and enable, ns"}
    return [("", "C", "from Java"),
            *((names[row["call"]], cell(row.get("c"), ",.0f"), cell(row.get("java"), ",.0f"))
              for row in results.rows("java-costs") if row["call"] in names)]


def looptest_lines(results):
    names = {"xpoll-oneshot": "Poller, one-shot", "xpoll-descriptors": "Poller, descriptors",
             "xpoll-channels": "Poller, channels",
             "nio-selectedKeys": "Selector, selectedKeys", "nio-consumer": "Selector, consumer"}
    found = {(row["variant"], row["pipes"]): row for row in results.rows("java-looptest")}
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
    found = {(row["server"], row["connections"]): row for row in results.rows("java-servers")}
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
        lines.append([*line, cell(most and most["rss_kb"] / 1024, ".0f"),
                      cell(most.get("threads"), ",.0f")])
    return lines


LINES = {"java-costs": costs_lines, "java-looptest": looptest_lines,
         "java-servers": servers_lines}


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
