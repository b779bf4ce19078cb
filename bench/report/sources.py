"""What the sources have measured, and what they say of their figures."""

# README of the original xpoll: "reads/sec" there counts iterations, two for each read.
README_TABLES = {
    "second version: FreeBSD 13.0": {
        "kqueue": {8: 1473887.72, 1000: 1392773.82},
        "poll": {8: 391819.20, 1000: 2051.60},
    },
    "first version: FreeBSD 13.0": {
        "kqueue": {8: 2950424.72, 1000: 2815974.78},
        "poll": {8: 572939.51, 1000: 4415.42},
    },
    "Linux, both versions: Fedora 34, VirtualBox": {
        "epoll": {8: 1026485.04, 1000: 882090.23},
        "poll": {8: 577317.68, 1000: 5797.41},
    },
}

JAVA_TABLE = (("connections", "PollingServer, s", "SimpleServer (a thread each), s"),
              [(1000, 11, 12), (4000, 20, 37), (8000, 39, 108)])

# Title, and what the text says that its figure shows.
FIGURES = {
    "figure-10": (
        "Figure 10: time needed for the initial kqueue call",
        "Adding to a kqueue takes twice as long as a poll; once they are registered, looking "
        "at them takes the same whatever their number."),
    "figure-11": (
        "Figure 11: time required when all descriptors are active",
        "The worst case of kqueue, every descriptor active, takes less than poll."),
    "figure-12": (
        "Figure 12: accumulated time for kqueue vs poll",
        "kqueue has a higher startup cost; it pays off unless a descriptor is polled less "
        "than 4 times."),
    "figure-13": (
        "Figure 13: time required for each kqueue operation",
        "Enable and disable cost less than add and delete."),
    "figure-14": (
        "Figure 14: kernel CPU time consumed by system call",
        "The kqueue times are constant regardless of the number of inactive connections."),
    "figure-15": (
        "Figure 15: amount of idle time remaining",
        "With select the system is out of resources by the time there are 2000 connections."),
    "figure-16": (
        "Figure 16: response time from httperf",
        "The unmodified server runs out of CPU at around 600 idle connections; with kqueue it "
        "has 48 % idle time left at 10000."),
    "zombies": (
        "The article: 40000 requests beside zombie connections",
        "poll's time grows linearly with the descriptors that it watches; epoll's stays flat. "
        "With no zombies at all poll is slightly ahead."),
}

# What the kernel's calls and the libraries are measured with besides, and a word on each.
WORKLOADS = {
    "active": "k of 1,000 pipes are ready; nothing is ever changed.",
    "nested": "As active, and a second queue watches the first one.",
    "edge": "As active, on sockets that are registered edge-triggered in both directions.",
    "dispatch": "An event disables its descriptor, which is enabled with the next wait.",
    "threads": "1 to 32 threads that share one queue, in dispatch mode, always busy.",
    "hand-off": "One event at a time for 1 to 32 threads that sleep; processor time of all.",
    "changes": "Changes in a queue in which 1 to 32 threads sleep.",
    "wake-all": "1 to 32 threads are woken; by hand by an eventfd that all of them see.",
    "listener": "A listener in a queue of each of 1 to 32 threads.",
    "user": "Registrations without a descriptor: open, add, trigger, change, delete, destroy.",
    "wake": "A thread ends the wait of another, on one processor.",
    "churn": "Accept, register, one request, close, over TCP.",
    "http": "A web server of 140 lines on each loop, with connections that stay. One that only "
            "reads and answers changes nothing, so xpoll, epoll by hand and libuv take the same "
            "within the spread; it matters where a server waits for writing in turns, and "
            "beside poll(2).",
    "aio": "Random reads of 4 KiB, from the page cache and past it, 1, 8 and 64 in flight.",
    "sources": "Processes and signals, beside pidfd_open and signalfd by hand.",
    "files": "Files that are watched, one by one and in a burst, beside inotify by hand and libuv.",
    "track": "A process that forks without a pause, and who follows all that it makes.",
    "timers": "Timers, armed, cancelled in another order, expired; by hand a heap and a timerfd.",
    "kqueue": "looptest through kevent(2), with counts; epoll(7) counts nothing.",
    "kqueue-change": "Add and delete of a socket by kevent(2), and by epoll_ctl(2).",
}
