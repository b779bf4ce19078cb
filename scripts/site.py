#!/usr/bin/env python3
"""Put the documentation together as one site, build it, and check its links.

  site.py FOLDER BUILD   write mkdocs.yml and pages/ into FOLDER, make FOLDER/site of them by
                         MkDocs, and check that every link there leads to a file and an anchor,
                         and that no page loads anything from elsewhere; BUILD has the bindings
  site.py --test         put together a temporary folder, and check the links of its pages

The pages are the *.md of the tree, the manual as HTML by mandoc, the references of the bindings,
and a listing of each source file that a page links to.  `./dev docs` runs this in an environment
with MkDocs.
"""
import html
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote

import docs

ROOT = Path(__file__).resolve().parent.parent
MAN = docs.MAN
LANGUAGES = {".c": "c", ".h": "c", ".hpp": "cpp", ".cpp": "cpp", ".py": "python", ".pyi": "python",
             ".java": "java", ".rs": "rust", ".sh": "sh", ".yml": "yaml", ".rb": "ruby"}
CODE = re.compile(r"(^```.*?^```$|``.+?``|`[^`\n]+`)", re.M | re.S)
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
NAMED_PAGE = re.compile(r"(?<![\w\[/-])((?:xpoll|kqueue|kevent)[\w-]*)\((\d)\)(?!\])")
# Where a build tree has the references that tests make, and their first page.
MADE = {"Java": ("java/apidocs", "index.html"), "Rust": ("rust/target/doc", "xpoll/index.html")}
# What the page of references links to.
REFERRED_TO = ("include/xpoll.h", "include/xpoll_tree.h", "include/xpoll.hpp",
               "include/xpoll_tree.hpp", "python/xpoll/_xpoll.pyi")
# Folder of the tree: folder of the site.  What is not here keeps its path.
MOVED = {"docs/site/": "", "docs/": ""}


def manual_pages():
    """name.section: the file that holds it, for the links between pages as well."""
    return {page.name: page.resolve() for page in sorted(MAN.glob("*.[1-8]"))}


def place(file):
    """Where the site has a file of the tree."""
    name = file.relative_to(ROOT).as_posix()
    if name == "README.md":
        return "about.md"  # the site has a start page of its own
    if file.is_dir():
        return f"source/{name}/README.md"
    if file.parent == MAN:
        return f"man/{file.name}.md"
    for before, after in MOVED.items():
        if name.startswith(before):
            return after + name[len(before):]
    return name if file.suffix == ".md" else f"source/{name}.md"


class Site:
    """The pages as they are put together: `pages` by place, `wanted` source files."""

    def __init__(self):
        self.pages, self.wanted = {}, set()
        self.manual = manual_pages()

    def link(self, target, file, here):
        """A link of a page of the tree, as the site needs it."""
        name, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or not name:
            return target
        found = (file.parent / name).resolve()
        if (found / "README.md").exists():
            found = found / "README.md"
        if found.exists() and found.suffix not in (".md", ".svg") and found.parent != MAN:
            self.wanted.add(found)
        path = os.path.relpath(place(found), os.path.dirname(here) or ".")
        return f"{path}#{anchor}" if anchor else path

    def prose(self, text, file, here):
        """Links of a piece of Markdown without code; names of manual pages become links."""
        def linked(match):
            return f"{match[1]}{self.link(match[2], file, here)}{match[3]}"

        def named(match):
            page = self.manual.get(f"{match[1]}.{match[2]}")
            if page is None:
                return match[0]
            path = os.path.relpath(place(page), os.path.dirname(here) or ".")
            return f"[{match[0]}]({path})"

        pieces = re.split(r"(!?\[[^\]]*\]\([^)]*\)|^#.*$)", text, flags=re.M)
        for i, piece in enumerate(pieces):
            pieces[i] = LINK.sub(linked, piece) if i % 2 else NAMED_PAGE.sub(named, piece)
        return "".join(pieces)

    def add_markdown(self, file):
        here = place(file)
        # A link may have code in its text, and code may look like a link.
        codes = []
        text = CODE.sub(lambda match: codes.append(match[0]) or f"\0{len(codes) - 1}\0",
                        file.read_text())
        text = self.prose(text, file, here)
        self.pages[here] = re.sub(r"\0(\d+)\0", lambda match: codes[int(match[1])], text)

    def add_manual(self, file):
        fragment = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", file.name], cwd=MAN,
                                  check=True, capture_output=True, text=True).stdout
        self.pages[place(file)] = manual_page(file.name, fragment, self.manual)

    def add_source(self, file):
        name = file.relative_to(ROOT).as_posix()
        text = file.read_text()
        fence = "`" * max([3, *(len(ticks) + 1 for ticks in re.findall(r"`{3,}", text))])
        self.pages[place(file)] = (f"# {name}\n\n{fence}{LANGUAGES.get(file.suffix, 'text')}\n"
                                   f"{text}{fence}\n")

    def add_folder(self, folder):
        files = [file for file in sorted(folder.iterdir()) if file.suffix in LANGUAGES]
        self.wanted |= set(files)
        here = place(folder)
        links = "".join(f"- [{file.name}]({self.link(file.name, folder / 'README.md', here)})\n"
                        for file in files)
        self.pages[here] = f"# {folder.relative_to(ROOT)}\n\n{links}"

    def add_all(self):
        for file in docs.markdown():
            self.add_markdown(file)
        for file in sorted(set(self.manual.values())):
            self.add_manual(file)
        self.wanted |= {ROOT / name for name in REFERRED_TO}
        folders = {file for file in self.wanted if file.is_dir()}
        for folder in sorted(folders):
            self.add_folder(folder)
        for file in sorted(self.wanted - folders):
            self.add_source(file)


