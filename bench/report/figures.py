"""The figures: for each one of the sources its shape, and ours beside it."""

import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

import sources  # noqa: E402

COLORS = {
    "xpoll-epoll": "#0b6e4f", "xpoll-poll": "#7fb069", "xpoll-select": "#b5cf9a",
    "four-calls": "#4a7fb5", "raw-epoll": "#1d4e89", "raw-poll": "#c1292e", "raw-select": "#e57f84",
    "libev": "#8d6a9f", "libevent": "#b08968", "libuv": "#e6b800", "limit": "#555555",
    "drop-in": "#0b6e4f", "mio": "#8c564b", "polling": "#e377c2", "nio": "#17becf",
    "xpoll-rust": "#2ca02c",
    "kqueue": "#1d4e89", "epoll": "#1d4e89", "poll": "#c1292e", "select": "#c1292e",
}
MARKERS = "osD^v<>pXh*"
plt.rcParams.update({
    "font.size": 10, "axes.grid": True, "grid.alpha": 0.3, "axes.spines.top": False,
    "axes.spines.right": False, "legend.frameon": False, "legend.fontsize": 9,
    "figure.constrained_layout.use": True, "svg.fonttype": "none", "svg.hashsalt": "xpoll",
})


def color_of(name, index):
    if name.startswith("hello-") or name.startswith("nginx-"):
        name = ("xpoll-" if name.startswith("hello-") else "raw-") + name.split("-")[1]
    return COLORS.get(name, f"C{index % 10}")


