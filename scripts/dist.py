#!/usr/bin/env python3
"""Build a release of the last commit, with the same bytes each time.

  dist.py FOLDER [PART...]

PART is two-files, sdist, wheels, jars or crates; the default is all of them.  The archive
of the source, a bill of materials in SPDX and the checksums are always made.  Everything is
built from the archive in a temporary folder, so no other file can get into a release.
"""
import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# For cross.sh: what Java calls it (NativeLibrary.java), and how wheels name it.
TARGETS = {
    "x86_64-linux-gnu.2.17": ("linux-amd64", "manylinux2014_x86_64"),
    "aarch64-linux-gnu.2.17": ("linux-aarch64", "manylinux2014_aarch64"),
    "x86_64-linux-musl": ("linux-amd64-musl", "musllinux_1_2_x86_64"),
    "aarch64-linux-musl": ("linux-aarch64-musl", "musllinux_1_2_aarch64"),
}


def run(*command, cwd=None, **environment):
    """Its standard output; what it has to say ends the program where it fails."""
    result = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True,
                            env={**os.environ, **environment})
    if result.returncode:
        sys.exit(f"dist: {' '.join(map(str, command))}: {result.returncode}\n"
                 f"{result.stdout.decode()}{result.stderr.decode()}")
    return result.stdout


def hexdigest(path, kind="sha256"):
    return hashlib.new(kind, path.read_bytes()).hexdigest()


def python_headers(work):
    """Those of this Python, whose limited interface is the same on every processor."""
    headers = Path(sysconfig.get_path("include"))
    own = headers / "pyconfig.h"
    # Debian's says only where that of the processor is.
    own = next((file for file in [Path("/usr/include", sysconfig.get_config_var("MULTIARCH") or "",
                                       headers.name, "pyconfig.h")]
                if str(headers).startswith("/usr/include") and file.exists()), own)
    shutil.copytree(headers, work / headers.name)
    shutil.copy(own, work / headers.name / "pyconfig.h")
    return work / headers.name