def manual_page(name, fragment, manual):
    """mandoc's HTML with headings of Markdown, which make the table of contents."""
    def reference(match):
        page = manual.get(f"{match[1]}.{match[2]}")
        shown = f"{match[1]}({match[2]})"
        return f'<a class="Xr" href="{page.name}.html">{shown}</a>' if page else shown

    body = re.sub(r'<table class="(?:head|foot)">.*?</table>', "", fragment, flags=re.S)
    body = re.sub(r'<div class="manual-text">|</?section[^>]*>', "", body)
    body = re.sub(r"</div>\s*\Z", "", body)
    body = re.sub(r'<a class="Xr">([^<(]+)\((\d)\)</a>', reference, body)
    title, _, section = name.rpartition(".")
    parts = [f"# {title}({section})"]
    for piece in re.split(r"(<h[12] .*?</h[12]>)", body, flags=re.S):
        heading = re.fullmatch(r'<h([12]) [^>]*?id="([^"]*)".*?>(.*)</h[12]>', piece, re.S)
        if heading:
            words = html.unescape(re.sub(r"<[^>]+>", "", heading[3]))
            parts.append(f"{'#' * (int(heading[1]) + 1)} {' '.join(words.split())} "
                         f"{{ #{heading[2]} }}")
        elif piece.strip():
            parts.append(f'<div class="man">\n{piece.strip()}\n</div>')
    return "\n\n".join(parts) + "\n"


def title(text):
    return re.search(r"^# (.*?)(?: \{.*)?$", text, re.M)[1].replace("`", "")


def ordered(page, pages, folder):
    """The pages of a folder in the order in which its first page links to them."""
    linked = [f"{folder}/{name}" for name in re.findall(r"\]\(([\w.-]+\.md)[)#]", pages[page])]
    rest = sorted(name for name in pages if name.startswith(f"{folder}/") and name != page)
    names = [name for name in dict.fromkeys(linked) if name in rest]
    return [page, *names, *(name for name in rest if name not in names)]


def navigation(pages):
    def entries(names):
        return [{title(pages[name]).removeprefix("Internals: ").capitalize()
                 if name.startswith("internals/") else title(pages[name]): name}
                for name in names]

    manual = [name for name in pages if name.startswith("man/")]
    sections = {"Commands": "1", "Calls": "3", "Filters, back ends, the poll(2) drop-in": "7",
                "kqueue(2)": "2"}
    by_section = [{label: entries(sorted(name for name in manual
                                         if name.endswith(f".{number}.md")
                                         and name != "man/xpoll.7.md"))}
                  for label, number in sections.items()]
    project = [name for name in ("CHANGELOG.md", "PLATFORMS.md", "DIFFERENCES.md", "SECURITY.md",
                                 "CONTRIBUTING.md", "RELEASING.md") if name in pages]
    packaging = [name for name in pages if name.startswith("packaging/")]
    return [
        {"Start": [{"xpoll": "index.md"}, {"Install": "install.md"},
                   {"What it is, and numbers": "about.md"}]},
        {"Tutorial": entries(ordered("tutorial/README.md", pages, "tutorial"))},
        {"Guides": entries(ordered("guide/README.md", pages, "guide") + ["examples/README.md"])},
        {"Manual": [{"All pages": "man/xpoll.7.md"}, *by_section]},
        {"Reference": entries(name for name in pages if name.startswith("reference/"))},
        {"Internals": entries(ordered("internals/overview.md", pages, "internals"))
         + [{"Decisions": entries(ordered("decisions/README.md", pages, "decisions"))}]},
        {"Project": entries(project + packaging)},
    ]


def references(site, build):
    """The page that lists the references, and Python's, by the package itself."""
    lines = ["# References", "",
             "| language | reference | guide |", "|---|---|---|",
             "| C | [the manual](../man/xpoll.7.md); "
             "[`xpoll.h`](../source/include/xpoll.h.md), the contract in short "
             "| [tutorial](../tutorial/README.md) |",
             "| C++ | [`xpoll.hpp`](../source/include/xpoll.hpp.md) | [C++](../guide/cpp.md) |"]
    if build:
        site.pages["reference/python.md"] = subprocess.run(
            [sys.executable, "-B", ROOT / "scripts" / "site_python.py"], check=True, text=True,
            capture_output=True, env={**os.environ, "PYTHONPATH": str(build / "python")}).stdout
        lines.append("| Python | [the package](python.md) | [Python](../guide/python.md) |")
    for language, (made, first) in MADE.items():
        name = language.lower()
        there = build and (build / made / first).exists()
        lines.append(f"| {language} | "
                     + (f"[its own tool's]({name}/{first})" if there else "not part of this copy")
                     + f" | [{language}](../guide/{name}.md) |")
    site.pages["reference/README.md"] = "\n".join(lines) + "\n"


