"""Run a command, and print what it and the processes that it makes do; end with its status.

    process_follower.py COMMAND [ARGUMENT...]

Where the system does not permit following processes, only the end of the command is printed.
"""
import os
import subprocess
import sys

import xpoll


def follow(queue: xpoll.Queue, pid: int) -> None:
    notes = xpoll.NOTE_EXIT | xpoll.NOTE_EXEC | xpoll.NOTE_TRACK
    try:
        queue.add(pid, xpoll.FILT_PROC, fflags=notes)
    except OSError:
        queue.add(pid, xpoll.FILT_PROC, fflags=xpoll.NOTE_EXIT)


def show(event: xpoll.Event) -> None:
    if event.fflags & xpoll.NOTE_CHILD:
        print(f"{event.ident}: made by {event.data}", flush=True)
    if event.fflags & xpoll.NOTE_EXEC:
        print(f"{event.ident}: exec", flush=True)
    if event.fflags & xpoll.NOTE_STATUS_UNKNOWN:
        print(f"{event.ident}: ended", flush=True)
    elif event.fflags & xpoll.NOTE_EXIT:
        code = os.waitstatus_to_exitcode(event.data)
        print(f"{event.ident}:", f"signal {-code}" if code < 0 else f"exit {code}", flush=True)


def main() -> int:
    if len(sys.argv) < 2:
        sys.exit("usage: process_follower.py COMMAND [ARGUMENT...]")
    # It begins when it is followed.
    gate = ["sh", "-c", 'read go && exec "$0" "$@"', *sys.argv[1:]]
    with xpoll.Queue() as queue, subprocess.Popen(gate, stdin=subprocess.PIPE) as child:
        follow(queue, child.pid)
        assert child.stdin
        child.stdin.write(b"go\n")
        child.stdin.close()
        alive = 1
        while alive:
            for event in queue.wait():
                show(event)
                alive += bool(event.fflags & xpoll.NOTE_CHILD) - bool(event.flags & xpoll.EOF)
        code = child.wait()
        return 128 - code if code < 0 else code


if __name__ == "__main__":
    sys.exit(main())
