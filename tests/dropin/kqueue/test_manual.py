"""Goal: manual.md and the tests of kqueue(2) name the same, and each rule of FreeBSD's
kernel that rules.h leaves out begins an item of DIFFERENCES.md."""
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIST = HERE / "manual.md"

listed = set(re.findall(r"`([a-z0-9_]+)`", LIST.read_text()))
tests = set()
for path in HERE.glob("*.c"):
    tests |= set(re.findall(r"^XT_TEST\((\w+)\)", path.read_text(), re.M))
for name in sorted(listed - tests):
    print(f"{LIST.name} names {name}, which is no test")
for name in sorted(tests - listed):
    print(f"{LIST.name} does not name {name}")
differences = (HERE.parents[2] / "DIFFERENCES.md").read_text()
section = differences.split("\n## kqueue(2) on Linux\n")[1].split("\n## ")[0]
rules = re.findall(r'/\* "([^"]+)"', (HERE / "rules.h").read_text())
lost = [rule for rule in rules if f"\n- {rule}" not in section.replace("**", "")]
for rule in lost:
    print(f"DIFFERENCES.md has no item that begins with {rule}")
sys.exit(bool(listed ^ tests or lost or not rules))
