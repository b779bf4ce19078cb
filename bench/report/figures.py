"""The pictures: small panels, one colour for each contender.

Each is an SVG of its own, whose text takes the colour of a light or a dark page by itself.
"""

import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from page import OWN_PICTURES, README_TABLES  # noqa: E402
from results import growth  # noqa: E402

COLORS = {
    "xpoll-epoll": "#1a9850", "xpoll-poll": "#91cf60", "xpoll-select": "#c2e699",
    "xpoll-rust": "#5ab4ac", "drop-in": "#00b3b3", "kevent": "#00b3b3",
    "raw-epoll": "#3182bd", "four-calls": "#9ecae1", "raw-poll": "#de2d26",
    "raw-select": "#fc9272", "ideal": "#b9a3d0", "limit": "#969696",
    "libev": "#8856a7", "libevent": "#b08968", "libuv": "#e6b800", "mio": "#8c564b",
    "polling": "#e377c2", "nio": "#d95f0e", "kqueue": "#4a5fc1",
    "a thread each": "#b08968", "a virtual thread each": "#e6b800",
}
# What the sources call theirs, and servers by the way they wait.
SAME = {"epoll": "raw-epoll", "poll": "raw-poll", "select": "raw-select",
        "poll+drop-in": "drop-in", "xpoll": "xpoll-epoll",
        "uvloop": "libuv", "by-hand": "raw-epoll", "connector": "raw-epoll",
        "io_uring": "raw-epoll", "timerfd": "raw-epoll", "pread": "limit", "nobody": "limit"}
SERVERS = ("nginx", "haproxy", "lighttpd", "asyncio")
INK = "#012345"  # stands for the colour of the page's text
STYLE = ("<style>svg{color:#24292f}@media(prefers-color-scheme:dark){svg{color:#d0d7de}}"
         "</style>")
plt.rcParams.update({
    "font.size": 10, "axes.grid": True, "grid.alpha": 0.25, "axes.spines.top": False,
    "axes.spines.right": False, "legend.frameon": False, "legend.fontsize": 8,
    "figure.constrained_layout.use": True, "svg.fonttype": "none", "svg.hashsalt": "xpoll",
    "axes.titlesize": 10, "axes.axisbelow": True, "savefig.transparent": True, "grid.color": INK,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor",
                     "xtick.color", "ytick.color"), INK),
})


def contender(line):
    """Whose line this is: "xpoll-epoll: add" is xpoll-epoll's."""
    if line.startswith(("Poller", "xpoll-oneshot", "xpoll-descriptors", "xpoll-channels")):
        return "xpoll-epoll"  # as Java calls it
    if line.startswith(("java.nio", "nio-")):
        return "nio"
    name = line.split(":")[0].split(",")[0]
    if name.startswith("hello-"):
        name = "xpoll-" + name.split("-")[1]
    elif name.startswith(SERVERS):
        name = name.partition("-")[2]
    return SAME.get(name, name)


def color(line):
    return COLORS.get(contender(line), "#969696")


def short(value):
    if value >= 1e4:
        return f"{value / 1e6:.3g} M" if value >= 1e6 else f"{value / 1e3:.3g} k"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def draw_bars(axes, bars, title, xlabel):
    """Horizontal, linear, the first on top, each with its number."""
    names, values = list(bars), list(bars.values())
    drawn = axes.barh(range(len(bars)), values, color=[color(name) for name in names])
    axes.bar_label(drawn, [short(value) for value in values], padding=3, fontsize=8)
    axes.set_yticks(range(len(bars)), names)
    axes.invert_yaxis()
    axes.margins(x=0.14)
    axes.grid(axis="y", visible=False)
    axes.xaxis.set_major_locator(plt.MaxNLocator(4))
    axes.xaxis.set_major_formatter(lambda value, _: short(value) if value else "0")
    axes.set(title=title, xlabel=xlabel)


def draw_lines(axes, lines, **labels):
    """Lines of one contender differ in their dashes and marks."""
    seen = {}
    for name, points in lines.items():
        nth = seen[contender(name)] = seen.get(contender(name), -1) + 1
        axes.plot(*zip(*points), label=name, color=color(name), markersize=3.5,
                  linestyle=("-", "--", ":", "-.", (0, (1, 3)))[nth % 5],
                  marker="osD^v"[nth % 5] if len(points) < 11 else None)
    axes.set(**labels)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncol=2)


