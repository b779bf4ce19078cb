"""Goal: manual.md and the tests of kqueue(2) name the same."""
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
sys.exit(bool(listed ^ tests))
