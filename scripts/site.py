#!/usr/bin/env python3
"""The site of the documentation: a hook for MkDocs, which docs/site/mkdocs.yml names.

  site.py FOLDER BUILD   make FOLDER/site by MkDocs, which checks the links, and check that no
                         page loads anything from elsewhere; BUILD has the bindings
  site.py --test         check the links and the navigation, without MkDocs

The pages are the *.md of the tree, the manual as HTML by mandoc, the references of the bindings,
and a listing of each source file that a page links to.  MkDocs knows each by its path in the tree,
with ".md" behind the names of others, and resolves the links between them.  `./dev docs` runs this
in an environment with MkDocs.
"""
import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent)) # MkDocs loads this file by its path.
import docs # noqa: E402

ROOT = docs.ROOT
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
REFERENCE = "docs/reference/"


def relative(path):
    return path.relative_to(ROOT).as_posix()


def place(name):
    """Where the site has a page, or a picture, of this path in the tree."""
    if name == "README.md":
        return "about.html" # The site has a start page of its own.
    if name.startswith("docs/"):
        name = name.removeprefix("docs/").removeprefix("site/")
    elif "." in Path(name).stem or not (ROOT / name).exists():
        name = f"source/{name}"
    name = re.sub(r"(^|/)README\.md$", r"\1index.md", name)
    return re.sub(r"\.md$", ".html", name)


class Site:
    """The text of the pages, by their path in the tree; and source files that they link to."""

    def __init__(self, build=None):
        self.pages, self.wanted = {}, {ROOT / name for name in REFERRED_TO}
        self.manual = {page.name: page.resolve() for page in sorted(docs.MAN.glob("*.[1-8]"))}
        for file in docs.markdown():
            self.add_markdown(file)
        for file in sorted(set(self.manual.values())):
            self.add_manual(file)
        for folder in sorted(file for file in self.wanted if file.is_dir()):
            self.add_folder(folder)
        for file in sorted(file for file in self.wanted if file.is_file()):
            self.add_source(file)
        self.add_references(build)

    def link(self, target, file):
        """A link of a page, with ".md" if it leads to what has a page of its own here."""
        name, mark, anchor = target.partition("#")
        found = (file.parent / name).resolve()
        if re.match(r"[a-z]+:", target) or not name or not found.exists():
            return target
        if (found / "README.md").exists():
            found = found / "README.md"
        path = os.path.relpath(found, file.parent)
        if found.suffix not in (".md", ".svg"):
            path += "/README.md" if found.is_dir() else ".md"
            self.wanted |= {found} if found.parent != docs.MAN else set()
        return f"{path}{mark}{anchor}"

    def add_markdown(self, file):
        """Names of manual pages become links."""
        def linked(match):
            return f"{match[1]}{self.link(match[2], file)}{match[3]}"

        def named(match):
            page = self.manual.get(f"{match[1]}.{match[2]}")
            return f"[{match[0]}]({os.path.relpath(page, file.parent)}.md)" if page else match[0]

        # A link may have code in its text, and code may look like a link.
        codes = []
        text = CODE.sub(lambda match: codes.append(match[0]) or f"\0{len(codes) - 1}\0",
                        file.read_text())
        pieces = re.split(r"(!?\[[^\]]*\]\([^)]*\)|^#.*$)", text, flags=re.M)
        for i, piece in enumerate(pieces):
            pieces[i] = LINK.sub(linked, piece) if i % 2 else NAMED_PAGE.sub(named, piece)
        self.pages[relative(file)] = re.sub(r"\0(\d+)\0", lambda match: codes[int(match[1])],
                                            "".join(pieces))

    def add_manual(self, file):
        fragment = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", file.name],
                                  cwd=docs.MAN, check=True, capture_output=True, text=True).stdout
        self.pages[f"{relative(file)}.md"] = manual_page(file.name, fragment, self.manual)

    def add_source(self, file):
        text = file.read_text()
        fence = "`" * max([3, *(len(ticks) + 1 for ticks in re.findall(r"`{3,}", text))])
        self.pages[f"{relative(file)}.md"] = (
            f"# {relative(file)}\n\n{fence}{LANGUAGES.get(file.suffix, 'text')}\n{text}{fence}\n")

    def add_folder(self, folder):
        files = [file for file in sorted(folder.iterdir()) if file.suffix in LANGUAGES]
        self.wanted |= set(files)
        links = "".join(f"- [{file.name}]({file.name}.md)\n" for file in files)
        self.pages[f"{relative(folder)}/README.md"] = f"# {relative(folder)}\n\n{links}"

    def add_references(self, build):
        """The page that lists the references, and Python's, by the package itself."""
        lines = ["# References", "",
                 "| language | reference | guide |", "|---|---|---|",
                 "| C | [the manual](../man/xpoll.7.md); "
                 "[`xpoll.h`](../../include/xpoll.h.md), the contract in short "
                 "| [tutorial](../tutorial/README.md) |",
                 "| C++ | [`xpoll.hpp`](../../include/xpoll.hpp.md) | [C++](../guide/cpp.md) |"]
        if build:
            sys.path[:0] = [str(build / "python"), str(ROOT / "scripts")]
            import site_python
            self.pages[f"{REFERENCE}python.md"] = site_python.page()
            lines.append("| Python | [the package](python.md) | [Python](../guide/python.md) |")
        for language, (made, first) in MADE.items():
            name = language.lower()
            shown = "not part of this copy"
            if build and (build / made / first).exists():
                shown = f'<a href="{name}/{first}">its own tool\'s</a>'
            lines.append(f"| {language} | {shown} | [{language}](../guide/{name}.md) |")
        self.pages[f"{REFERENCE}README.md"] = "\n".join(lines) + "\n"


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


