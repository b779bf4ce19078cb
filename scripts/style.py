#!/usr/bin/env python3
"""Check the style: the limits and bans that can be counted.

  style.py              check the tree; exit 1 and one line per finding
  style.py --self-test  check that each rule catches its bad sample

Each rule is a function that yields (line, message).  It gets a file as a Source, which
holds its text with and without comments and strings.  KINDS has the rules of each file.
"""
import os
import re
import sys
from pathlib import Path

import ccode
import systems
from ccode import line_of

ROOT = Path(__file__).resolve().parent.parent
NOT_OURS = {".git", "build", "target"} # folders
FUNCTION_LINES = 60
FUNCTION_LINES_NOTED = 40
FILE_LINES = 500
BACKEND_FILE_LINES = 350
COLUMNS = 100
TAB = 8
ASSERTIONS_PER_KLOC = 6.73
IFS_PER_KLOC = 8

FAMILIES = systems.families()

# What a folder of src/ may include from src/: base <- sys <- source <- {core, each family}.  A
# family includes its own headers and posix's, if its systems have that; none but it does.
MAY_INCLUDE = {
    "base": {"base"},
    "sys": {"sys", "base"},
    "source": {"source", "sys", "base"},
    "core": {"core", "source", "sys", "base"},
    **{family: {"source", "sys", "base"} | systems.below(family) for family in FAMILIES},
}
# Folders outside src/ that may use the headers of another folder.
MAY_ALSO_INCLUDE = {"tools/xpoll": ("bench",), "tools/xpoll/windows": ("tools/xpoll",),
                    "bench": ("bench",), "tests": ("tests/lib",),
                    "tests/source/windows": ("tests/source",),
                    "tests/model/fuzz": ("tools/xpoll",), "tests/dropin": ("dropin/poll",),
                    "dropin/common": ("dropin/poll",)} # Each drop-in has such a header.
SEES_INSIDE = ("tests/unit/", "tests/fault/", "tests/use/port/")
# Whose words are the field's: the kernel reports, the queue delivers, a call returns.
SPEAKS_PLAINLY = ("src", "dropin", "tree", "include", "docs")
RETIRED = re.compile(r"(?<![\w-])(?:tells?|telling|told|anew)(?!\w)"
                     r"|(?<![A-Za-z])(?:keeper|beacon|lamp|laden|hushed|puppet|torment)s?"
                     r"(?![A-Za-z])", re.I)
# Folders outside src/ that carry their own copy of some of it: see docs/decisions.
CARRIES = {"dropin/poll": {"common", "base", "sys", "posix", "linux"},
           "dropin/kqueue": {"common", "base"}, "dropin/epoll": {"common", "base"},
           "dropin/common": {"common", "base"}}