def stage(folder, build=None):
    site = Site()
    site.add_all()
    references(site, build)
    site.pages = {name: site.pages[name] for name in sorted(site.pages)}
    pages = folder / "pages"
    for name, text in site.pages.items():
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        (pages / name).write_text(text)
    for extra in "images", "site/assets":
        shutil.copytree(ROOT / "docs" / extra, pages / Path(extra).name, dirs_exist_ok=True)
    settings = (ROOT / "docs" / "site" / "mkdocs.yml").read_text()
    (folder / "mkdocs.yml").write_text(
        f"{settings}\nnav: {json.dumps(navigation(site.pages))}\n")
    return site


def make(folder, build):
    """FOLDER/site; returns what is wrong with it."""
    for made in "pages", "site":
        shutil.rmtree(folder / made, ignore_errors=True)
    subprocess.run(["ctest", "--test-dir", build, "--output-on-failure",
                    "-R", r"^(java\.javadoc|rust\.doc)$"], check=True)
    stage(folder, build)
    for language, (made, first) in MADE.items():
        if (build / made / first).exists():
            shutil.copytree(build / made, folder / "pages" / "reference" / language.lower())
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet"], cwd=folder, check=True,
                   env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    return [*check(folder / "site")]


class Page(html.parser.HTMLParser):
    """The links and the anchors of a page of HTML."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors |= {values[key] for key in ("id", "name") if values.get(key)}
        link = values.get("href") if tag in ("a", "link") else values.get("src")
        if link:
            (self.links if tag == "a" else self.loaded).append(link)


def check(folder):
    """One line for each link of the pages that leads nowhere.  What javadoc and rustdoc
    have made is a target only: they check themselves."""
    pages = {file: Page(file.read_text()) for file in sorted(folder.rglob("*.html"))}
    for file, page in pages.items():
        inside = file.relative_to(folder).parts
        if inside[0] == "404.html" or (inside[0] == "reference" and len(inside) > 2):
            continue
        for link in page.links + page.loaded:
            path, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:|//", link):
                if link in page.loaded and not link.startswith("data:"):
                    yield f"{file.relative_to(folder)}: loads {link}"
                continue
            target = (file.parent / unquote(path.partition("?")[0])).resolve() if path else file
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                yield f"{file.relative_to(folder)}: {link} leads nowhere"
            elif anchor and target in pages and unquote(anchor) not in pages[target].anchors:
                yield f"{file.relative_to(folder)}: {link} names no part of its page"


def check_staged(site):
    """The links of Markdown and of the manual's HTML, before MkDocs makes pages of them."""
    for name, text in site.pages.items():
        for link in re.findall(r'\]\(([^)\s]+)\)|href="([^"]+)"', CODE.sub("", text)):
            path = (link[0] or link[1]).partition("#")[0]
            target = os.path.normpath(os.path.join(os.path.dirname(name), path))
            if not path or re.match(r"[a-z]+:", path) or target.startswith("images/"):
                continue
            if re.sub(r"\.html$", ".md", target) not in site.pages:
                yield f"{name}: {path} leads nowhere"


def in_navigation(entries):
    for entry in entries:
        for value in entry.values():
            yield from [value] if isinstance(value, str) else in_navigation(value)


def test():
    if not shutil.which("mandoc"):
        print("SKIP: mandoc is not installed; ./dev check installs it")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        site = stage(Path(folder))
    findings = [*check_staged(site)]
    shown = set(in_navigation(navigation(site.pages)))
    findings += [f"{name}: nothing leads to it" for name in shown - set(site.pages)]
    for part in "guide", "internals", "decisions", "man", "tutorial":
        findings += [f"{name}: not in the navigation" for name in site.pages
                     if name.startswith(f"{part}/") and name not in shown]
    # The check itself: a link that leads nowhere is found.
    site.pages["planted.md"] = "[planted](nowhere.md)"
    if not any(line.startswith("planted.md") for line in check_staged(site)):
        findings.append("site.py: does not find a planted link")
    return findings


def main():
    if sys.argv[1:] == ["--test"]:
        findings, good = test(), "the pages lead to each other"
    elif len(sys.argv) == 3:
        folder, build = (Path(name).resolve() for name in sys.argv[1:])
        findings, good = make(folder, build), f"{folder / 'site' / 'index.html'} is made"
    else:
        sys.exit(__doc__)
    print("\n".join(findings) or f"site: {good}")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
