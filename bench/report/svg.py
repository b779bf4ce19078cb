"""Pictures as SVG: horizontal bars, and lines over logarithmic axes.

Text takes the colour of the page; a file of its own has those of a light and a dark one.
"""

import html
import math

import rounds

COLORS = {
    "xpoll-epoll": "#1a9850", "xpoll-poll": "#91cf60", "xpoll-select": "#c2e699",
    "xpoll-rust": "#5ab4ac", "drop-in": "#00b3b3", "kevent": "#00b3b3",
    "raw-epoll": "#3182bd", "four-calls": "#9ecae1", "raw-poll": "#de2d26",
    "libevent": "#b08968", "libuv": "#e6b800", "mio": "#8c564b", "polling": "#e377c2",
    "EpollSelector": "#3182bd", "PollSelector": "#de2d26", "KqueueSelector": "#00b3b3",
    "uvloop": "#e6b800",
    "by-hand": "#3182bd", "connector": "#3182bd", "io_uring": "#3182bd", "timerfd": "#3182bd",
}
OTHERS = "#969696"  # the limit, and who is named nowhere
STYLE = ("<style>svg{color:#24292f}@media(prefers-color-scheme:dark){svg{color:#d0d7de}}"
         "</style>")
DASHES = ("", "6 3", "2 3", "8 3 2 3")


def color(name):
    """Whose line this is: "drop-in: 10" is drop-in's."""
    return COLORS.get(name.split(":")[0], OTHERS)


def short(value):
    if value >= 1e4:
        return f"{value / 1e6:.3g} M" if value >= 1e6 else f"{value / 1e3:.3g} k"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def word(x, y, text, more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" {more}>{html.escape(text)}</text>'


def picture(parts, width, height):
    """What makes a page's picture of them."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif" font-size="12" '
            f'fill="currentColor">{"".join(parts)}</svg>')


def bars(panels, label):
    """Panels side by side, each of a title and {name: value}: the first on top."""
    parts, high = [], 0
    for number, (title, values) in enumerate(panels):
        left, most = 390 * number + 150, max(values.values())
        parts.append(word(left, 16, title, 'font-weight="bold"'))
        for row, (name, value) in enumerate(values.items()):
            y, width = 28 + 20 * row, 170 * value / most
            parts += [word(left - 6, y + 12, name, 'text-anchor="end"'),
                      f'<rect x="{left}" y="{y}" width="{width:.1f}" height="15" '
                      f'fill="{color(name)}"/>',
                      word(left + width + 4, y + 12, short(value))]
        parts.append(word(left, 46 + 20 * len(values), label))
        high = max(high, 54 + 20 * len(values))
    return picture(parts, 390 * len(panels), high)


def decades(values):
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def lines(found, xlabel, ylabel):
    """{name: [(x, y)]}; both axes are logarithmic."""
    (x_low, x_high), (y_low, y_high) = (
        decades([point[axis] for points in found.values() for point in points])
        for axis in (0, 1))

    def at(x, y):
        return (60 + 360 * (math.log10(x) - x_low) / (x_high - x_low),
                260 - 230 * (math.log10(y) - y_low) / (y_high - y_low))

    parts = [word(8, 16, ylabel), word(240, 292, xlabel, 'text-anchor="middle"')]
    for axis, low, high in (0, x_low, x_high), (1, y_low, y_high):
        for power in range(low, high + 1):
            ends = [(10.0 ** power, 10.0 ** end) for end in (y_low, y_high)] if axis == 0 else [
                (10.0 ** end, 10.0 ** power) for end in (x_low, x_high)]
            (x1, y1), (x2, y2) = (at(*end) for end in ends)
            parts += [f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="currentColor" '
                      'opacity=".2"/>',
                      word(x1, y1 + 15, short(10.0 ** power), 'text-anchor="middle"') if axis == 0
                      else word(x1 - 4, y1 + 4, short(10.0 ** power), 'text-anchor="end"')]
    for number, (name, points) in enumerate(found.items()):
        shown = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in points))
        dash = DASHES[[color(other) for other in found][:number].count(color(name)) % 4]
        x, y = 60 + 190 * (number % 2), 316 + 18 * (number // 2)
        look = f'fill="none" stroke="{color(name)}" stroke-width="2" stroke-dasharray="{dash}"'
        parts += [f'<polyline points="{shown}" {look}/>',
                  f'<path d="M{x - 24} {y - 4}h20" {look}/>', word(x, y, name)]
    return picture(parts, 440, 324 + 18 * ((len(found) + 1) // 2))


def save(path, text):
    """As a file of its own."""
    rounds.save(path, text.replace('">', '">' + STYLE, 1) + "\n")
