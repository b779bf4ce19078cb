"""Print what happens to files and folders, until all of them are gone.

    file_watcher.py PATH...

The descriptor is watched, not the name: a file is followed when it is renamed.
"""
import os
import sys

import xpoll

WORDS = {
    xpoll.NOTE_WRITE: "written",
    xpoll.NOTE_EXTEND: "grown",
    xpoll.NOTE_TRUNCATE: "cut",
    xpoll.NOTE_RENAME: "renamed",
    xpoll.NOTE_DELETE: "deleted",
}


def main() -> None:
    paths = sys.argv[1:]
    with xpoll.Queue() as queue:
        for path in paths:
            fd = os.open(path, os.O_RDONLY)
            queue.add(fd, xpoll.FILT_VNODE, fflags=sum(WORDS), udata=path)
            print("watching", path, flush=True)
        left = len(paths)
        while left:
            for event in queue.wait():
                words = [word for note, word in WORDS.items() if event.fflags & note]
                print(f"{event.udata}:", *words, flush=True)
                if event.fflags & xpoll.NOTE_DELETE:
                    xpoll.close_fd(event.ident)  # And it is not watched any more.
                    left -= 1


if __name__ == "__main__":
    main()