class Source:
    """One C file: its lines, and the same text with comments and strings blanked."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.splitlines()
        self.code = ccode.blank(text)
        self.code_lines = self.code.splitlines()

    def under(self, *folders):
        return self.path.startswith(tuple(folder.rstrip("/") + "/" for folder in folders))


def functions(source):
    """Yield (first line, last line) of every function definition."""
    return ((piece.first, piece.last) for piece in ccode.pieces(source.code) if piece.function())


def include_guard(source):
    """The index of the line that opens the include guard, or -1."""
    for index, line in enumerate(source.code_lines[:-1]):
        match = re.match(r"\s*#\s*ifndef\s+(\w+_H)\s*$", line)
        if match:
            nexts = source.code_lines[index + 1]
            return index if re.match(rf"\s*#\s*define\s+{match.group(1)}\s*$", nexts) else -1
    return -1


def conditionals(source):
    guard = include_guard(source)
    return [index + 1 for index, line in enumerate(source.code_lines)
            if index != guard and re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b", line)]


# --- Rules for one C file ----------------------------------------------------


def rule_function_length(source):
    for first, last in functions(source):
        if last - first + 1 > FUNCTION_LINES:
            yield first, f"function of {last - first + 1} lines (at most {FUNCTION_LINES})"


def of_backend(source):
    """Returns true for a file of a back end, by its name."""
    return (source.under(*(f"src/{family}" for family in FAMILIES))
            and Path(source.path).stem.split("_")[0] in ("array", *systems.backends()))


def rule_file_length(source):
    limit = BACKEND_FILE_LINES if of_backend(source) else FILE_LINES
    if len(source.lines) > limit:
        yield len(source.lines), f"file of {len(source.lines)} lines (at most {limit})"


def rule_no_conditionals(source):
    if source.under("src/core") or re.fullmatch(r"src/source/[^/]+\.c", source.path):
        for line in conditionals(source):
            yield line, "#if here: let the build choose a file"


def rule_macro_flow(source):
    # Checks of the harness, and whole functions made from a table.
    if (source.under("tests/lib", "tests/fault/sweep")
            or source.path == "python/src/locked.h"):
        return
    for match in re.finditer(r"^[ \t]*#[ \t]*define(?:[^\n]*\\\n)*[^\n]*", source.code, re.M):
        word = re.search(r"\b(return|goto|break|continue)\b", match.group())
        if word:
            yield line_of(source.code, match.start()), f"macro with {word.group()}"


def rule_banned_words(source):
    text = re.compile(r"\b(FIXME|XXX|HACK|TODO|v?sprintf|str(?:cpy|cat)|usleep)\b")
    for number, line in enumerate(source.lines, 1):
        for word in text.findall(line):
            yield number, f"banned word {word}"
    if source.under("src/base"):
        return
    for number, line in enumerate(source.code_lines, 1):
        for word in re.findall(r"\b(assert|abort)\s*\(", line):
            yield number, f"bare {word}()"


def rule_retired_words(source):
    """Words that the source had for what the field has a word for."""
    if not source.under(*SPEAKS_PLAINLY):
        return
    for number, line in enumerate(source.lines, 1):
        for word in RETIRED.findall(line):
            yield number, f"retired word {word}"


def rule_opening_comment(source):
    if not source.text.lstrip().startswith(("/*", "//")):
        yield 1, "a file opens with a comment that says what it is"


def rule_tabs(source):
    depth = 0
    for number, line in enumerate(ccode.without_directives(source.code).splitlines(), 1):
        if depth > 0 and line.startswith(" ") and line.strip():
            yield number, "indented with spaces"
        depth = max(depth + line.count("{") - line.count("}"), 0)


def includes(source):
    """Yield (line, quoted?, path)."""
    for number, line in enumerate(source.lines, 1):
        match = re.match(r'\s*#\s*include\s+([<"])([^">]+)[">]', line)
        if match:
            yield number, match.group(1) == '"', match.group(2)


def rule_include_edges(source):
    for number, quoted, path in includes(source):
        if ".." in path.split("/"):
            yield number, f'include of "{path}": no ".." in include paths'
        elif path == "xpoll.h":
            if quoted:
                yield number, "the public header is included as <xpoll.h>"
        elif quoted and source.under("src"):
            folder = source.path.removeprefix("src/").split("/")[0]
            target = path.split("/")[0]
            if "/" not in path or target not in MAY_INCLUDE[folder]:
                yield number, f'src/{folder} may not include "{path}"'
        elif quoted and not outside_include_is_fine(source, path):
            yield number, f'"{path}" is neither of this folder nor <xpoll.h>'


def rule_system_calls(source):
    """They are made in sys_*.c, which the drop-in for poll(2) takes."""
    if source.under("src") and not Path(source.path).name.startswith("sys_"):
        for number, _, path in includes(source):
            if path in ("sys/libcall.h", "sys/rawcall.h") and not source.under("src/sys"):
                yield number, f"system calls outside of sys_*.c: {path}"


def outside_include_is_fine(source, path):
    if source.under(*SEES_INSIDE) and path.split("/")[0] in MAY_INCLUDE:
        return True
    for user, inside in CARRIES.items():
        if source.under(user) and path.split("/")[0] in inside:
            return True
    folders = [str(Path(source.path).parent)]
    for user, others in MAY_ALSO_INCLUDE.items():
        if source.under(user):
            folders += others
    return any((ROOT / folder / path).exists() for folder in folders)


# --- Rules for every text file ------------------------------------------------


def rule_columns(source):
    for number, line in enumerate(source.lines, 1):
        if len(line.expandtabs(TAB)) > COLUMNS:
            yield number, f"{len(line.expandtabs(TAB))} columns (at most {COLUMNS})"


def rule_line_ends(source):
    for number, line in enumerate(source.lines, 1):
        if line != line.rstrip():
            yield number, "white space at the end of the line"
    if source.text and not source.text.endswith("\n"):
        yield len(source.lines), "no newline at the end of the file"


def rule_script_opening(source):
    if not source.text.startswith(("#", '"""')):
        yield 1, "a file opens with a comment that says what it is"


