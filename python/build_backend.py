"""scikit-build-core, with two additions.

A source distribution brings the library along.

The library's sources are the folder above this one, which a source distribution
cannot reach into; they are copied to library/ while it is made.

Where there is no limited API the compiler would say so in its own words: it is said here.
"""
import shutil
import sysconfig
from pathlib import Path
from typing import Any

from scikit_build_core import build as _build
from scikit_build_core.build import *  # noqa: F403  The other hooks.

HERE = Path(__file__).resolve().parent
LIBRARY = HERE / "library"
PARTS = ("CMakeLists.txt", "LICENSE", "cmake", "include", "src")


def build_sdist(  # type: ignore[no-redef]
    sdist_directory: str, config_settings: dict[str, Any] | None = None
) -> str:
    if LIBRARY.exists():  # Made from a source distribution.
        return _build.build_sdist(sdist_directory, config_settings)
    LIBRARY.mkdir()
    try:
        for part in PARTS:
            source = HERE.parent / part
            if source.is_dir():
                shutil.copytree(source, LIBRARY / part)
            else:
                shutil.copy(source, LIBRARY / part)
        return _build.build_sdist(sdist_directory, config_settings)
    finally:
        shutil.rmtree(LIBRARY)


def _check_python() -> None:
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise RuntimeError("xpoll cannot be built for free-threaded CPython: it needs the limited"
                           " API, which that does not have; use the ordinary build of CPython")


def build_wheel(  # type: ignore[no-redef]
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    _check_python()
    return _build.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(  # type: ignore[no-redef]
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    _check_python()
    return _build.build_editable(wheel_directory, config_settings, metadata_directory)
