"""Print what happens to a directory and all below it.

    tree_changes.py [DIRECTORY]
"""
import sys

import xpoll


def main() -> None:
    top = sys.argv[1] if len(sys.argv) > 1 else "."
    with xpoll.Tree(top, notes=xpoll.NOTE_WRITE) as tree:
        print("watching", flush=True)
        for change in tree:
            match change:
                case ("rename", path, to, *_):
                    print("rename", path, "->", to, flush=True)
                case ("change", path, *_):
                    print("write", path, flush=True)
                case (kind, path, *_):
                    print(kind, path, flush=True)


if __name__ == "__main__":
    main()
