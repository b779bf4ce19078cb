#!/usr/bin/env python3
"""Break the state machine of a slot, one row after the other: the explorer has to notice.

usage: explore_broken.py SOURCES COMPILER LIBRARY...

A program that defines the functions of a file of src/ has its own instead of the
library's: the explorer is linked with a broken arm.c.
"""
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BROKEN = {
    "an edge's entry is changed for another filter": (
        "if (slot->modes.clear && wanted & xp_slot_by_edge(slot) && !view->exact)", "if (0)"),
    "what is enabled is not looked at": (
        "if (!view->sleeping && (covered || silent || holds_edges))\n"
        "\t\treturn step(XP_DO_RECHECK, filters);",
        "if (!view->sleeping && (covered || silent || holds_edges))\n\t\treturn nothing();"),
    "beside edges and a sleeper, too": (
        "if (holds_edges && view->sleeping && view->can_probe)", "if (0)"),
    "level mode goes on though nobody wants it": (
        "level_ends(slot, 1);\n\t\treturn push_edges(slot, view);", "return nothing();"),
    "edges that nobody wants stay armed": (
        "if (++slot->history.fruitless < FRUITLESS_MOST)", "if (1)"),
    "what fired in vain is not armed again": (
        "if (wanted)\n\t\t\treturn push(XP_MODE_EDGE,", "if (0)\n\t\t\treturn push(XP_MODE_EDGE,"),
    "what is published is left as it is": (
        "\treturn push(XP_MODE_LEVEL, wanted);", "\treturn nothing();"),
    "what a look has found unready is nobody's": (
        "return slot->modes.clear ? step(XP_DO_SOLO, filters) : push_edges(slot, view);",
        "return nothing();"),
}


def main():
    top, compiler, *libraries = sys.argv[1:]
    top = Path(top)
    text = (top / "src/core/arm.c").read_text(encoding="utf-8")
    flags = ["-O1", "-w", "-rdynamic", "-D_GNU_SOURCE",
             *(f"-I{top / folder}" for folder in ("src", "include", "tests/lib"))]
    explorer = [top / "tests/unit/explore.c", top / "tests/unit/explore_model.c"]

    def noticed(name, folder, number):
        whole, broken = BROKEN[name]
        if text.count(whole) != 1:
            return f"{name}: its text is there {text.count(whole)} times"
        copy, program = folder / f"arm{number}.c", folder / f"explore{number}"
        copy.write_text(text.replace(whole, broken), encoding="utf-8")
        subprocess.run([compiler, *flags, "-o", program, copy, *explorer, *libraries,
                        "-lpthread", "-lrt"], check=True)
        run = subprocess.run([program], capture_output=True, text=True, check=False)
        return "" if "the contract is not kept" in run.stdout + run.stderr else (
            f"{name}: not noticed")

    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        faults = [fault for fault in pool.map(
            lambda item: noticed(item[1], Path(name), item[0]), enumerate(BROKEN)) if fault]
    print("\n".join(faults) or f"{len(BROKEN)} rows broken, {len(BROKEN)} noticed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