def rule_java_length(source):
    """Every public name has its comment there, so these are not counted."""
    lines = sum(1 for line in source.code_lines if line.strip())
    if lines > FILE_LINES:
        yield len(source.lines), f"file of {lines} lines of code (at most {FILE_LINES})"


def rule_no_tabs(source):
    for number, line in enumerate(source.lines, 1):
        if "\t" in line:
            yield number, "a tab"


TEXT_RULES = (rule_columns, rule_line_ends, rule_retired_words)
C_RULES = (rule_function_length, rule_file_length, rule_no_conditionals, rule_macro_flow,
           rule_banned_words, rule_opening_comment, rule_tabs, rule_include_edges,
           rule_system_calls, *TEXT_RULES)
KINDS = (
    (r".*\.[ch]", C_RULES),
    (r".*\.java", (rule_java_length, rule_no_tabs, rule_banned_words, *TEXT_RULES)),
    (r".*\.rs", (rule_file_length, rule_no_tabs, rule_banned_words, rule_opening_comment,
                 *TEXT_RULES)),
    (r".*\.(py|sh|cmake)|(.*/)?CMakeLists\.txt|dev", (rule_script_opening, *TEXT_RULES)),
    (r"(docs|include)/.*\.(md|hpp|[1-9])", (rule_retired_words,)),
)


# --- Rules for the tree ---------------------------------------------------------


def tree_assertions(sources):
    lines = sum(bool(line.strip()) for s in sources if s.under("src")
                for line in s.code.splitlines())
    count = sum(len(re.findall(r"\bXP_(?:ASSERT|CHECK)\s*\(", s.code))
                for s in sources if s.under("src"))
    if lines and count * 1000 < ASSERTIONS_PER_KLOC * lines:
        yield f"src: {count} assertions for {lines} of code (at least {ASSERTIONS_PER_KLOC}/1000)"


def tree_conditionals(sources):
    chosen = [s for s in sources if s.under("src/sys", *(f"src/{each}" for each in FAMILIES))]
    lines, count = sum(len(s.lines) for s in chosen), sum(len(conditionals(s)) for s in chosen)
    if count * 1000 > IFS_PER_KLOC * lines:
        yield f"src/sys and families: {count} #if in {lines} lines (at most {IFS_PER_KLOC}/1000)"


def tree_dead_files(sources):
    chosen = {name for system in systems.systems() for name in systems.sources(system)}
    named = (ROOT / "src" / "CMakeLists.txt").read_text()
    for source in sources:
        name = source.path.removeprefix("src/")
        if source.under("src") and name.endswith(".c") and name not in chosen and name not in named:
            yield f"{source.path}: src/Sources.cmake does not choose it"


TREE_RULES = (tree_assertions, tree_conditionals, tree_dead_files)


# --- Running them ----------------------------------------------------------------


def check_source(source, rules):
    return [f"{source.path}:{line}: {message}" for rule in rules for line, message in rule(source)]


def load():
    """(source, its rules) of each file of the tree that has any."""
    for folder, inside, names in os.walk(ROOT):
        inside[:] = sorted(set(inside) - NOT_OURS)
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), ROOT)
            for pattern, rules in KINDS:
                if re.fullmatch(pattern, path):
                    yield Source(path, (ROOT / path).read_text()), rules
                    break


def check_tree():
    sources, findings = [], []
    for source, rules in load():
        findings += check_source(source, rules)
        if rules is C_RULES:
            sources.append(source)
    for rule in TREE_RULES:
        findings += rule(sources)

    lengths = sorted(last - first + 1 for s in sources for first, last in functions(s))
    long = sum(length > FUNCTION_LINES_NOTED for length in lengths)
    for finding in findings:
        print(finding)
    print(f"style: {len(sources)} C files, {len(lengths)} functions, median "
          f"{lengths[len(lengths) // 2] if lengths else 0} lines, {long} over "
          f"{FUNCTION_LINES_NOTED}; {len(findings)} findings")
    return 1 if findings else 0


GOOD = ("src/core/good.c", """/* Good. */
#include <xpoll.h>
#include "base/list.h"

static const int table[] = {
\t1, /* return "{" */
};

static int good(int a,
                int b)
{
\tif (a > b)
\t\treturn table[0];
\treturn '{';
}
""")

