"""C read as text, for the checks of style, circles, sizes, owners and calls of Python.

This is no compiler: a macro may hide what a function does, and the files of all systems are read
alike.
"""
import re
from typing import NamedTuple

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(text):
    """Replace comments, strings and characters by spaces; keep every newline."""
    def spaces(match):
        kept = re.sub(r"[^\n]", " ", match.group())
        return kept if match.group()[0] == "/" else f'"{kept[2:]}"'

    return TOKEN.sub(spaces, text)


def without_directives(code):
    """Blank preprocessor lines with their continuations: macros may hold odd braces."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
                  lambda match: re.sub(r"[^\n]", " ", match.group()), code, flags=re.M)
    return re.sub(r'extern\s+"\s*"\s*\{', lambda match: " " * len(match.group()), code)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def matching(text, at, pair="{}"):
    """The index behind the bracket that closes the one at `at`."""
    depth = 0
    for index in range(at, len(text)):
        depth += (text[index] == pair[0]) - (text[index] == pair[1])
        if depth == 0:
            return index + 1
    raise ValueError("unbalanced")


class Piece(NamedTuple):
    """What has braces outside of all others: the text before them, with them, and its lines."""
    head: str
    body: str
    first: int
    last: int

    def function(self):
        """The name of the function that this defines; None: it is no function."""
        head = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", self.head, flags=re.S)
        match = re.search(r"\b(\w+)\s*\([^={}]*\)\s*$", head)
        return match.group(1) if match else None


def pieces(blanked):
    """Yield each Piece of a file whose comments and strings are blank."""
    code = without_directives(blanked)
    depth, start, opened = 0, 0, 0
    for match in re.finditer(r"[{};]", code):
        at, mark = match.start(), match.group()
        if mark == "{":
            if depth == 0:
                opened = at
            depth += 1
        elif mark == "}":
            depth = max(depth - 1, 0)
            if depth == 0:
                head = code[start:opened]
                first = start + len(head) - len(head.lstrip())
                yield Piece(head, code[opened:at], line_of(code, first), line_of(code, at))
                start = at + 1
        elif depth == 0:
            start = at + 1
