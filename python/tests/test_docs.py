"""Every Python program of the documentation runs."""
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def programs() -> Iterator[tuple[str, str]]:
    for path in [*ROOT.glob("*.md"), ROOT / "python" / "README.md",
                 *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text()
        for block in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S):
            line = text.count("\n", 0, block.start()) + 1
            yield f"{path.relative_to(ROOT)}:{line}", block.group(1)


PROGRAMS = dict(programs())


@pytest.mark.parametrize("place", PROGRAMS)
def test_program_runs(place: str) -> None:
    result = subprocess.run([sys.executable, "-X", "dev", "-c", PROGRAMS[place]],
                            capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr


def test_there_are_programs() -> None:
    assert len(PROGRAMS) >= 6
