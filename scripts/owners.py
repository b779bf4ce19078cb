#!/usr/bin/env python3
"""Find out which files write and name each member of the core's shared structures.

  owners.py              print a row for each member of struct xpoll and struct xp_wait
  owners.py --check      exit 1 if more members lack an owner than scripts/ceilings.txt allows,
                         or if a table of mechanisms in docs/internals lacks a name
  owners.py --self-test  check that planted writers and readers are found

A member has an owner if the functions of one file write it.  A file is a .c file with the header
of its name.  The queue's lock and the wake-up state may have two writers, and the
counters any number.  A member should be named in at most four files.

Mechanisms: each tuning constant, bit-field and small counter of the core has a row in
mechanisms.md, and each number, bit-field and small counter of the files of PAGES one in the page
there.  Each function and constant of a row exists; the function is in the row's file.

The script reads text.  A member is written where it is assigned, where its address is kept, and
where its address is passed to a parameter that is not const.
"""
import re
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import ccode
import size
from ccode import matching

ROOT = Path(__file__).resolve().parent.parent
# A structure, the file that has it, and what an expression of it ends with.
STRUCTURES = (("xpoll", "src/core/queue.h", r"\bqueue->"),
              ("xp_wait", "src/core/queue.h", r"\bwait(?:->|\.)"))
TWO_WRITERS = {"lock", "wake.state"}
WITHOUT = {"stats", "counters"} # Everybody counts.
NAMED_MOST = 4
INTERNALS = ROOT / "docs" / "internals"
# Other files than the core's that have rows, by the page that has them.
PAGES = {
    "mechanisms-drop-ins.md": (
        "dropin/common/*.[ch]", "dropin/poll/*.[ch]", "dropin/kqueue/*.[ch]",
        "dropin/epoll/*.[ch]"),
    "mechanisms-sources.md": (
        "src/source/*.[ch]", "src/**/aio_*.[ch]", "src/**/inode*.[ch]", "src/**/proc_*.[ch]",
        "src/**/signal_*.[ch]", "src/**/array.[ch]", "src/**/poll.c", "src/**/poll_state.h",
        "src/**/select.c", "src/**/sys_netlink.[ch]", "src/**/sys_perf.[ch]",
        "src/**/sys_pidfd.[ch]", "src/**/sys_signalfd.c", "src/**/sys_timerfd.c",
        "src/**/sys_uring.[ch]", "src/**/sys_cached.c"),
}
# A constant and its value; a time, or a number above 3; a bit, or the size of a type.
CONSTANT = re.compile(r"(?:#[ \t]*define[ \t]+([A-Z][A-Z_0-9]*)[ \t]|\b([A-Z][A-Z_0-9]+)\s*=(?!=))"
                      r"([^,;}\n]*)")
NUMBER = re.compile(r"(?<![\w.])(?:\d{2,}|[4-9])(?!\w)|XP_NS_PER")
BIT = re.compile(r"\s*\(?(?:1u?|UINT64_C\(1\)) << \d+\)?\s*|.*\bsizeof\b.*")
# A member with bits of its own, or of few bits: what the core remembers to decide by.
SMALL = re.compile(r"^\s+(?:(?:unsigned|bool|atomic_uchar|u?int(?:8|16|32|64)_t|enum \w+)\s+(\w+)"
                   r"\s*:\s*\d+|(?:atomic_uchar|u?int(?:8|16)_t)\s+(\w+))\s*;", re.M)
ASSIGNS = r"\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)"


def members(body):
    """Yield the path of each member; those of unnamed structures are their parent's."""
    at = 0
    while at < len(body):
        nested = re.compile(r"\s*(?:struct|union)\s*(?:\w+\s*)?\{").match(body, at)
        if nested:
            end = matching(body, nested.end() - 1)
            semicolon = body.index(";", end)
            name = re.match(r"\s*(\w*)", body[end:semicolon]).group(1)
            for inner in members(body[nested.end():end - 1]):
                yield f"{name}.{inner}" if name else inner
            at = semicolon + 1
            continue
        semicolon = body.find(";", at)
        if semicolon < 0:
            return
        for declared in re.sub(r"_Alignas\([^)]*\)", "", body[at:semicolon]).split(","):
            found = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?::\s*\d+\s*)?$", declared)
            if found:
                yield found.group(1)
        at = semicolon + 1


def members_of(structure, code):
    begin = re.search(rf"\bstruct\s+{structure}\s*\{{", code)
    return list(members(code[begin.end():matching(code, begin.end() - 1) - 1]))


