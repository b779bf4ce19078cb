#!/usr/bin/env python3
"""Check that docs/internals/python.md lists each call in python/src that can run Python code.

  reentry.py              check the tree; exit 1 and print each difference
  reentry.py --rows       print the rows as the sources have them, with what the page says of them
  reentry.py --self-test  check that it finds planted differences

The code of a program runs inside of calls of Python's C API: at the end of an object, for an
argument, when an allocation collects garbage, for a signal.  It may call the binding again, so
what was read before must be read again.  The page has three lists: the functions of the API that
never run code, those that can, and a row for each function of ours that calls one of the latter,
or one of ours that does.  A row names these calls, how many there are of each, and what the
function reads again.

The script compares names and numbers; it cannot see whether the last column is true.
"""
import argparse
import re
import sys
from collections import Counter
from pathlib import Path

import ccode

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "python" / "src"
PAGE = ROOT / "docs" / "internals" / "python.md"
NEVER, CAN = "Calls that never run Python code", "Calls that can run Python code"


def bodies(text):
    """Yield (function, body) of the text of a C file."""
    # Macros that define functions, each on a line of its own, have no body here.
    code = re.sub(r"^XPY_LOCK_?\w*\([^;{}]*?\)$", "", ccode.blank(text), flags=re.M)
    for piece in ccode.pieces(code):
        if piece.function():
            yield piece.function(), piece.body


def called(body):
    """How often each function is called here, also through a pointer."""
    return Counter(re.findall(r"([A-Za-z_]\w*)\s*\(", body))


def of_the_api(name):
    """Returns true for a function or macro of Python, and for our pointers to such code."""
    return bool(re.match(r"_?Py[A-Z_]", name)) or name in ("XPY_BEGIN", "destroyed", "tuple_new")


class Page:
    """What the page says."""

    def __init__(self, text):
        self.never = self.names(text, NEVER)
        self.can = self.names(text, CAN)
        self.rows = {}  # (file, function) -> (calls, what is read again)
        self.twice = []
        file = None
        for line in text.splitlines():
            heading = re.match(r"#+ `?(\w+\.[ch])`?$", line)
            if line.startswith("#"):
                file = heading.group(1) if heading else None
            row = re.match(r"\| `(\w+)` \| (.*?) \|\s*(.*?)\s*\|$", line)
            if file and row:
                key = file, row.group(1)
                if key in self.rows:
                    self.twice.append(key)
                calls = {name: int(count or 1) for name, count
                         in re.findall(r"`(\w+)`(?: (\d+))?", row.group(2))}
                self.rows[key] = Counter(calls), row.group(3).strip()

    @staticmethod
    def names(text, heading):
        """The names in the section of this heading."""
        section = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^#|\Z)", text, re.M | re.S)
        return set(re.findall(r"`(\w+)`", section.group(1))) if section else set()


def expected(files, page):
    """{(file, function): calls} as the sources have them; the names that no list has; all names."""
    functions = [(file, function, called(body)) for file, text in sorted(files.items())
                 for function, body in bodies(text)]
    ours = {function for _, function, _ in functions}
    homes = {(file, function) for file, function, _ in functions}
    unknown = {name for _, _, calls in functions for name in calls
               if of_the_api(name) and name not in page.never | page.can | ours}
    running = set()  # (file, function)

    def runs(file, name):
        """Two files may each have a static function of this name."""
        if (file, name) in homes:
            return (file, name) in running
        return name in page.can or any(name == function for _, function in running)

    while True:
        more = {(file, function) for file, function, calls in functions
                if any(runs(file, name) for name in calls)} - running
        if not more:
            break
        running |= more
    rows = {}
    for file, function, calls in functions:
        found = Counter({name: count for name, count in calls.items() if runs(file, name)})
        if found:
            rows[file, function] = rows.get((file, function), Counter()) + found
    return rows, unknown, {name for _, _, calls in functions for name in calls}


def shown(calls):
    return ", ".join(f"`{name}`" + (f" {count}" if count > 1 else "")
                     for name, count in sorted(calls.items()))


