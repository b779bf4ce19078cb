"""What is measured for the report, and the files that it goes to.

A step is a name, a command and about how long it takes; its command writes NAME.json.
"""

import collections
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
XPOLL = os.path.join(ROOT, "build/release/bin/xpoll")
HTTP = os.path.join(ROOT, "bench/http.py")

Step = collections.namedtuple("Step", "name command seconds")

# The article's numbers of idle connections beside its 10 active ones; the last one is
# what a usual limit of 20000 descriptors leaves of its 10240.
IDLE = [0, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 9000]
# The table grows by 256 descriptors at a time.
MEMORY = [1000, 1000 + 32 * 256]
# Where two processors play, a turn takes what the scheduler makes of it.
EXTRA = {"wake": ["--pin", "0"]}
COSTS = [100, 250, 500, 750, 1000]
# workload, sizes, seconds for each variant, rounds, variants with --peers all
LONG = [
    ("looptest", [8, 1000, 9000], 5, 25, 10),
    ("active", [1000], 6, 25, 10),
    ("edge", [1000], 6, 25, 5),
    ("dispatch", [1000], 6, 25, 9),
    ("idle", [10 + idle for idle in IDLE], 1, 10, 10),
    ("costs", COSTS, 1.5, 10, 9),
    ("wake", [2], 4, 25, 8),
    ("threads", [256], 6, 25, 4),
    ("churn", [16], 4, 25, 9),
    ("memory", MEMORY, 1, 5, 9),
    ("timers", [1000000], 5, 5, 5),
    ("drop-in", [16, 100, 1000, 5000, 9000], 4, 20, 4),
    ("kqueue", [8, 1000, 9000], 4, 20, 8),
    ("kqueue-change", [64], 4, 20, 2),
]
QUICK = [
    ("looptest", [8, 1000, 9000], 0.3, 5, 10),
    ("active", [1000], 0.6, 5, 10),
    ("edge", [1000], 0.6, 5, 5),
    ("dispatch", [1000], 0.6, 5, 9),
    ("idle", [10 + idle for idle in IDLE], 0.1, 5, 10),
    ("costs", COSTS, 0.2, 5, 9),
    ("wake", [2], 0.4, 5, 8),
    ("threads", [256], 0.6, 5, 4),
    ("churn", [16], 0.4, 5, 9),
    ("memory", MEMORY, 0.2, 5, 9),
    ("timers", [100000], 0.5, 5, 5),
    ("drop-in", [16, 100, 1000, 5000, 9000], 0.25, 5, 4),
    ("kqueue", [8, 1000, 9000], 0.3, 5, 8),
    ("kqueue-change", [64], 0.3, 5, 2),
]
LONG_HTTP = ["--idle", "0,500,1000,2000,4000,9000", "--rounds", "3", "-t", "2"]
QUICK_HTTP = ["--idle", "0,1000,8000", "--rounds", "1", "-t", "1", "--servers",
              "hello-epoll-level,hello-poll-level,hello-select-level,nginx-epoll"]


def steps(folder, quick):
    result = []
    for workload, sizes, seconds, rounds, variants in QUICK if quick else LONG:
        for n in sizes:
            name = f"{workload}-{n}"
            command = [XPOLL, "bench", workload, "-n", str(n), "-t", str(seconds),
                       "--rounds", str(rounds), *EXTRA.get(workload, []),
                       "--json", os.path.join(folder, name + ".json")]
            # Turns begin with a warm-up of up to 50 ms.
            result.append(Step(name, command, variants * (seconds * 1.2 + 0.05 * rounds)))
    command = ["python3", HTTP, *(QUICK_HTTP if quick else LONG_HTTP), "--json",
               os.path.join(folder, "http.json")]
    result.append(Step("http", command, 60 if quick else 1500))
    return result
