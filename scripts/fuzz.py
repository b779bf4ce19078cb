#!/usr/bin/env python3
"""Run all fuzz targets at the same time.

  fuzz.py [--seed N] BUILD_DIR SECONDS [TARGET...]

Each target starts from the inputs that earlier runs found, in BUILD_DIR/corpus/TARGET,
and from those of the tree, tests/model/fuzz/corpus/TARGET.txt.  With --seed it starts from those
of the tree only, and its random choices are the same each time.  An input on which a
target fails is shortened and printed, and the exit status is 1.  Add it to the tree's file
as a line, after a name that describes it, and it becomes a test.
"""
import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SEEDS = ROOT / "tests" / "model" / "fuzz" / "corpus"
LONGEST = 512  # bytes of an input
PATIENCE = 25  # seconds for one input
SHORTEN = 30  # seconds to make one shorter


def inputs_of_tree(build, target):
    """A folder of them, as libFuzzer wants it."""
    folder = build / "corpus-of-tree" / target
    folder.mkdir(parents=True, exist_ok=True)
    for line in (SEEDS / f"{target}.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, data = line.split()
            (folder / name).write_bytes(bytes.fromhex(data))
    return folder


def start(build, target, seconds, seed):
    corpus = build / ("corpus" if seed is None else "corpus-of-seed") / target
    if seed is not None:
        shutil.rmtree(corpus, ignore_errors=True)
    findings = build / "findings" / target
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    log = open(build / f"fuzz-{target}.log", "w+", encoding="utf-8", errors="replace")
    command = [build / "tests" / "bin" / f"fuzzer_{target}", f"-max_total_time={seconds}",
               f"-max_len={LONGEST}", "-len_control=0", f"-timeout={PATIENCE}",
               "-print_final_stats=1",
               f"-seed={seed or 0}",  # 0: chance
               f"-artifact_prefix={findings}/", corpus,
               inputs_of_tree(build, target)]
    return log, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def shortened(build, target, finding):
    """A shorter input that ends the target, too; else the same."""
    result = finding.with_name(f"short-{finding.name}")
    subprocess.run([build / "tests" / "bin" / f"fuzzer_{target}", "-minimize_crash=1",
                    f"-max_total_time={SHORTEN}", f"-exact_artifact_path={result}", finding],
                   stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return result if result.exists() else finding


def tell(build, target, text):
    print(f"{target}: ended by this input:")
    for line in re.findall(r"^.*(?:does not hold|ERROR:|runtime error:|SUMMARY:).*$", text, re.M):
        print(f"  {line}")
    for name in re.findall(r"Test unit written to (\S+)", text):
        path = shortened(build, target, Path(name))
        print(f"  {path}\n  {path.read_bytes().hex()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int)
    parser.add_argument("build", type=Path)
    parser.add_argument("seconds", type=int)
    parser.add_argument("targets", nargs="*")
    options = parser.parse_args()
    build, seconds = options.build.resolve(), options.seconds
    targets = options.targets or sorted(path.stem for path in SEEDS.glob("*.txt"))
    running = {target: start(build, target, seconds, options.seed) for target in targets}
    failed = 0
    for target, (log, process) in running.items():
        code = process.wait()
        log.seek(0)
        text = log.read()
        runs = re.search(r"stat::number_of_executed_units: +(\d+)", text)
        print(f"fuzz: {target}: {runs.group(1) if runs else '?'} inputs in {seconds} s",
              flush=True)
        if code != 0:
            failed += 1
            tell(build, target, text)
    print(f"{len(targets) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