class Parameters:
    """Which parameters of which functions are const."""

    def __init__(self, texts):
        self.const = {}
        for code in texts:
            for name, inside in re.findall(r"\b(\w+)\s*\(([^(){};]*)\)\s*[;{]", code):
                if re.search(r"\w\s+\**\w", inside):
                    self.const.setdefault(name, [bool(re.search(r"\bconst\b", each))
                                                 for each in inside.split(",")])

    def keeps(self, code, at):
        """Is the address at this place an argument of a parameter that is const?"""
        depth, comma = 0, 0
        for index in range(at - 1, -1, -1):
            mark = code[index]
            depth += (mark in ")]") - (mark in "([")
            if depth < 0:
                called = re.search(r"(\w+)\s*$", code[:index])
                const = self.const.get(called.group(1), []) if called else []
                return comma < len(const) and const[comma]
            comma += mark == "," and depth == 0
            if mark in ";{}":
                return False
        return False


def is_written(code, begin, end, parameters):
    """Does the code write the member whose expression is code[begin:end]?"""
    if re.compile(r"(?:\.\w+|\[[^\[\]]*\])*" + ASSIGNS).match(code, end):
        return True
    before = re.search(r"(&|\+\+|--)\s*(?:\([^()]*\)\s*)?(?:\w+(?:->|\.))*$", code[:begin])
    if not before or before.group(1) != "&":
        return bool(before)
    left = re.search(r"(\w+|[)\]&])\s*$", code[:before.start()])
    if left and left.group(1) != "return":
        return False # The operator of two operands.
    return not parameters.keeps(code, before.start())


def path_at(code, at):
    """The names of a path that begins here, each with the index behind it."""
    names, name = [], re.compile(r"\w+")
    while match := name.match(code, at):
        at = match.end()
        names.append((match.group(), at))
        while at < len(code) and code[at] == "[":
            at = matching(code, at, "[]")
        if at >= len(code) or code[at] != ".":
            break
        at += 1
    return names


def uses(code, structure, ending, known, parameters):
    """Yield (member, whether it is written) of each expression of the structure."""
    for match in re.finditer(ending, code):
        path = path_at(code, match.end())
        names = [name for name, _ in path]
        while path and ".".join(names) not in known:
            path.pop()
            names.pop()
        if path:
            yield ".".join(names), is_written(code, match.start(), path[-1][1], parameters)
            continue
        whole = path_at(code, match.end())
        for name in known if whole else ():
            if name.startswith(whole[0][0] + "."):
                yield name, is_written(code, match.start(), whole[0][1], parameters)
    for match in re.finditer(rf"(?:\(struct {structure}\)|\bstruct {structure} \w+ =)\s*\{{", code):
        inside = code[match.end():matching(code, match.end() - 1)]
        for name in re.findall(r"\.(\w+(?:\.\w+)*)\s*=", inside):
            if name in known:
                yield name, True


class Owners:
    """The writers and the readers of each member of a structure."""

    def __init__(self, structure, declaring, ending, texts):
        self.known = members_of(structure, texts[declaring])
        self.writers, self.namers = defaultdict(set), defaultdict(set)
        parameters = Parameters(texts.values())
        for path, code in texts.items():
            module = module_of(path)
            for name, written in uses(code, structure, ending, set(self.known), parameters):
                self.namers[name].add(module)
                if written:
                    self.writers[name].add(module)

    def shared(self):
        """The members that functions of too many files write."""
        return [name for name in self.known if name not in WITHOUT and
                len(self.writers[name]) > 1 + (name in TWO_WRITERS)]

    def spread(self):
        return [name for name in self.known if name not in WITHOUT and
                len(self.namers[name]) > NAMED_MOST]


def remembered(files, code):
    """Yield what these files decide by: constants, and small members of structures."""
    yield from size.constants([row for row in files if row[0] not in PAGES])
    for part, path in files:
        text = code[path.name]
        if part in PAGES:
            yield from (f"{path.name}:{a or b}" for a, b, value in CONSTANT.findall(text)
                        if NUMBER.search(value) and not BIT.fullmatch(value))
            text = text.replace("uint16_t", "int") # Flags and lengths.
        elif part != "core":
            continue
        for structure in re.findall(r"^struct \w+ \{.*?^\}", text, re.M | re.S):
            yield from (f"{path.name}:{a or b}" for a, b in SMALL.findall(structure))


def unnamed(files, text):
    """Yield what the table of mechanisms lacks, and what it names in vain."""
    code = defaultdict(str)
    for _, path in files:
        code[path.name] += ccode.blank(path.read_text(encoding="utf-8"))
    named = set(re.findall(r"`(\w+)`", text))
    for name in dict.fromkeys(remembered(files, code)):
        if name.partition(":")[2] not in named:
            yield f"{name} has no row"
    for file, functions in re.findall(r"`(\w+\.[ch])`: ((?:`\w+`(?:, )?)+)", text):
        for function in re.findall(r"\w+", functions):
            if not re.search(rf"\b{function}\b", code.get(file, "")):
                yield f"there is no {function} in {file}"
    words = set(re.findall(r"\w+", " ".join(code.values())))
    for constant in sorted(set(re.findall(r"`([A-Z]+_[A-Z_]+)`", text)) - words):
        yield f"there is no {constant}"


