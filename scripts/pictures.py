#!/usr/bin/env python3
"""Draw docs/images/*.svg from docs/images/*.txt; --check: fail if one is out of date.

Lines of a text:

    # comment
    NAME COLUMN ROW TEXT            a box; "|" begins a new line in it
    NAME -> NAME [TEXT]             an arrow: straight, or sideways first and with one bend
    NAME => NAME [TEXT]             an arrow: up or down first, then sideways
    NAME <-> NAME [TEXT]            an arrow with two heads
"""
import argparse
import html
import re
import sys
from pathlib import Path

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
COLUMN, ROW, WIDTH, HEIGHT, MARGIN = 290, 90, 200, 52, 10
STYLE = ("svg{color:#24292f}@media(prefers-color-scheme:dark){svg{color:#d0d7de}}"
         "text{font:12px sans-serif;fill:currentColor;text-anchor:middle}"
         "rect,path{fill:none;stroke:currentColor}.label{font-size:11px}")


class Box:
    def __init__(self, column, row, text):
        self.x, self.y = MARGIN + column * COLUMN, MARGIN + row * ROW
        self.lines = text.split("|")

    @property
    def centre(self):
        return self.x + WIDTH / 2, self.y + HEIGHT / 2

    def svg(self):
        x, y = self.centre
        yield f'<rect x="{self.x:g}" y="{self.y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
        for i, line in enumerate(self.lines):
            at = y + 4 + 15 * (i - (len(self.lines) - 1) / 2)
            yield f'<text x="{x:g}" y="{at:g}">{html.escape(line.strip())}</text>'


def arrow(begin, kind, end, text):
    """Yield the path from one box to another, and its label."""
    (ax, ay), (bx, by) = begin.centre, end.centre
    right, down = (1 if bx > ax else -1), (1 if by > ay else -1)
    if ax == bx:
        points = [(ax, ay + down * HEIGHT / 2), (bx, by - down * HEIGHT / 2)]
    elif ay == by:
        points = [(ax + right * WIDTH / 2, ay), (bx - right * WIDTH / 2, by)]
    elif kind == "=>":
        points = [(ax, ay + down * HEIGHT / 2), (ax, by), (bx - right * WIDTH / 2, by)]
    else:
        points = [(ax + right * WIDTH / 2, ay), (bx, ay), (bx, by - down * HEIGHT / 2)]
    path = " L ".join(f"{x:g} {y:g}" for x, y in points)
    start = ' marker-start="url(#head)"' if kind == "<->" else ""
    yield f'<path d="M {path}" marker-end="url(#head)"{start}/>'
    if text:
        (x, y), (u, v) = points[-2:] if kind == "=>" else points[:2]
        anchor = "" if y == v else ' style="text-anchor:start"'
        x, y = ((x + u) / 2, y - 5) if y == v else (x + 5, (y + v) / 2 + 4)
        yield f'<text class="label" x="{x:g}" y="{y:g}"{anchor}>{html.escape(text)}</text>'


def draw(source):
    """Return the SVG for a text."""
    boxes, body = {}, []
    for line in source.splitlines():
        found = re.match(r"(\S+)\s+(->|=>|<->)\s+(\S+)\s*(.*)", line)
        if found:
            body += arrow(boxes[found[1]], found[2], boxes[found[3]], found[4])
        elif line.strip() and not line.startswith("#"):
            name, column, row, text = line.split(None, 3)
            boxes[name] = Box(float(column), float(row), text)
    for box in boxes.values():
        body += box.svg()
    width = max(box.x for box in boxes.values()) + WIDTH + MARGIN
    height = max(box.y for box in boxes.values()) + HEIGHT + MARGIN
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}">',
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto-start-reverse"><path d="M 0 0 L 8 4 L 0 8 z" '
        'style="fill:currentColor"/></marker></defs>', *body, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    check = parser.parse_args().check
    stale = []
    for source in sorted(IMAGES.glob("*.txt")):
        picture = source.with_suffix(".svg")
        svg = draw(source.read_text())
        if check and (not picture.exists() or picture.read_text() != svg):
            stale.append(picture.name)
        elif not check:
            picture.write_text(svg)
    if stale:
        sys.exit(f"out of date: {' '.join(stale)}; run scripts/pictures.py")


if __name__ == "__main__":
    main()
