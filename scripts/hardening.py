#!/usr/bin/env python3
"""Check with readelf how a library or program was built.

  hardening.py [--library] FILE...

A file must have no executable stack, no relocation of code, no segment that is both
writable and executable, and no path of its own on which libraries are searched;
relocations must be done at the start and then be read-only.

--pinned requires that dlclose(3) does not unload it.

--library also requires that it calls no function that prints, exits, aborts or writes
without a bound, that it reads the environment by secure_getenv only, and that its
functions check for overwritten stacks.  --fortified requires that it calls the checked
forms of the C library's functions, as _FORTIFY_SOURCE selects with glibc.

No symbol of glibc that it needs may be newer than version 2.17, so that a file linked with
2.17 runs everywhere.  Newer functions are called directly in the kernel, or the build
checks for them.
"""
import argparse
import re
import subprocess
import sys

FORBIDDEN = re.compile(
    r"(__)?(v?f?printf|v?dprintf|puts|fputs|putchar|fwrite|perror|psignal|syslog|err|warn)(_chk)?"
    r"|abort|_?exit|_Exit|quick_exit|__assert_fail|raise|kill|getenv|setenv|putenv"
    r"|system|popen|execv?[ple]*|gets|(__)?(v?sprintf|strcpy|strcat|stpcpy)(_chk)?|mktemp|tmpnam"
    r"|waitpid|wait[34]?|setitimer|alarm|signal|sigprocmask|umask|chdir|setrlimit|srand|rand")

GLIBC = (2, 17)
# An older glibc has these by another version, or in another library or form.
MOVED = re.compile(
    r"(__)?pthread_(?!\w*clock(wait|lock|join|rdlock|wrlock))\w+|dl(open|sym|close|error|addr)"
    r"|[fl]?stat(at)?(64)?|__libc_start_main|__isoc23_\w+")
# The build takes these where they are, and does without elsewhere.
LOOKED_FOR = {"__libc_single_threaded", "epoll_pwait2", "mallinfo2"}


def readelf(option, path):
    return subprocess.run(["readelf", option, "--wide", path], check=True,
                          capture_output=True, text=True).stdout


def segments(path):
    """[(type, flags)]."""
    return re.findall(r"^ +(\w+) +0x\S+ 0x\S+ 0x\S+ 0x\S+ 0x\S+ ([RWE ]{3}) ",
                      readelf("--program-headers", path), re.M)


def called_by(path):
    return set(re.findall(r" UND ([\w.]+)", readelf("--dyn-syms", path)))


def too_new(path):
    """What no build with an old glibc could find."""
    for name, version in re.findall(r" UND ([\w.]+)@+GLIBC_([\d.]+)",
                                    readelf("--dyn-syms", path)):
        number = tuple(int(part) for part in version.split("."))
        if number > GLIBC and name not in LOOKED_FOR and not MOVED.fullmatch(name):
            yield f"{name} is of glibc {version}"


def is_fortified(path):
    """What the compiler cannot prove goes to glibc's checked forms."""
    return (any(name.endswith("_chk") for name in called_by(path)) or
            "GLIBC_" not in readelf("--dyn-syms", path))


def findings(path, library, fortified, pinned):
    parts = segments(path)
    stack = [flags for kind, flags in parts if kind == "GNU_STACK"]
    if not stack or "E" in stack[0]:
        yield "its stack can be executed"
    if "GNU_RELRO" not in dict(parts):
        yield "no read-only relocations (-z relro)"
    if any("W" in flags and "E" in flags for _, flags in parts):
        yield "a segment can be both written and executed"
    dynamic = readelf("--dynamic", path)
    if not re.search(r"\((FLAGS|FLAGS_1)\).*\bNOW\b|\(BIND_NOW\)", dynamic):
        yield "relocations are not done at the start (-z now)"
    if "TEXTREL" in dynamic:
        yield "its code is relocated"
    if re.search(r"\((RPATH|RUNPATH)\)", dynamic):
        yield "it looks for libraries in a folder of its own"
    if fortified and not is_fortified(path):
        yield "nothing that it calls is checked for its bounds (_FORTIFY_SOURCE)"
    yield from too_new(path)
    if library:
        called = called_by(path)
        if pinned and "NODELETE" not in dynamic:
            yield "dlclose(3) unloads it, and with it a signal handler (-z nodelete)"
        for name in sorted(filter(FORBIDDEN.fullmatch, called)):
            yield f"calls {name}"
        if "__stack_chk_fail" not in called:
            yield "stacks are not checked (-fstack-protector-strong)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", action="store_true")
    parser.add_argument("--fortified", action="store_true")
    parser.add_argument("--pinned", action="store_true", help="dlclose(3) does not unload it")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    found = [f"{path}: {finding}" for path in options.files
             for finding in findings(path, options.library, options.fortified, options.pinned)]
    print("\n".join(found) or f"hardening: {len(options.files)} files are as they should be")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