# --- The navigation -----------------------------------------------------------------------


def title(text):
    return re.search(r"^# (.*?)(?: \{.*)?$", text, re.M)[1].replace("`", "")


def ordered(page, pages):
    """The pages of a folder in the order in which its first page links to them."""
    folder = page.rpartition("/")[0]
    linked = [f"{folder}/{name}" for name in re.findall(r"\]\(([\w.-]+\.md)[)#]", pages[page])]
    rest = sorted(name for name in pages if name.startswith(f"{folder}/") and name != page)
    names = [name for name in dict.fromkeys(linked) if name in rest]
    return [page, *names, *(name for name in rest if name not in names)]


def navigation(pages):
    def entries(names):
        return [{title(pages[name]).removeprefix("Internals: ").capitalize()
                 if "internals/" in name else title(pages[name]): name} for name in names]

    def manual(section):
        return entries(sorted(name for name in pages if name.startswith("docs/man/")
                              and name.endswith(f".{section}.md")
                              and name != "docs/man/xpoll.7.md"))

    project = ["CHANGELOG.md", "PLATFORMS.md", "DIFFERENCES.md", "SECURITY.md", "CONTRIBUTING.md",
               "RELEASING.md", *(name for name in sorted(pages) if name.startswith("packaging/"))]
    return [
        {"Start": [{"xpoll": "docs/site/index.md"}, {"Install": "docs/site/install.md"},
                   {"What it is, and numbers": "README.md"}]},
        {"Tutorial": entries(ordered("docs/tutorial/README.md", pages))},
        {"Guides": entries([*ordered("docs/guide/README.md", pages), "examples/README.md"])},
        {"Manual": [{"All pages": "docs/man/xpoll.7.md"}, {"Commands": manual(1)},
                    {"Calls": manual(3)}, {"Filters, back ends, the poll(2) drop-in": manual(7)},
                    {"kqueue(2)": manual(2)}]},
        {"Reference": entries(sorted(name for name in pages if name.startswith(REFERENCE)))},
        {"Internals": [*entries(ordered("docs/internals/overview.md", pages)),
                       {"Decisions": entries(ordered("docs/decisions/README.md", pages))}]},
        {"Project": entries(name for name in project if name in pages)},
    ]