def lacking():
    """What the pages lack, as lines to print."""
    pages = {"mechanisms.md": list(size.present())}
    for page, patterns in PAGES.items():
        pages[page] = [(page, path) for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    for page, files in pages.items():
        for line in unnamed(files, (INTERNALS / page).read_text(encoding="utf-8")):
            yield f"{page}: {line}"


def module_of(path):
    return Path(path).stem


def read():
    return {path.relative_to(ROOT).as_posix():
            ccode.without_directives(ccode.blank(path.read_text(encoding="utf-8")))
            for path in sorted((ROOT / "src").rglob("*.[ch]"))}


def numbers(texts):
    owners = [Owners(*row, texts) for row in STRUCTURES]
    return {"members-without-owner": sum(len(each.shared()) for each in owners),
            "members-named-widely": sum(len(each.spread()) for each in owners)}


def table(texts):
    for row in STRUCTURES:
        owners = Owners(*row, texts)
        print(f"struct {row[0]}: {len(owners.known)} members, {len(owners.shared())} without"
              f" an owner, {len(owners.spread())} named in more than {NAMED_MOST} files")
        for name in owners.known:
            writers = " ".join(sorted(owners.writers[name])) or "-"
            print(f"  {name:24} {len(owners.namers[name]):2}  {writers}")


def self_test():
    texts = {
        "src/core/queue.h": "struct xpoll { int one; struct { bool a, b; union { int c; };\n"
                            "} part; const int *at; unsigned bits : 3; int table[4]; };\n",
        "src/core/x.c": "f(){ queue->one = 1; queue->part.a |= b; ++queue->part.c; g(&queue->at);"
                        " if (queue->bits == 1) queue->table[queue->one]++; }",
        "src/core/y.c": "int h(int a, const int *b); int g(const int *a);\n"
                        "f(){ h(1, &queue->one); k(&queue->part.b); a & queue->bits; }",
        "src/core/z.c": "f(){ queue->part.a = queue->one; x = &queue->table[1];"
                        " return ++queue->part.c; }",
    }
    owners = Owners("xpoll", "src/core/queue.h", r"\bqueue->", texts)
    found = {name: "".join(sorted(owners.writers[name])) for name in owners.known}
    expected = {"one": "x", "part.a": "xz", "part.b": "y", "part.c": "xz", "at": "", "bits": "",
                "table": "xz"}
    wrong = [] if found == expected else [f"writers: {found}"]
    if owners.shared() != ["part.a", "part.c", "table"] or len(owners.namers["one"]) != 3:
        wrong.append(f"shared: {owners.shared()}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x.c"
        file.write_text("enum { A_MOST = 1 };\nstruct s {\n\tuint8_t small;\n\tbool bit : 1;\n"
                        "\tint whole;\n};\nvoid f(void);\n")
        row = "| `A_MOST` `small` `bit` | `x.c`: `f` |"
        for missing, count in (("nothing", 0), ("A_MOST", 1), ("small", 1), ("bit", 1)):
            if len(list(unnamed([("core", file)], row.replace(missing, "")))) != count:
                wrong.append(f"mechanisms without {missing}")
        if list(unnamed([("core", file)], row.replace("`f`", "`g`"))) != ["there is no g in x.c"]:
            wrong.append("a function that does not exist")
        if list(unnamed([("core", file)], row + " `B_MOST`")) != ["there is no B_MOST"]:
            wrong.append("a constant that does not exist")
        file.write_text("#define A_NS (2 * XP_NS_PER_MS)\nenum { BB = 1 << 9, CC = 3, DD = 64 };\n"
                        "#define EE 0x10\n#define F_MOST 2\nstruct s {\n\tbool bit : 1;\n};\n")
        found = list(unnamed([(next(iter(PAGES)), file)], ""))
        if found != [f"x.c:{name} has no row" for name in ("A_NS", "DD", "bit")]:
            wrong.append(f"numbers of other files: {found}")
    print("\n".join(wrong) if wrong else "owners.py: ok")
    return 1 if wrong else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if arguments == ["--check"]:
        found = list(lacking())
        print(*found, sep="\n", end="\n" if found else "")
        return size.check(numbers(read())) or bool(found)
    if arguments:
        sys.exit(__doc__)
    table(read())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
