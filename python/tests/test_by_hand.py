"""As somebody runs the tests who has just built: pytest in python/, and nothing set."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("how", ["in the folder", "from the tree"])
def test_pytest_by_hand(how: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    folder, prefix = (PYTHON, "") if how == "in the folder" else (PYTHON.parent, "python/")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q",
         *(f"{prefix}tests/test_{name}.py" for name in ("event", "fork", "signals"))],
        cwd=folder, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert " passed" in result.stdout
    assert "Timeout (0:01:00)!" not in result.stderr