class Plotter:
    """Writes NAME.svg into a folder; remembers which there are."""

    def __init__(self, results, folder):
        self.results, self.folder, self.made = results, folder, []

    def save(self, name, draw, size=(4.8, 3.6), panels=1):
        figure, axes = plt.subplots(1, panels, figsize=size, squeeze=False)
        draw(*axes[0])
        path = os.path.join(self.folder, f"{name}.svg")
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
        with open(path, encoding="utf-8") as file:
            text = file.read().replace(INK, "currentColor")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("<defs>", STYLE + "<defs>", 1))
        self.made.append(name)

    def bars(self, name, bars, title, xlabel):
        bars = {key: value for key, value in bars.items() if value}
        if bars:
            self.save(name, lambda axes: draw_bars(axes, bars, title, xlabel),
                      (4.8, 1.1 + 0.24 * len(bars)))

    def lines(self, name, lines, **labels):
        lines = {key: points for key, points in lines.items() if points}
        if lines:
            height = 3.1 + 0.19 * ((len(lines) + 1) // 2)
            self.save(name, lambda axes: draw_lines(axes, lines, **labels), (4.8, height))

    def figure(self, name, lines, **labels):
        self.lines(name, lines, ylim=(0, None), **labels)

    # --- each picture -------------------------------------------------------------

    def looptest(self):
        sizes = self.results.sizes("looptest")
        found = [(n, self.results.rates(f"looptest-{n}")) for n in sizes]
        for n, bars in found:
            self.bars(f"looptest-{n}", bars, f"n = {n:,} pipes", "reads/s: more is better")
        if found:
            def draw(*panels):
                for axes, (n, bars) in zip(panels, found):
                    draw_bars(axes, bars, f"{n:,} pipes", "reads/s: more is better")
            self.save("looptest", draw, (3.6 * len(found), 3.9), len(found))
        for system, table in README_TABLES.items():
            self.bars("readme-" + system.split(",")[0].split(":")[0].lower().replace(" ", "-"),
                      {f"{name}, n = {n}": rate / 2 for name, rates in table.items()
                       for n, rate in rates.items()}, system, "reads/s")

    def drop_in(self):
        get = self.results.series
        self.lines("drop-in", {
            variant: get("drop-in", variant, lambda ns, _: ns / 100)
            for variant in ("raw-poll", "drop-in", "ideal", "raw-epoll", "limit")},
            xscale="log", yscale="log", xlabel="pipes, 10 of them active",
            ylabel="µs for a round of 10 reads")

    def paper(self):
        def total(ns, n):
            return ns * n / 1000

        def call(ns, _):
            return ns / 1000

        def costs(variant, value, phase):
            return self.results.series("costs", variant, value, phase)

        self.figure("figure-10", {
            "xpoll-epoll: register all": costs("xpoll-epoll", total, "add"),
            "xpoll-epoll: one call, registered": costs("xpoll-epoll", call, "wait, none"),
            "raw-epoll: register all": costs("raw-epoll", total, "add"),
            "raw-poll: one call": costs("raw-poll", call, "wait, none"),
            "raw-select: one call": costs("raw-select", call, "wait, none"),
        }, xlabel="sockets", ylabel="µs")
        self.figure("figure-11", {
            variant: costs(variant, call, "wait, all")
            for variant in ("xpoll-epoll", "raw-epoll", "raw-poll", "raw-select")
        }, xlabel="sockets", ylabel="µs until all are returned")
        self.figure("figure-12", self.accumulated(), xlabel="times a socket is checked",
                    ylabel="µs for each of 100 sockets")
        self.figure("figure-13", {
            f"{variant}: {phase}": costs(variant, total, phase)
            for variant, phases in (("xpoll-epoll", ("add", "delete", "enable", "disable")),
                                    ("raw-epoll", ("add", "delete", "enable")))
            for phase in phases}, xlabel="sockets", ylabel="µs for all")

    def accumulated(self):
        def each(variant, phase, sockets=1):
            ns = self.results.number("costs-100", variant, "ns_per_", phase)
            return None if ns is None else ns / 1000 / sockets

        times, lines = range(0, 21, 2), {}
        poll = each("raw-poll", "wait, none", 100)
        if poll is not None:
            lines["raw-poll"] = [(x, poll * x) for x in times]
        for variant in "raw-epoll", "xpoll-epoll":
            for phase, what in ("wait, all", "always active"), ("wait, none", "never active"):
                add, wait = each(variant, "add"), each(variant, phase, 100)
                if add is not None and wait is not None:
                    lines[f"{variant}, {what}"] = [(x, add + wait * x) for x in times]
        return lines

    def web(self):
        wanted = ("hello-epoll-level", "hello-poll-level", "hello-select-level", "nginx-epoll",
                  "nginx-poll", "nginx-poll+drop-in")

        def of(key, value=lambda y: y):
            found = self.results.servers(key)
            return {name: [(x, value(y)) for x, y in found[name]]
                    for name in wanted if name in found}

        idle = "idle connections"
        self.figure("figure-14", of("kernel_us"), xlabel=idle, ylabel="kernel CPU µs a request")
        self.figure("figure-15", of("busy_percent", lambda y: 100 - y), xlabel=idle,
                    ylabel="% idle at 500 requests/s")
        self.figure("figure-16", of("reply_ms"), xlabel=idle, ylabel="ms to reply, 500 requests/s")
        self.lines("web", of("requests_per_second"), ylim=(0, None), xlabel=idle,
                   ylabel="requests/s: more is better")
        most = {}
        for name, points in self.results.servers("request_us").items():
            server, _, method = name.partition("-")
            if server in SERVERS:
                idle, microseconds = max(points)
                most.setdefault((server, idle), {})[method] = microseconds
        for number, ((server, idle), bars) in enumerate(most.items()):
            self.bars(f"web-{number}", bars, f"{server}, {idle:,} idle connections",
                      "CPU µs a request: less is better")

    def article(self):
        self.figure("zombies", {
            variant: [((n - 10) / 10, y) for n, y in self.results.series(
                "idle", variant, lambda ns, _: ns * 40000 / 1e9)]
            for variant in ("xpoll-epoll", "xpoll-poll", "raw-epoll", "raw-poll", "raw-select",
                            "libev", "libevent", "libuv")},
            xlabel="idle : active", ylabel="s for 40,000 reads")

    def java(self):
        for row_of, name, key, label in (
                (lambda row: f"n = {row['pipes']:,.0f}", "java-looptest", "reads_per_s",
                 "reads/s: more is better"),
                (lambda row: f"{row['connections']:,} connections", "java-servers", "cpu_ms",
                 "ms of CPU: less is better")):
            panels = {}
            for row in (self.results.get(name) or {}).get("results", []):
                panels.setdefault(row_of(row), {})[row.get("variant") or row["server"]] = row[key]
            for number, (title, bars) in enumerate(panels.items()):
                self.bars(f"{name}-{number}", bars, title, label)

    def workloads(self):
        for workload in set(self.results.workloads()) - OWN_PICTURES:
            for n in self.results.sizes(workload):
                name = f"{workload}-{n}"
                for number, phase in enumerate(self.results.phases(name)):
                    self.bars(f"{name}-{number}", self.results.rates(name, phase),
                              phase or f"n = {n:,}", "per second: more is better")
        for n in self.results.sizes("memory")[-1:]:
            self.bars(f"memory-{n}-0", {
                variant: self.results.number(f"memory-{n}", variant, "bytes_per_", "add")
                for variant in self.results.rates(f"memory-{n}")}, f"n = {n:,}",
                "bytes per descriptor: less is better")

    def growth(self):
        for name, (what, lines) in growth(self.results).items():
            self.lines(name, lines, title=name.replace("growth-", ""), xscale="log", yscale="log",
                       xlabel="n", ylabel=what)


def make_all(results, folder):
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))  # of an earlier run
    plotter = Plotter(results, folder)
    for part in (plotter.looptest, plotter.drop_in, plotter.paper, plotter.web, plotter.article,
                 plotter.java, plotter.workloads, plotter.growth):
        part()
    return plotter.made