BAD = (
    (rule_function_length, "src/core/a.c", "/* */\nint f(void)\n{\n" + "\t;\n" * 58 + "}\n"),
    (rule_file_length, "src/core/a.c", "/* */\n" * 501),
    (rule_file_length, "src/posix/select_a.c", "/* */\n" * 351),
    (rule_no_conditionals, "src/core/a.c", "/* */\n#ifdef A\n#endif\n"),
    (rule_no_conditionals, "src/source/a.c", "/* */\n#if A\n#endif\n"),
    (rule_no_conditionals, "src/core/a.h",
     "/* */\n#ifndef A_H\n#define A_H\n#if B\n#endif\n#endif\n"),
    (rule_macro_flow, "src/core/a.c", "/* */\n#define A(x) \\\n\tif (x) \\\n\t\treturn 1\n"),
    (rule_banned_words, "bench/a.c", "/* TODO */\n"),
    (rule_banned_words, "bench/a.c", "/* */\nvoid f(void) { usleep(1); }\n"),
    (rule_banned_words, "src/core/a.c", "/* */\nvoid f(void) { assert(0); }\n"),
    (rule_banned_words, "src/core/a.c", "/* */\nvoid f(void) { abort(); }\n"),
    (rule_retired_words, "src/core/a.c", "/* The kernel is told. */\n"),
    (rule_retired_words, "src/core/a.c", "int xp_beacon_open;\n"),
    (rule_retired_words, "docs/a.md", "The set is made anew.\n"),
    (rule_opening_comment, "src/core/a.c", "int a;\n"),
    (rule_tabs, "src/core/a.c", "/* */\nint f(void)\n{\n    return 1;\n}\n"),
    (rule_include_edges, "src/base/a.c", '/* */\n#include "sys/sys.h"\n'),
    (rule_include_edges, "src/linux/a.c", '/* */\n#include "core/queue.h"\n'),
    (rule_include_edges, "src/linux/a.c", '/* */\n#include "bsd/sys_kqueue.h"\n'),
    (rule_include_edges, "src/posix/a.c", '/* */\n#include "linux/sys_linux.h"\n'),
    (rule_include_edges, "src/windows/a.c", '/* */\n#include "posix/edge.h"\n'),
    (rule_include_edges, "src/sys/a.c", '/* */\n#include "source/source.h"\n'),
    (rule_include_edges, "src/core/a.c", '/* */\n#include "linux/sys_linux.h"\n'),
    (rule_include_edges, "src/source/a.c", '/* */\n#include "linux/system.h"\n'),
    (rule_include_edges, "src/core/a.c", '/* */\n#include "xpoll.h"\n'),
    (rule_include_edges, "src/core/a.c", '/* */\n#include "../tests/lib/xt.h"\n'),
    (rule_include_edges, "bench/a.c", '/* */\n#include "core/queue.h"\n'),
    (rule_include_edges, "dropin/poll/a.c", '/* */\n#include "core/queue.h"\n'),
    (rule_include_edges, "dropin/kqueue/a.c", '/* */\n#include "sys/sys.h"\n'),
    (rule_include_edges, "tests/contract/a.c", '/* */\n#include "base/list.h"\n'),
    (rule_system_calls, "src/linux/a.c", '/* */\n#include "sys/rawcall.h"\n'),
    (rule_script_opening, "scripts/a.py", "import os\n"),
    (rule_java_length, "java/A.java", "int a;\n" * 501),
    (rule_no_tabs, "java/A.java", "class A {\n\tint a;\n}\n"),
    (rule_columns, "src/core/a.c", "/* */\n\t\t" + "a" * 85 + "\n"),
    (rule_line_ends, "src/core/a.c", "/* */ \n"),
    (rule_line_ends, "src/core/a.c", "/* */"),
)


def self_test():
    failures = 0
    for finding in check_source(Source(*GOOD), C_RULES):
        print(f"found in the good sample: {finding}")
        failures += 1
    for rule, path, text in BAD:
        if not list(rule(Source(path, text))):
            print(f"{rule.__name__} missed its sample {text!r} in {path}")
            failures += 1
    print(f"style: {len(BAD)} bad samples, {failures} failures")
    return 1 if failures else 0


def main():
    if sys.argv[1:] not in ([], ["--self-test"]):
        sys.exit(__doc__)
    sys.exit(self_test() if sys.argv[1:] else check_tree())


if __name__ == "__main__":
    main()