def in_navigation(entries):
    for entry in entries:
        for value in entry.values():
            yield from [value] if isinstance(value, str) else in_navigation(value)


# --- MkDocs calls these -------------------------------------------------------------------


def build_tree():
    return Path(os.environ["XPOLL_SITE_BUILD"])


def on_files(files, config):
    """The folder of MkDocs has the assets alone."""
    from mkdocs.structure.files import File

    def add(file, name):
        file.dest_uri = place(name)
        files.append(file)

    for file in files:
        if file.src_dir == config.docs_dir:
            file.dest_uri = f"assets/{file.src_uri}"
    site = Site(build_tree())
    for name, text in sorted(site.pages.items()):
        add(File.generated(config, name, content=text), name)
    files.get_file_from_path("README.md").name = "about" # It is no index of a folder.
    for picture in sorted((ROOT / "docs" / "images").iterdir()):
        add(File.generated(config, relative(picture), abs_src_path=str(picture)),
            relative(picture))
    config.nav = navigation(site.pages)
    return files


def on_post_build(config):
    for language, (made, first) in MADE.items():
        if (build_tree() / made / first).exists():
            shutil.copytree(build_tree() / made,
                            Path(config.site_dir) / "reference" / language.lower(),
                            ignore=shutil.ignore_patterns(".lock"))


def make(folder, build):
    """Make FOLDER/site; returns what it loads from elsewhere.  What javadoc and rustdoc have made
    is not looked at."""
    subprocess.run(["ctest", "--test-dir", build, "--output-on-failure",
                    "-R", r"^(java\.javadoc|rust\.doc)$"], check=True)
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--clean",
                    "-f", ROOT / "docs/site/mkdocs.yml", "-d", folder / "site"], check=True,
                   env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "XPOLL_SITE_BUILD": str(build)})
    loads = re.compile(r'<(?!a\b)\w+\b[^>]*\b(?:src|href)="?((?:[a-z]+:)?//[^"\s>]+)')
    return [f"{file.relative_to(folder)}: loads {link}"
            for file in sorted((folder / "site").rglob("*.html"))
            if not re.search(r"/reference/\w+/", str(file))
            for link in loads.findall(file.read_text())]


# --- The test -----------------------------------------------------------------------------


def dead_links(pages):
    """Links of Markdown, and those of the manual's HTML, that lead nowhere."""
    for name, text in pages.items():
        for link in re.findall(r'\]\(([^)\s]+)\)', CODE.sub("", text)):
            path = link.partition("#")[0]
            target = os.path.normpath(os.path.join(os.path.dirname(name), path))
            if path and not re.match(r"[a-z]+:", path) and target not in pages and not (
                    target.endswith(".svg") and (ROOT / target).exists()):
                yield f"{name}: {path} leads nowhere"
        if name.startswith("docs/man/"):
            for anchor in re.findall(r'href="#([^"]+)"', text):
                if f'id="{anchor}"' not in text and f"{{ #{anchor} }}" not in text:
                    yield f"{name}: #{anchor} names no part of the page"


def test():
    if not shutil.which("mandoc"):
        print("SKIP: mandoc is not installed; ./dev check installs it")
        sys.exit(77)
    pages = Site().pages
    shown = set(in_navigation(navigation(pages)))
    findings = [*dead_links(pages), *(f"{name}: nothing leads to it"
                                      for name in sorted(shown - set(pages)))]
    for part in "guide", "internals", "decisions", "man", "tutorial":
        findings += [f"{name}: not in the navigation" for name in sorted(set(pages) - shown)
                     if name.startswith(f"docs/{part}/")]
    places = [place(name) for name in pages]
    findings += [f"two pages would be {name}" for name in set(places) if places.count(name) > 1]
    planted = {"planted.md": "[planted](nowhere.md)", "docs/man/a.7.md": '<a href="#nowhere">'}
    if len([*dead_links(planted)]) != len(planted):
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