class Dist:
    def __init__(self, out, work):
        self.out, self.work = out, work
        self.time = int(run("git", "log", "-1", "--format=%ct", cwd=ROOT))
        os.environ.update(SOURCE_DATE_EPOCH=str(self.time), PYTHONDONTWRITEBYTECODE="1",
                          LC_ALL="C", TZ="UTC")
        number = re.search(rb"^#define XPOLL_VERSION 0x(..)(..)(..)u$",
                           run("git", "show", "HEAD:include/xpoll.h", cwd=ROOT), re.M)
        self.version = ".".join(str(int(part, 16)) for part in number.groups())
        self.name = f"xpoll-{self.version}"
        self.tree = work / self.name

    def source(self):
        data = run("git", "archive", "--format=tar", f"--prefix={self.name}/", "HEAD", cwd=ROOT)
        (self.out / f"{self.name}.tar.gz").write_bytes(gzip.compress(data, 9, mtime=0))
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(self.work, filter="data")
        (self.tree / "build").mkdir()
        for venv in ("venv-dist", "venv-zig"): # Made once is enough.
            if (ROOT / "build" / venv).exists():
                (self.tree / "build" / venv).symlink_to(ROOT / "build" / venv)

    def two_files(self):
        folder = self.work / f"{self.name}-two-files"
        run(sys.executable, self.tree / "scripts/amalgamate.py", folder)
        shutil.copy(self.tree / "LICENSE", folder)
        with io.BytesIO() as buffer:
            with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
                for path in sorted(folder.iterdir()):
                    entry = tarfile.TarInfo(f"{folder.name}/{path.name}")
                    entry.size, entry.mtime = path.stat().st_size, self.time
                    archive.addfile(entry, io.BytesIO(path.read_bytes()))
            data = gzip.compress(buffer.getvalue(), 9, mtime=0)
        (self.out / f"{folder.name}.tar.gz").write_bytes(data)

    def folder(self, name):
        """One for each place that packages go to; Python's archive has the name of ours."""
        folder = self.out / name
        folder.mkdir(exist_ok=True)
        return folder

    def made(self):
        return sorted(path for path in self.out.rglob("*") if path.is_file())

    def tool(self, name):
        return ROOT / "build/venv-dist/bin" / name

    def backend(self, hook, folder):
        """One of the hooks by which Python's package managers build."""
        run(self.tool("python"), "-c", "import sys; sys.path.insert(0, '.')\n"
            "import build_backend; getattr(build_backend, sys.argv[1])(sys.argv[2])",
            hook, folder, cwd=self.tree / "python")

    def sdist(self):
        self.backend("build_sdist", self.folder("python"))

    def cross(self):
        """Library, and what Python and Java load, for every target; once for wheels and jars."""
        if (self.tree / "build/cross").exists():
            return
        options = {
            "XPOLL_JAVA": "ON", "XPOLL_PYTHON": "ON", "Python3_EXECUTABLE": sys.executable,
            "Python3_INCLUDE_DIR": python_headers(self.work),
        }
        run("sh", self.tree / "scripts/cross.sh", *TARGETS,
            XPOLL_CROSS_TARGETS="xpoll_python xpoll_java_jni",
            XPOLL_CROSS_FLAGS=f"-s -ffile-prefix-map={self.tree}=.",
            XPOLL_CROSS_OPTIONS=" ".join(f"-D{name}={value}" for name, value in options.items()))

    def wheels(self):
        self.cross()
        metadata = self.work / "metadata"
        metadata.mkdir()
        nothing = self.work / "nothing"
        nothing.mkdir()
        self.backend("prepare_metadata_for_build_wheel", metadata)
        info = next(metadata.glob("*.dist-info"))
        for target, (_, name) in TARGETS.items():
            folder = self.work / "wheel" / name
            shutil.copytree(self.tree / "python/xpoll", folder / "xpoll")
            shutil.copy(self.tree / "build/cross" / target / "python/xpoll/_xpoll.abi3.so",
                        folder / "xpoll")
            # auditwheel finds out what glibc's need, and adds that to the name.  Of musl it
            # knows by the name alone, and compares the libraries.
            processor = target.partition("-")[0]
            claimed = f"linux_{processor}"
            if target.endswith("-musl"):
                claimed = name
                # As Alpine and auditwheel name it; to musl it is the same as libc.so.
                run(self.tool("patchelf"), "--replace-needed", "libc.so",
                    f"libc.musl-{processor}.so.1", folder / "xpoll/_xpoll.abi3.so")
            shutil.copytree(info, folder / info.name)
            (folder / info.name / "WHEEL").write_text(
                "Wheel-Version: 1.0\nGenerator: xpoll (scripts/dist.py)\n"
                f"Root-Is-Purelib: false\nTag: cp311-abi3-{claimed}\n")
            for path in folder.rglob("*"):
                path.chmod(0o755 if path.is_dir() or path.suffix == ".so" else 0o644)
            run(self.tool("wheel"), "pack", folder, "-d", folder.parent)
            made = next(folder.parent.glob("*.whl"))
            # Not among this machine's libraries, whose libc.so may be none of musl's.
            run(self.tool("auditwheel"), "repair", "--plat", "auto", "--ldpaths", nothing, "-w",
                self.folder("python"), made, PATH=f"{self.tool('')}:{os.environ['PATH']}")
            made.unlink()
            if not any(self.folder("python").glob(f"*{name}*.whl")):
                sys.exit(f"dist: {target}: the wheel needs more than {name} has")
        for wheel in self.folder("python").glob("*.whl"):
            run(self.tool("abi3audit"), "--strict", wheel)

    def jars(self):
        self.cross()
        made = self.work / "java"
        for target, (system, _) in TARGETS.items():
            (made / "native" / system).mkdir(parents=True)
            cross = self.tree / "build/cross" / target
            for file in ("lib/libxpoll.so", f"java/native/{system}/libxpoll-jni.so"):
                shutil.copy(cross / file, made / "native" / system)
        run("sh", self.tree / "java/maven.sh", made, "package", "-Prelease",
            "-Dmaven.test.skip=true")
        for jar in [*made.glob("*.jar"), *(made / "nio").glob("*.jar")]:
            shutil.copy(jar, self.folder("java"))
        for name, pom in (("xpoll", "pom.xml"), ("xpoll-nio", "nio/pom.xml")):
            shutil.copy(self.tree / "java" / pom,
                        self.folder("java") / f"{name}-{self.version}.pom")

    def crates(self):
        run("sh", self.tree / "rust/package.sh", self.work / "crates")
        for crate in (self.work / "crates/target/package").glob("*.crate"):
            shutil.copy(crate, self.folder("rust"))

    def bill(self):
        """What was made, as SPDX; nothing of others is in it but what a compiler adds."""
        home = re.search(r'HOMEPAGE_URL "(.+)"', (self.tree / "CMakeLists.txt").read_text())[1]
        rights = re.search(r"^Copyright.*$", (self.tree / "LICENSE").read_text(), re.M).group()
        terms = {"licenseConcluded": "BSD-2-Clause", "copyrightText": rights}
        files = [{"SPDXID": f"SPDXRef-file-{number}",
                  "fileName": f"./{path.relative_to(self.out)}", **terms,
                  "licenseInfoInFiles": ["BSD-2-Clause"],
                  "checksums": [{"algorithm": kind.upper(), "checksumValue": hexdigest(path, kind)}
                                for kind in ("sha1", "sha256")]}
                 for number, path in enumerate(self.made())]
        digest = hashlib.sha256(json.dumps(files).encode()).hexdigest()
        links = [("DOCUMENT", "DESCRIBES", "xpoll")]
        links += [(file["SPDXID"].removeprefix("SPDXRef-"), "GENERATED_FROM", "xpoll")
                  for file in files]
        bill = {
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": self.name,
            "documentNamespace": f"{home}/spdx/{self.name}-{digest}",
            "creationInfo": {
                "created": datetime.fromtimestamp(self.time, timezone.utc).strftime("%FT%TZ"),
                "creators": ["Organization: The xpoll authors", "Tool: scripts/dist.py"]},
            "packages": [{
                "SPDXID": "SPDXRef-xpoll", "name": "xpoll", "versionInfo": self.version,
                "supplier": "Organization: The xpoll authors", "downloadLocation": "NOASSERTION",
                "filesAnalyzed": False, "licenseDeclared": "BSD-2-Clause", **terms}],
            "files": files,
            "relationships": [{"spdxElementId": f"SPDXRef-{one}", "relationshipType": kind,
                               "relatedSpdxElement": f"SPDXRef-{other}"}
                              for one, kind, other in links]}
        (self.out / f"{self.name}.spdx.json").write_text(json.dumps(bill, indent=1) + "\n")

    def checksums(self):
        (self.out / "SHA256SUMS").write_text("".join(
            f"{hexdigest(path)}  {path.relative_to(self.out)}\n" for path in self.made()))


PARTS = {"two-files": Dist.two_files, "sdist": Dist.sdist, "wheels": Dist.wheels,
         "jars": Dist.jars, "crates": Dist.crates}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("part", nargs="*", metavar="PART", help=", ".join(PARTS))
    options = parser.parse_args()
    for part in options.part:
        if part not in PARTS:
            parser.error(f"{part}: expected {', '.join(PARTS)}")
    if not (ROOT / ".git").exists():
        sys.exit("dist: a release is made of a commit: this is no clone")
    options.folder.mkdir(parents=True, exist_ok=True)
    if any(options.folder.iterdir()):
        sys.exit(f"dist: {options.folder} is not empty")
    with tempfile.TemporaryDirectory(prefix="xpoll-dist.") as work:
        dist = Dist(options.folder.resolve(), Path(work))
        dist.source()
        for part in options.part or PARTS:
            print(f"dist: {part}", file=sys.stderr)
            PARTS[part](dist)
        dist.bill()
        dist.checksums()
    print((options.folder / "SHA256SUMS").read_text(), end="")
    print(f"dist: the release is in {options.folder}")


if __name__ == "__main__":
    main()