def differences(files, text):
    """Yield a line for each."""
    page = Page(text)
    rows, unknown, used = expected(files, page)
    for name in sorted(unknown):
        yield f"no list of the page has {name}: can it run Python code?"
    for name in sorted(page.never & page.can):
        yield f"{name} is in both lists"
    for name in sorted((page.never | page.can) - used):
        yield f"no file calls {name}, which the page lists"
    for key in page.twice:
        yield f"{key[0]}: {key[1]} has two rows"
    for (file, function), calls in rows.items():
        if (file, function) not in page.rows:
            yield f"{file}: {function} has no row; it calls {shown(calls)}"
            continue
        listed, again = page.rows[file, function]
        if listed != calls:
            yield f"{file}: {function} calls {shown(calls)}; its row has {shown(listed)}"
        if not again:
            yield f"{file}: the row of {function} does not say what is read again"
    for file, function in page.rows.keys() - rows.keys():
        yield f"{file}: {function} has a row, and runs no Python code"


def self_test():
    """Returns true if each planted difference is found, and no other."""
    source = """
static void end(struct cell *cell)
{
	Py_DECREF(cell->udata); /* Py_CLEAR(no call) */
}

static int size(PyObject *tuple)
{
	return PyTuple_Size(tuple);
}

int sweep(struct cells *cells)
{
	end(&cells->first);
	end(&cells->last);
	return cells->cap;
}

XPY_LOCK_ONE(sweep)
"""
    # A function of the same name, which runs nothing.
    other = "static int end(int i)\n{\n\treturn i;\n}\n\nint most(void)\n{\n\treturn end(1);\n}\n"
    page = f"""
## {NEVER}
`PyTuple_Size`.
## {CAN}
`Py_DECREF`: the end of an object.
### `a.c`
| function | calls | read again |
|---|---|---|
| `end` | `Py_DECREF` | nothing |
| `sweep` | `end` 2 | the capacity |
"""
    planted = [
        ((), 0, ""),
        (("static int size", "static void more(void)\n{\n\tPyList_New(0);\n}\n\nint size"), 1,
         "no list of the page has PyList_New"),
        (("\tend(&cells->last);\n", ""), 1, "sweep calls `end`; its row has `end` 2"),
        (("\tend(&cells->last);\n", "\tend(&cells->last);\n\tPy_DECREF(cells);\n"), 1,
         "sweep calls `Py_DECREF`, `end` 2"),
        (("return PyTuple_Size(tuple);", "Py_DECREF(tuple);\n\treturn PyTuple_Size(tuple);"), 1,
         "size has no row"),
        (("\tPy_DECREF(cell->udata);", "\t;"), 3, "end has a row, and runs no Python code"),
        (("return PyTuple_Size(tuple);", "return 0;"), 1, "no file calls PyTuple_Size"),
    ]
    pages = [
        (("| nothing |", "| |"), 1, "the row of end does not say"),
        (("| `end` | `Py_DECREF` | nothing |\n", ""), 1, "end has no row"),
        (("| `sweep`", "| `end` | `Py_DECREF` | nothing |\n| `sweep`"), 1, "end has two rows"),
        (("`PyTuple_Size`.", "`PyTuple_Size`, `Py_DECREF`."), 1, "Py_DECREF is in both lists"),
    ]
    right = True
    for change, count, words, in_page in [(*one, False) for one in planted] + [
            (*one, True) for one in pages]:
        changed = [source, page]
        if change:
            changed[in_page] = changed[in_page].replace(*change)
            assert changed != [source, page], change
        found = list(differences({"a.c": changed[0], "b.c": other}, changed[1]))
        if len(found) != count or (words and not any(words in line for line in found)):
            print(f"reentry: planted {change}: found {found}")
            right = False
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return 0 if self_test() else 1
    files = {path.name: path.read_text() for path in SOURCES.glob("*.[ch]")}
    text = PAGE.read_text()
    page = Page(text)
    if options.rows:
        file = None
        for (name, function), calls in expected(files, page)[0].items():
            if name != file:
                file = name
                print(f"\n### `{file}`\n\n| function | calls | read again after them |")
                print("|---|---|---|")
            again = page.rows.get((name, function), (None, ""))[1]
            print(f"| `{function}` | {shown(calls)} | {again} |")
        return 0
    found = list(differences(files, text))
    for line in found:
        print(f"reentry: {line}")
    print(f"reentry: {len(files)} files, {len(page.rows)} rows; {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
