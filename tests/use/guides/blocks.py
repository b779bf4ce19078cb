"""The blocks of code in README, the guides and the tutorial, and what runs each of them.

  blocks.py               name each block that nothing is known to run, and each line of the
                          table below that has no block; exit 1 if there is any
  blocks.py --self-test   check that it finds planted ones

A block is fenced, or indented by four spaces.  Its place is the page and the heading it stands
under.  What runs it is one of these:

  a test below this folder: the name of a method of test_guides.py
  a file of the tree, which takes the block from the page or has the same lines; and why no
  test does so, if it is a script for people

A block that is the whole of a file of examples/ is compared with that file by docs.py, and the
tests of the examples run it.  Those in Python and Java are taken from the pages by the test of
each binding.
"""
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent.parent
# Each takes all blocks of its language from these pages.
BY_LANGUAGE = {
    "python": ("python/tests/test_docs.py", r"docs/.*"),
    "java": ("java/tests/examples.sh", r"docs/guide/java\.md"),
}
TABLE = {
    "README.md": {
        "Ten lines": ["ten_lines", "test_guides.py"],
        "Try it": ["tests/use/dev.sh"],
        "Use it": ["tests/use/install/readme.sh"],
    },
    "docs/site/index.md": {"Ten lines": ["ten_lines"]},
    "docs/site/install.md": {
        "From the sources": ["tests/use/install/readme.sh", "installed"],
        "In your project": ["test_guides.py"],
    },
    "docs/guide/README.md": {"Guides": ["test_guides.py"]},
    "docs/guide/choosing-a-mode.md": {
        "Level": ["level"], "Edge": ["edge"], "One-shot": ["one_shot"],
        "Dispatch": ["dispatch"], "Changing the mode": ["edge_to_level"],
    },
    "docs/guide/cpp.md": {
        "C++": ["cpp_events", "test_guides.py"],
        "Descriptors only, by any number of threads": ["cpp_poll"],
        "Coroutines": ["cpp_resume"],
        "Read, or give up after a while": ["cpp_give_up"],
    },
    "docs/guide/epoll.md": {
        "Build it": ["epoll_by_hand", "epoll_by_configure", "epoll_by_cmake",
                     "epoll_by_cmake_unchanged", "epoll_by_meson", "epoll_by_archive"],
        "Test it": ["epoll_over_poll", "epoll_over_model"],
    },
    "docs/guide/errors.md": {"Errors of a change": ["add_reader"]},
    "docs/guide/from-epoll.md": {"A server": ["echo_server"]},
    "docs/guide/from-kqueue.md": {"A program": ["from_kqueue"]},
    "docs/guide/from-libevent.md": {"A loop with callbacks": ["callbacks"]},
    "docs/guide/java.md": {
        "Java": ["java/tests/package.sh", "java/tests/examples.sh"],
        "Unmodified programs for java.nio": ["java/tests/package.sh"],
        "Five programs": ["java/tests/examples.sh"],
    },
    "docs/guide/kqueue.md": {
        "kqueue(2) programs on Linux": ["kqueue_by_hand", "kqueue_by_configure",
                                        "kqueue_by_cmake", "kqueue_by_cmake_unchanged",
                                        "kqueue_by_meson"],
        "From libkqueue": ["kqueue_version"],
    },
    "docs/guide/packaging.md": {
        "What it needs": ["tests/use/install/run.sh", "tests/use/install/run.sh"],
        "Using it in a project": ["packaging_cmake", "packaging_meson"],
        "Two files": ["tests/use/install/run.sh"],
        "Testing a package": ["labels"],
        "The bindings": ["tests/use/install/run.sh"],
    },
    "docs/guide/python.md": {"Python": ["python/tests/wheel.sh"]},
    "docs/guide/questions.md": {"When something is wrong": ["tests/use/examples/test_traced.py"]},
    "docs/guide/retrofit-poll.md": {
        "Retrofit a poll(2) program in ten minutes": ["echo_server", "echo_server"],
        "The steps": ["want_write"],
    },
    "docs/guide/retrofit-select.md": {
        "1. The sets become a queue": ["examples/pages-queue.c"],
        "4. The tests become events": ["examples/pages-queue.c"],
        "After": ["pages_queue"],
    },
    "docs/guide/rust.md": {
        "Rust": ["rust/cargo.sh", "rust/cargo.sh"],
        "Runtimes": ["rust/cargo.sh", "rust/theirs.sh"],
        "Measured": ["bench/peers/build.sh"],
    },
    "docs/guide/threads.md": {"A pool": ["pool"], "A pool for descriptors only": ["pool_poll"]},
    "docs/guide/windows.md": {"Building": ["scripts/windows.sh", "scripts/windows.sh"]},
    "docs/tutorial/README.md": {"Tutorial": ["test_guides.py"]},
    "docs/tutorial/1-echo-server.md": {
        "1. An echo server": ["tests/use/examples/test_tutorial.py"]},
    "docs/tutorial/2-timers-and-signals.md": {
        "2. Timers and signals": ["tutorial_ticks"]},
    "docs/tutorial/4-files-and-processes.md": {
        "4. Files and processes": ["tutorial_rerun"]},
    "docs/tutorial/5-asynchronous-io.md": {
        "5. Asynchronous I/O": ["tutorial_copy"]},
    "docs/tutorial/6-inside-another-loop.md": {
        "6. Inside another loop": ["tests/use/examples/test_tutorial.py"]},
}


