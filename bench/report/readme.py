"""The README's numbers: its table of the loop test, and the plots it shows."""

import os
import re
import shutil

VARIANTS = ["xpoll-epoll", "xpoll-poll", "xpoll-select", "raw-epoll", "raw-poll", "raw-select",
            "libev", "libevent", "libuv", "limit"]
SIZES = [8, 1000, 9000]
PLOTS = ["looptest", "drop-in"]
TABLE = re.compile(r"(<!-- looptest -->\n).*?(<!-- /looptest -->)", re.S)


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
    lines = ["| " + " | ".join(cells) + " |\n"
             for cells in [heads, *(row(results, variant) for variant in VARIANTS)]]
    lines.insert(1, "|---|" + "--:|" * (len(heads) - 1) + "\n")
    return "".join(lines)


def update(results, plots, root):
    """Put the table into README.md, and the plots into docs/images."""
    missing = [n for n in SIZES if not results.get(f"looptest-{n}")]
    if missing:
        raise SystemExit("bench: no results of looptest with n = " +
                         ", ".join(str(n) for n in missing))
    path = os.path.join(root, "README.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = TABLE.sub(lambda found: found.group(1) + table(results) + found.group(2), text)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    images = os.path.join(root, "docs/images")
    os.makedirs(images, exist_ok=True)
    for name in PLOTS:
        shutil.copy(os.path.join(plots, name + ".svg"), images)