class Plotter:
    """Writes NAME.svg and NAME.png; remembers what there is."""

    def __init__(self, results, folder):
        self.results, self.folder, self.made = results, folder, []

    def save(self, figure, name):
        for kind in "svg", "png":
            figure.savefig(os.path.join(self.folder, f"{name}.{kind}"), dpi=110,
                           metadata={"Date": None} if kind == "svg" else None)
        plt.close(figure)
        self.made.append(name)

    def beside_sketch(self, name, lines, ylabel, xlabel=None):
        """The source's shape on the left, our lines on the right."""
        lines = {key: points for key, points in lines.items() if points}
        if not lines:
            return
        title, sketch_x, sketch_y, sketch, _ = sources.SKETCHES[name]
        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), width_ratios=[2, 3])
        for i, (key, values) in enumerate(sketch.items()):
            left.plot(range(11), values, label=key, linewidth=2, linestyle=("-", "--", ":")[i % 3],
                      color=f"C{i}")
        left.set(title="the original (a sketch of its text)", xlabel=sketch_x, ylabel=sketch_y,
                 xticks=[], yticks=[], ylim=(0, None))
        left.legend(loc="upper left" if name != "figure-15" else "best")
        self.draw_lines(right, lines)
        right.set(title="measured here", xlabel=xlabel or sketch_x, ylabel=ylabel,
                  ylim=(0, None))
        figure.suptitle(title, fontweight="bold")
        self.save(figure, name)

    @staticmethod
    def draw_lines(axes, lines):
        for i, (key, points) in enumerate(lines.items()):
            axes.plot(*zip(*points), label=key, marker=MARKERS[i % len(MARKERS)], markersize=4,
                      color=color_of(key, i))
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))

    def bars(self, name, title, groups, ylabel, log=False):
        """groups: {group: {bar: value}}, a panel each."""
        groups = {key: {bar: value for bar, value in bars.items() if value}
                  for key, bars in groups.items()}
        groups = {key: bars for key, bars in groups.items() if bars}
        if not groups:
            return
        figure, panels = plt.subplots(1, len(groups), figsize=(max(4.2 * len(groups), 6), 4.4),
                                      squeeze=False, sharey=log,
                                      width_ratios=[len(bars) + 2 for bars in groups.values()])
        for axes, (key, bars) in zip(panels[0], groups.items()):
            axes.bar(range(len(bars)), list(bars.values()), width=0.75,
                     color=[color_of(bar, i) for i, bar in enumerate(bars)])
            axes.set_xticks(range(len(bars)), list(bars), rotation=60, ha="right")
            axes.set_title(key, fontsize=10)
            axes.grid(axis="x", visible=False)
            if log:
                axes.set_yscale("log")
        panels[0][0].set_ylabel(ylabel)
        figure.suptitle(title, fontweight="bold")
        self.save(figure, name)

    # --- each figure ------------------------------------------------------------

    def readme(self):
        groups = {}
        for title, table in sources.README_TABLES.items():
            groups[title.replace(": ", ":\n")] = {
                f"{name}, n={n}": rate / 2 for name, rates in table.items()
                for n, rate in rates.items()}
        self.bars("readme", "The READMEs of the original: reads per second "
                  "(its reads/sec count two for each)", groups, "reads/s", log=True)
        groups = {}
        for n in self.results.sizes("looptest"):
            name = f"looptest-{n}"
            groups[f"measured here, n = {n}"] = {
                variant: self.results.number(name, variant, "reads_per_second")
                for variant in self.results.variants(name)}
        self.bars("looptest", "looptest: reads per second", groups, "reads/s", log=True)

    def costs(self):
        def total(ns, n):
            return ns * n / 1000

        def call(ns, _):
            return ns / 1000

        get = self.results.series
        self.beside_sketch("figure-10", {
            "xpoll-epoll: register all": get("costs", "xpoll-epoll", total, "add"),
            "raw-epoll: register all": get("costs", "raw-epoll", total, "add"),
            "raw-poll: one call": get("costs", "raw-poll", call, "wait, none"),
            "raw-select: one call": get("costs", "raw-select", call, "wait, none"),
            "xpoll-epoll: one call, registered": get("costs", "xpoll-epoll", call, "wait, none"),
        }, "µs", xlabel="sockets")
        self.beside_sketch("figure-11", {
            variant: get("costs", variant, call, "wait, all")
            for variant in ("raw-poll", "raw-select", "xpoll-poll", "raw-epoll", "xpoll-epoll")
        }, "µs until all are returned", xlabel="sockets")
        self.beside_sketch("figure-13", {
            f"xpoll-epoll: {phase}": get("costs", "xpoll-epoll", total, phase)
            for phase in ("add", "delete", "1st disable", "disable", "enable")} | {
            f"raw-epoll: {phase}": get("costs", "raw-epoll", total, phase)
            for phase in ("add", "delete", "enable")}, "µs for all", xlabel="sockets")
        self.accumulated()

    def accumulated(self):
        def per_socket(variant, phase, wait):
            ns = self.results.number("costs-100", variant, "ns_per_", phase)
            return None if ns is None else ns / 1000 / (100 if wait else 1)

        times, lines = range(0, 21, 2), {}
        poll = per_socket("raw-poll", "wait, none", True)
        if poll is not None:
            lines["raw-poll"] = [(x, poll * x) for x in times]
        for phase, what in ("wait, all", "always active"), ("wait, none", "never active"):
            for variant in "raw-epoll", "xpoll-epoll":
                add, wait = per_socket(variant, "add", False), per_socket(variant, phase, True)
                if add is not None and wait is not None:
                    lines[f"{variant}, {what}"] = [(x, add + wait * x) for x in times]
        self.beside_sketch("figure-12", lines, "µs for each of 100 sockets")

    def web(self):
        get = self.results.servers
        wanted = ["hello-epoll-level", "hello-poll-level", "hello-select-level", "nginx-epoll",
                  "nginx-poll", "nginx-poll+drop-in"]

        def some(key, value=lambda y: y):
            lines = get(key)
            return {name: [(x, value(y)) for x, y in lines[name]]
                    for name in wanted if name in lines}

        self.beside_sketch("figure-14", some("kernel_us"), "µs of kernel CPU time per request")
        self.beside_sketch("figure-15", some("busy_percent", lambda y: 100 - y),
                           "% of a processor idle at 500 requests/s")
        self.beside_sketch("figure-16", some("reply_ms"), "ms until the reply, 500 requests/s")
        rates = get("requests_per_second")
        if rates:
            figure, axes = plt.subplots(figsize=(11, 4.8))
            self.draw_lines(axes, rates)
            axes.set(xlabel="idle connections", ylabel="requests/s, 10 active connections",
                     ylim=(0, None))
            figure.suptitle("Web servers under wrk, as fast as they can", fontweight="bold")
            self.save(figure, "web")

    def idle(self):
        def seconds(ns, _):
            return ns * 40000 / 1e9

        lines = {}
        for variant in ("raw-poll", "raw-select", "xpoll-poll", "raw-epoll", "xpoll-epoll",
                        "libev", "libevent", "libuv"):
            points = self.results.series("idle", variant, seconds)
            lines[variant] = [((n - 10) / 10, y) for n, y in points]
        self.beside_sketch("zombies", lines, "s for 40000 reads", xlabel="idle : active")

    def workloads(self):
        for workload in "active", "edge", "dispatch", "threads", "timers":
            for n in self.results.sizes(workload):
                name = f"{workload}-{n}"
                phases = dict.fromkeys(r["phase"] for r in self.results.get(name)["results"])
                groups = {phase: {variant: self.results.number(name, variant, "ns_per_", phase)
                                  for variant in self.results.variants(name)} for phase in phases}
                self.bars(name, f"{workload}, n = {n}: less is better", groups,
                          "ns per operation", log=True)
        for workload, where in ("wake", " on one processor"), ("churn", ""):
            for n in self.results.sizes(workload):
                name = f"{workload}-{n}"
                self.bars(name, f"{workload}{where}: less is better", {"": {
                    variant: self.results.number(name, variant, "ns_per_")
                    for variant in self.results.variants(name)}}, "ns per operation")
        for n in self.results.sizes("memory"):
            name = f"memory-{n}"
            self.bars(name, f"memory, {n} descriptors: less is better", {"": {
                variant: self.results.number(name, variant, "bytes_per_")
                for variant in self.results.variants(name)}}, "bytes per descriptor")
        lines = {variant: self.results.series("drop-in", variant, lambda ns, _: ns / 100)
                 for variant in ("raw-poll", "drop-in", "raw-epoll", "limit")}
        if any(lines.values()):
            figure, axes = plt.subplots(figsize=(8, 4.2))
            self.draw_lines(axes, {key: points for key, points in lines.items() if points})
            axes.set(xscale="log", yscale="log", xlabel="pipes, 10 of them active",
                     ylabel="µs per round of 10 reads")
            figure.suptitle("The poll(2) drop-in", fontweight="bold")
            self.save(figure, "drop-in")


def make_all(results, folder):
    os.makedirs(folder, exist_ok=True)
    plotter = Plotter(results, folder)
    for part in (plotter.readme, plotter.costs, plotter.web, plotter.idle, plotter.workloads):
        part()
    return plotter.made
