#!/usr/bin/env python3
"""Check that each large word of README, the guides and the tutorial has a test that shows it.

  claims.py               one line per finding; exit 1 if there is any
  claims.py --self-test   check that it finds planted ones

A large word is "free", "no system call", "without a system call", "never" or "any". claims.txt
lists the sentences that have one, each with what shows that it holds:

  == PAGE
  the words that the sentence begins with, as many as make it unique
      FILE:CASE         a test: XT_TEST(CASE), or a function CASE in another language
      FILE              a script or a test that is one case
      no claim: REASON  the word says nothing that could be wrong
"""
import re
import sys

import docs

ROOT = docs.ROOT
LIST = ROOT / "scripts" / "claims.txt"
# "not any more" is no "any".
LARGE = re.compile(r"\b(free|no system calls?|without (?:a )?system calls?|never|any(?! more\b))\b",
                   re.I)


def pages():
    yield ROOT / "README.md"
    for folder in ("guide", "tutorial", "site"):
        yield from sorted((ROOT / "docs" / folder).glob("*.md"))


def plain(text):
    """Without marks of emphasis and lists, and with the text of links alone."""
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)(?:\{[^}]*\})?", r"\1", text)
    text = re.sub(r"^\s*(?:[-*|#]+|\d+\.)\s+", "", text)
    return " ".join(text.replace("**", "").split())


def sentences(text):
    """Those of a page: of paragraphs, items of lists, headings, and cells of tables."""
    text = re.sub(r"(?m)^(?: {4}|\t).*$", "", text)
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.)\s)", text):
        cells = part.strip().strip("|").split(" | ") if part.lstrip().startswith("|") else [part]
        for cell in cells:
            for sentence in re.split(r"(?<=[.!?:])[*]* +(?=[\[A-Z`*(])", " ".join(cell.split())):
                yield plain(sentence)


def claims(text):
    return [sentence for sentence in sentences(text) if LARGE.search(sentence)]


def entries(text):
    """page: {beginning: [what shows it]}, as claims.txt has them."""
    listed, page, beginning = {}, None, None
    for line in text.split("\n"):
        if line.startswith("== "):
            page = listed.setdefault(line[3:].strip(), {})
        elif line.startswith("    "):
            page[beginning].append(line.strip())
        elif line and not line.startswith("#"):
            beginning = line.strip()
            page[beginning] = []
    return listed


def missing(evidence):
    """What is wrong with it, or None."""
    if re.match(r"no claim: \S", evidence):
        return None
    name, _, case = evidence.partition(":")
    if not (ROOT / name).is_file():
        return f"there is no {name}"
    functions = rf"XT_TEST\({case}\)|(?:def|fn|void) {case}\("
    if case and not re.search(functions, (ROOT / name).read_text()):
        return f"{name} has no {case}"
    return None


def findings(texts, listed):
    for page, text in texts.items():
        left = dict(listed.get(page, {}))
        for claim in claims(text):
            found = [beginning for beginning in left if claim.startswith(beginning)]
            if len(found) != 1:
                yield f"{page}: {'no line' if not found else 'several lines'} for: {claim}"
            for beginning in found:
                shown = left.pop(beginning)
                yield from (f"{page}: {beginning}: {wrong}" for wrong in map(missing, shown)
                            if wrong)
                if not shown:
                    yield f"{page}: {beginning}: nothing shows it"
        for beginning in left:
            yield f"{page}: no sentence with a large word begins: {beginning}"
    for page in sorted(listed.keys() - texts.keys()):
        yield f"there is no page {page}"


def self_test():
    page = ("# Title\n\nA call is free.  Two *lines\nthat* are one: it is\nnever early.\n\n"
            "| a | no system call |\n|---|---|\n\n- [Any](a.md) thread\n\n    any code\n\n"
            "It is not here any more.\n")
    texts = {"README.md": page}
    listed = ("== README.md\nA call is free.\n    scripts/claims.py:self_test\n"
              "Two *lines\n    scripts/claims.py\nno system call\n    no claim: a cell\n"
              "Any thread\n    scripts/claims.py\n")
    assert not list(findings(texts, entries(listed))), list(findings(texts, entries(listed)))
    for planted, words in (
            (listed.replace("A call is free", "A call is dear"), "no line for: A call is free"),
            (listed.replace(":self_test", ":none"), "has no none"),
            (listed.replace("scripts/claims.py\nno", "scripts/none.py\nno"), "no scripts/none.py"),
            (listed.replace("    no claim: a cell\n", ""), "nothing shows it"),
            (listed + "A call\n    scripts/claims.py\n", "several lines"),
            (listed + "== none.md\n", "no page none.md")):
        said = "\n".join(findings(texts, entries(planted)))
        assert words in said, (words, said)
    said = list(findings({"README.md": page + "\nIt costs no system call.\n"}, entries(listed)))
    assert said == ["README.md: no line for: It costs no system call."], said


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        print("claims: each planted fault is found")
        return
    texts = {str(path.relative_to(ROOT)): docs.prose(path) for path in pages()}
    found = list(findings(texts, entries(LIST.read_text())))
    print("\n".join(found) or f"claims: each of {sum(map(len, map(claims, texts.values())))} "
          "has what shows it")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