class Block(NamedTuple):
    page: str
    line: int
    heading: str
    language: str  # "" of one that is indented
    text: str
    whole_of: str  # the file of examples/ that it is


def pages():
    yield ROOT / "README.md"
    for folder in ("docs/guide", "docs/tutorial", "docs/site"):
        yield from sorted((ROOT / folder).glob("*.md"))


def blocks_of(page, text):
    heading = whole_of = ""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line, first = lines[at], at
        at += 1
        fence = re.match(r"( *)```(\w*)[\w,]*$", line)
        if fence:
            while at < len(lines) and not re.match(r" *```$", lines[at]):
                at += 1
            body = [one[len(fence[1]):] for one in lines[first + 1:at]]
            yield Block(page, first + 1, heading, fence[2] or "text", "\n".join(body) + "\n",
                        whole_of)
            at += 1
        elif re.match(r" {4}\S", line) and (first == 0 or not lines[first - 1].strip()):
            while at < len(lines) and lines[at].startswith("    "):
                at += 1
            # What is indented below a list item belongs to its text.
            if not re.match(r"[-*] |\d+\. |  ", previous(lines, first)):
                yield Block(page, first + 1, heading, "",
                            "\n".join(one[4:] for one in lines[first:at]) + "\n", "")
        elif line.startswith("#"):
            heading = line.lstrip("#").strip()
        if line.strip():
            mark = re.fullmatch(r"<!-- the whole of (\S+) -->", line)
            whole_of = mark[1] if mark else ""


def previous(lines, at):
    """The last line before that one that is not empty."""
    return next((line for line in reversed(lines[:at]) if line.strip()), "")


def all_blocks():
    for path in pages():
        page = str(path.relative_to(ROOT))
        yield from blocks_of(page, path.read_text())


def to_run(blocks):
    """Those of the table: neither the whole of a file nor run by the test of a language."""
    for block in blocks:
        _, of_pages = BY_LANGUAGE.get(block.language, (None, "$^"))
        if not block.whole_of and not re.fullmatch(of_pages, block.page):
            yield block


def with_runner(blocks, table):
    """(block, what runs it or None) of each, and (None, line) of the lines that are left."""
    left = {(page, heading): list(runners) for page, headings in table.items()
            for heading, runners in headings.items()}
    for block in to_run(blocks):
        runners = left.get((block.page, block.heading))
        yield block, runners.pop(0) if runners else None
    for (page, heading), runners in left.items():
        for runner in runners:
            yield None, f"{page}, {heading}: there is no block for {runner}"


def in_tree(runner):
    """Is it a file?"""
    return re.search("[./]", runner)


def findings(blocks, table, methods):
    for block, runner in with_runner(blocks, table):
        if block is None:
            yield runner
        elif runner is None:
            yield (f"{block.page}:{block.line}: nothing runs this block: name what does in "
                   f"tests/use/guides/blocks.py, under {block.heading!r}")
        elif in_tree(runner) and not any(map(Path.exists, (ROOT / runner,
                                                         Path(__file__).parent / runner))):
            yield f"{block.page}:{block.line}: there is no {runner}"
        elif not in_tree(runner) and f"def run_{runner}(" not in methods:
            yield f"{block.page}:{block.line}: test_guides.py has no run_{runner}"


def self_test():
    text = "# A\n\ntext\n\n```c\nint a;\n```\n\n## B\n\n    cc a.c\n\n- a list\n\n      b\n"
    found = list(blocks_of("p.md", text))
    assert [(one.heading, one.language, one.text) for one in found] == [
        ("A", "c", "int a;\n"), ("B", "", "cc a.c\n")], found
    methods = "def run_a(self, block):"
    assert not list(findings(found, {"p.md": {"A": ["a"], "B": ["README.md"]}}, methods))
    for table, words in (
            ({"p.md": {"A": ["a"]}}, "nothing runs"),
            ({"p.md": {"A": ["a"], "B": ["none.sh"]}}, "there is no none.sh"),
            ({"p.md": {"A": ["b"], "B": ["README.md"]}}, "has no run_b"),
            ({"p.md": {"A": ["a", "a"], "B": ["README.md"]}}, "there is no block for a")):
        said = list(findings(found, table, methods))
        assert len(said) == 1 and words in said[0], (table, said)
    # The pages as they are, with one block more.
    planted = [*all_blocks(), *blocks_of("README.md", "# Planted\n\n```c\nint a;\n```\n")]
    methods = (Path(__file__).parent / "test_guides.py").read_text()
    assert [one for one in findings(planted, TABLE, methods) if "Planted" in one]


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        print("blocks: each planted fault is found")
        return
    found = list(findings(all_blocks(), TABLE,
                          (Path(__file__).parent / "test_guides.py").read_text()))
    print("\n".join(found) or f"blocks: each of {len(list(all_blocks()))} is run")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
