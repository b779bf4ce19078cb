"""Count system calls and instructions of every row, and compare them with those of a commit.

Neither varies with the load of the machine.  System calls are counted by the kernel while
`xpoll bench --operations` runs, for the whole process; this needs root, else the bench counts
those that it knows of.  Instructions are counted by valgrind, where a row has one thread.

The rows of another commit are those of this tree: the library of that commit is built with the
bench of this one, in a work tree below build/counts.  Its numbers are kept there.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "build/counts")
BACKENDS = "epoll,poll"
OTHERS = ("kevent", "drop-in")    # variants that are the project's own, besides xpoll-*
HAND = ("raw-epoll", "by-hand", "timerfd", "connector", "io_uring")
CHANGED = 0.005                   # of a row with one thread

sys.path.insert(1, os.path.join(ROOT, "scripts"))
import instructions  # noqa: E402

# Rows in which threads run beside each other: their system calls vary.
THREADED = ("wake", "threads", "pool", "pool-both", "echo", "reactor", "hand-off", "changes",
            "wake-all", "listener")
ROUNDS = 5  # of these
# With which n and how many operations each workload is counted.
COUNTED = {
    "looptest": (8, 2000), "active": (1000, 2000), "nested": (1000, 2000),
    "edge": (1000, 2000), "dispatch": (1000, 2000), "idle": (330, 2000), "costs": (1000, 1),
    "beside": (8, 2000), "pause": (1000, 192), "unread": (1, 1000), "proxy": (200, 100),
    "memory": (1000, 1), "churn": (16, 500), "http": (1010, 1000), "aio": (10000, 64),
    "sources": (1, 100), "burst": (1000, 1), "files": (100, 100), "track": (200, 1),
    "timers": (10 ** 4, 1), "user": (10 ** 4, 1), "drop-in": (1000, 2000),
    "wake": (2, 1000), "threads": (256, 1), "pool": (64, 1), "pool-both": (64, 1),
    "echo": (1000, 1), "reactor": (64, 1), "hand-off": (256, 1), "changes": (256, 1),
    "wake-all": (16, 1), "listener": (1, 1),
}
# Valgrind knows no pidfd_open(2).
NO_INSTRUCTIONS = (*THREADED, "sources", "burst", "track")
LIMIT_S = 120  # of one workload: a library that hangs is a row without numbers


def key(workload, row):
    return " ".join(filter(None, (workload, row.get("phase"), row["variant"])))


def calls_of(build, workload):
    """{row: system calls and wakes per operation}"""
    n, operations = COUNTED[workload]
    threaded = workload in THREADED
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.json")
        run = subprocess.run([
            os.path.join(build, "bin/xpoll"), "bench", workload, "-n", str(n),
            "--operations", str(operations), "--rounds", str(ROUNDS if threaded else 1),
            "--backend", BACKENDS, "--peers", "raw", "--json", path],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
            timeout=LIMIT_S)
        if run.returncode != 0:
            raise OSError(run.stderr.strip())
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)["results"]
    found = {}
    for row in rows:
        calls = next(value for name, value in row.items() if name.startswith("syscalls_per_"))
        wakes = [value for name, value in row.items() if name.startswith("wakes_per_")]
        found[key(workload, row)] = {
            "calls": calls, "threads": threaded, "range": list(row["syscalls"].values()),
            "wakes": wakes[0] if wakes else None}
    return found


def add_instructions(build, workload, found):
    n, operations = COUNTED[workload]
    arguments = (workload, "-n", str(n), "--operations", str(operations), "--backend", BACKENDS,
                 "--peers", "raw")
    for row, count, lines in instructions.rows(build, *arguments):
        if row.get("phase") == "process":
            continue
        total, calls = instructions.totals(lines)
        ours = found[key(workload, row)]
        ours["instructions"] = total / count
        if ours["calls"] is None:
            ours["calls"] = calls / count


def count(build, names):
    """Rows that could not be counted are {"error": why}."""
    found = {}
    valgrind = shutil.which("valgrind") is not None
    for workload in names:
        print(f"counting {workload}", file=sys.stderr)
        try:
            rows = calls_of(build, workload)
            if valgrind and workload not in NO_INSTRUCTIONS:
                add_instructions(build, workload, rows)
        except (OSError, subprocess.TimeoutExpired) as error:
            rows = {workload: {"error": str(error)}}
        found.update(rows)
    return found


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def bench_hash():
    """Of the files that decide what a row is."""
    found = hashlib.sha256()
    for folder, folders, names in os.walk(os.path.join(ROOT, "bench")):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".c", ".h", "counts.py")):
                with open(os.path.join(folder, name), "rb") as file:
                    found.update(file.read())
    return found.hexdigest()[:12]


def build_commit(commit):
    """The folder of a build of that library with this bench."""
    tree = os.path.join(FOLDER, "tree-" + commit[:12])
    if not os.path.isdir(tree):
        git("worktree", "prune")
        git("worktree", "add", "--detach", tree, commit)
    shutil.rmtree(os.path.join(tree, "bench"))
    shutil.copytree(os.path.join(ROOT, "bench"), os.path.join(tree, "bench"))
    for command in (["cmake", "--preset", "release"],
                    ["cmake", "--build", "build/release", "--target", "xpoll_tool"]):
        subprocess.run(command, cwd=tree, check=True, stdout=subprocess.DEVNULL)
    return os.path.join(tree, "build/release")


def of_commit(name, names):
    commit = git("rev-parse", "--verify", name + "^{commit}")
    path = os.path.join(FOLDER, f"{commit[:12]}-{bench_hash()}.json")
    found = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    missing = [workload for workload in names
               if not any(row.split(" ")[0] == workload for row in found)]
    if missing:
        more = count(build_commit(commit), missing)
        for row in (row for row in more if "error" in more[row]):
            print(f"{row} of {name} not counted: {more[row]['error']}", file=sys.stderr)
        found.update({row: numbers for row, numbers in more.items() if "error" not in numbers})
        with open(path, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
    return found


def is_ours(row):
    variant = row.split(" ")[-1]
    return variant.startswith("xpoll-") or variant in OTHERS


def by_hand(row, found):
    """The row of the program by hand beside this one; {}: there is none."""
    start = row.rpartition(" ")[0]
    return next((found[f"{start} {name}"] for name in HAND if f"{start} {name}" in found), {})


def differs(old, new):
    """Is there a change between two numbers of a row?  None is no number."""
    if old is None or new is None:
        return old is not new
    return abs(new - old) > CHANGED * max(abs(old), abs(new)) + 1e-9


def changes(old, new):
    """What changed in a row: words."""
    if old is None or "error" in old or "error" in new:
        return "" if old == new else "new" if old is None else "not counted"
    words = []
    if new["threads"]:
        low, high = new["range"]
        least, most = old["range"]
        if None not in (low, least) and (low > most or high < least):
            words.append("calls")
    elif differs(old["calls"], new["calls"]):
        words.append("calls")
    if differs(old.get("instructions"), new.get("instructions")):
        words.append("instructions")
    return ", ".join(words)


def number(value, decimals):
    return "-" if value is None else f"{value:,.{decimals}f}"


def line(row, new, old, hand):
    cells = [f"{row:<34}", f"{number(new['calls'], 2):>9}"]
    low, high = new["range"]
    if old is not None:
        cells.append(f"{number(old.get('calls'), 2):>9}")
    cells.append(f"{number(hand.get('calls'), 2):>9}")
    cells.append(f"{number(new.get('instructions'), 0):>11}")
    if old is not None:
        cells.append(f"{number(old.get('instructions'), 0):>11}")
    cells.append(f"{number(hand.get('instructions'), 0):>11}")
    if new["threads"] and low is not None:
        cells.append(f"  {low:.2f} to {high:.2f}, {number(new['wakes'], 2)} wakes")
    return " ".join(cells)


def table(now, before):
    """Print all rows of the project; how many changed."""
    heads = ["calls", *(["before"] if before else []), "by hand", "instr.",
             *(["before"] if before else []), "by hand"]
    widths = [9] * (len(heads) // 2) + [11] * (len(heads) // 2)
    print(f"{'per operation':<34}", *(f"{head:>{width}}" for head, width in zip(heads, widths)))
    changed = 0
    for row, new in now.items():
        old = before.get(row) if before else None
        if "error" in new:
            print(f"{row:<34} not counted: {new['error']}")
            continue
        if not is_ours(row):
            continue
        words = changes(old, new) if before else ""
        changed += words != ""
        print(line(row, new, old if before and old else {} if before else None,
                   by_hand(row, now)), f"  * {words}" if words else "", sep="")
    return changed


def run(commit, names=None):
    names = names or list(COUNTED)
    os.makedirs(FOLDER, exist_ok=True)
    before = of_commit(commit, names) if commit else {}
    now = count(os.path.join(ROOT, "build/release"), names)
    with open(os.path.join(FOLDER, "now.json"), "w", encoding="utf-8") as file:
        json.dump(now, file, indent=1)
    changed = table(now, before)
    if commit:
        print(f"\n{changed} of {sum(map(is_ours, now))} rows changed since {commit} (*): by more "
              f"than {CHANGED:.1%}, or where threads run,\nbeyond the range of {ROUNDS} rounds")
    return 1 if any("error" in row for row in now.values()) else 0
