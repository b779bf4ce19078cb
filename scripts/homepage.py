#!/usr/bin/env python3
"""Check that all metadata has the project's address, HOMEPAGE_URL in CMakeLists.txt.

  homepage.py [--write]

--write writes the address into the metadata.  Addresses of the project are this one and
those below it; addresses of others are listed in OTHERS.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
METADATA = ("java/pom.xml", "java/nio/pom.xml", "python/pyproject.toml")
HOME = r'(?:<url>|Homepage = ")(https?://[^<"]+)'  # the first in each
OTHERS = ("http://maven.apache.org/", "http://www.w3.org/", "https://spdx.org/")


def home(tree=ROOT):
    return re.search(r'HOMEPAGE_URL "(.+)"', (tree / "CMakeLists.txt").read_text()).group(1)


def strange(text, address):
    """The addresses in the text that belong to nobody."""
    return [found for found in re.findall(r'https?://[^<"\s]+', text)
            if not found.startswith((*OTHERS, f"{address}/", f"{address}.git"))
            and found != address]


def main():
    address = home()
    faults = []
    for path in map(ROOT.joinpath, METADATA):
        text = path.read_text()
        if sys.argv[1:] == ["--write"]:
            text = text.replace(re.search(HOME, text).group(1), address)
            path.write_text(text)
        written = re.search(HOME, text).group(1)
        if written != address:
            faults.append(f"{path}: {written} is not HOMEPAGE_URL, {address}")
        faults += [f"{path}: {other} is not below {written}" for other in strange(text, written)]
    print("\n".join(faults) or f"{len(METADATA)} files have {address}")
    return "scripts/homepage.py --write sets it" if faults else 0


if __name__ == "__main__":
    sys.exit(main())
