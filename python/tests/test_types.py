"""Types: mypy is content with the package and its tests, and the stubs are true."""
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import xpoll

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parent
HEADER = PYTHON.parent / "include" / "xpoll.h"
PACKAGE = Path(xpoll.__file__).absolute().parent.parent

needs_mypy = pytest.mark.skipif(importlib.util.find_spec("mypy") is None,
                                reason="mypy is not installed")


def run(tmp_path: Path, *arguments: str) -> None:
    environment = {**os.environ, "MYPYPATH": str(PACKAGE), "PYTHONPATH": str(PACKAGE)}
    result = subprocess.run([sys.executable, "-m", *arguments], cwd=tmp_path, env=environment,
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


@needs_mypy
def test_mypy_strict_finds_nothing(tmp_path: Path) -> None:
    run(tmp_path, "mypy", "-p", "xpoll", "--strict")
    run(tmp_path, "mypy", "--strict", *map(str, sorted(HERE.glob("*.py"))),
        *map(str, sorted((PYTHON / "examples").glob("*.py"))),
        *(str(PYTHON / name) for name in ("bench/looptest.py", "build_backend.py")))


@needs_mypy
def test_stubs_agree_with_the_module(tmp_path: Path) -> None:
    run(tmp_path, "mypy.stubtest", "xpoll", "--mypy-config-file", str(PYTHON / "pyproject.toml"))


def test_constants_are_those_of_the_header() -> None:
    for name, value in re.findall(r"^#define XPOLL_([A-Z_]+) +\(?(-?[0-9a-fx]+)u?\)?",
                                  HEADER.read_text(), re.M):
        if name != "VERSION":
            assert getattr(xpoll, name) == int(value, 0), name


def test_counters_are_those_of_the_header() -> None:
    body = HEADER.read_text().split("struct xpoll_stats {")[1].split("};")[0]
    with xpoll.Queue() as queue:
        assert list(queue.stats()) == re.findall(r"uint64_t (\w+);", body)


def test_version_is_that_of_the_project() -> None:
    text = (PYTHON / "pyproject.toml").read_text()
    assert f'version = "{xpoll.__version__}"' in text


def test_everything_public_has_a_docstring() -> None:
    for name, value in vars(xpoll).items():
        if callable(value) and not name.startswith("_"):
            assert value.__doc__, name
            for method, function in vars(value).items() if isinstance(value, type) else ():
                if callable(function) and not method.startswith("_"):
                    assert function.__doc__, f"{name}.{method}"
