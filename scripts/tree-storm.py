#!/usr/bin/env python3
"""Count what watchers of a directory tree miss in a storm of changes, and what they cost.

  tree-storm.py [--files N] [--operations N] [--seed N] [WATCHER...]

WATCHER is xpoll (the command in build/release/bin, or $XPOLL_TOOL), inotifywait, fswatch,
watchman, node (fs.watch) or notify ($NOTIFY: a program that prints the paths of the crate's
events); those that are not installed are left out.

Each gets a tree of its own.  The storm does what installing packages and switching branches
do: directories with files in them at once, files that are written beside and renamed into
place, replaced files, removed directories.  Then a last file is made, and the watcher has ended
its work when it has reported that.  Missed is a path that was made and is there in the end, or
that was there and is gone, and that the watcher has never named.  Memory is the largest
resident size, time that of the processor, of the watcher alone.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOL = os.environ.get("XPOLL_TOOL", ROOT / "build/release/bin/xpoll")
NODE = """require("fs").watch(process.argv[1], {recursive: true},
                              (event, name) => console.log(process.argv[1] + "/" + name));
console.error("ready");"""
COMMANDS = {
    "xpoll": [TOOL, "watch", "-r", "--events", "create,delete,rename", "--json", "--dir"],
    "inotifywait": ["inotifywait", "-m", "-r", "-e", "create,delete,move", "--format", "%w%f"],
    # Without stdbuf its last names stay in a buffer.  It sleeps for the time of -l after each read
    # of 2,720 bytes, also of reports of the directories that it has opened itself.
    "fswatch": ["stdbuf", "-oL", "fswatch", "-l", "0.1", "-r", "--event", "Created",
                "--event", "Removed", "--event", "Renamed", "--event", "MovedFrom",
                "--event", "MovedTo"],
    "node": ["node", "-e", NODE],
    "notify": [os.environ.get("NOTIFY", "notify-storm")],
}
FILES_IN_ONE = 10
DEADLINE_S = 90 # for fswatch; the others need less than 20


def fill(top, files):
    for i in range(files):
        folder = top / f"p{i // 1000}" / f"q{i // FILES_IN_ONE % 100}"
        if i % FILES_IN_ONE == 0:
            folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{i}").touch()


def names(top):
    return {os.path.join(folder, name) for folder, folders, files in os.walk(top)
            for name in folders + files}


def storm(top, operations, rng):
    """So many changes of names."""
    done, made, folders = 0, 0, sorted(str(path) for path in top.glob("p[0-9]*"))
    while done < operations:
        folder = rng.choice(folders)
        made += 1
        kind = rng.randrange(10)
        if kind < 5: # a package: directories with files in them at once
            package = f"{folder}/n{made}"
            os.makedirs(f"{package}/lib/sub")
            for k in range(FILES_IN_ONE):
                Path(f"{package}/lib/sub/m{k}").touch()
            done += 3 + FILES_IN_ONE
        elif kind < 8: # a file that is written beside, and renamed into place
            Path(f"{folder}/tmp{made}").write_text("text")
            os.rename(f"{folder}/tmp{made}", f"{folder}/s{rng.randrange(50)}")
            done += 2
        elif kind < 9: # a package that is unpacked beside
            os.makedirs(f"{top}.stage/in")
            Path(f"{top}.stage/in/x").touch()
            os.rename(f"{top}.stage", f"{folder}/k{made}")
            done += 4
        else:
            inside = [path for path in os.scandir(folder) if path.is_dir()]
            if inside:
                gone = rng.choice(sorted(path.path for path in inside))
                done += 1 + len(names(gone))
                shutil.rmtree(gone)


def cost(pid):
    """(largest resident MB, seconds of the processor)"""
    status = Path(f"/proc/{pid}/status").read_text()
    # A process that has ended has none.
    high = next((line for line in status.splitlines() if line.startswith("VmHWM")), "VmHWM: 0")
    times = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(high.split()[1]) / 1024, sum(map(int, times[11:13])) / os.sysconf("SC_CLK_TCK")


def ends(pid):
    return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()


def until(check):
    """Wait for it; False if it does not come."""
    end = time.monotonic() + DEADLINE_S
    while not check():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def follow(name, top, act):
    """(the names that the watcher printed, its memory and time at the start and in the end)"""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen([*COMMANDS[name], top], stdout=out, stderr=err)
        fd_out, fd_err = out.fileno(), err.fileno()

        def printed(fd):
            return os.pread(fd, os.fstat(fd).st_size, 0)

        def is_ready():
            # fswatch does not say when: it has seen a file that is made again and again.
            if name == "fswatch":
                (top / "probe").unlink(missing_ok=True)
                (top / "probe").touch()
                return b"/probe" in printed(fd_out)
            return b"ready" in printed(fd_err) or b"established" in printed(fd_err)

        until(is_ready)
        start = cost(child.pid)
        act()
        (top / "the-last").touch()
        ended = until(lambda: b"the-last" in printed(fd_out) or ends(child.pid))
        end = cost(child.pid)
        if ends(child.pid):
            print(printed(fd_err).decode()[-500:], file=sys.stderr)
        child.kill()
        child.wait()
        text = printed(fd_out).decode(errors="replace").splitlines()
        if name == "xpoll":
            lines = map(json.loads, text)
            text = [line[key] for line in lines for key in ("path", "to") if key in line]
        return {os.path.normpath(path) for path in text}, start, end, ended


def ask_watchman(top, act):
    """Its server is asked in the end what has changed."""
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o700)
    base = ["watchman", "--sockname", f"{folder}/sock", "--statefile", f"{folder}/state",
            "--logfile", f"{folder}/log", "--pidfile", f"{folder}/pid"]

    def ask(*words):
        return json.loads(subprocess.run([*base, *words], capture_output=True, check=True).stdout)

    ask("watch", str(top))
    clock = ask("clock", str(top))["clock"]
    pid = ask("get-pid")["pid"]
    start = cost(pid)
    act()
    (top / "the-last").touch()
    answer = ask("since", str(top), clock)
    end = cost(pid)
    subprocess.run([*base, "shutdown-server"], capture_output=True, check=False)
    shutil.rmtree(folder, ignore_errors=True)
    return {f"{top}/{file['name']}" for file in answer["files"]}, start, end, True


def measure(name, options):
    top = Path(tempfile.mkdtemp(prefix="tree-storm."))
    fill(top, options.files)
    before = names(top)

    def act():
        storm(top, options.operations, random.Random(options.seed))

    said, start, end, ended = (ask_watchman(top, act) if name == "watchman"
                               else follow(name, top, act))
    after = names(top) - {str(top / "probe")}
    missed = ((after - before) | (before - after)) - said
    print(f"| {name} | {len(missed):,} of {len(after ^ before):,} | {start[0]:.0f} | {end[0]:.0f} "
          f"| {start[1]:.2f} | {end[1] - start[1]:.2f} |{'' if ended else ' did not end'}",
          flush=True)
    shutil.rmtree(top)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=100000)
    parser.add_argument("--operations", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("watchers", nargs="*", default=[*COMMANDS, "watchman"])
    options = parser.parse_args()
    print(f"{options.files:,} files, {options.operations:,} operations\n\n"
          "| watcher | missed | MB at the start | in the end | s at the start | storm |\n"
          "|---|--:|--:|--:|--:|--:|")
    for name in options.watchers:
        program = COMMANDS[name][0] if name in COMMANDS and name != "fswatch" else name
        if shutil.which(program):
            measure(name, options)
        else:
            print(f"{name}: {program} is not installed", file=sys.stderr)


if __name__ == "__main__":
    main()
