"""scikit-build-core, but that a source distribution brings the library along.

The library's sources are the folder above this one, which a source distribution
cannot reach into; they are copied to library/ while it is made.
"""
import shutil
from pathlib import Path
from typing import Any

from scikit_build_core import build as _build
from scikit_build_core.build import *  # noqa: F403  The other hooks.

HERE = Path(__file__).resolve().parent
LIBRARY = HERE / "library"
PARTS = ("CMakeLists.txt", "LICENSE", "cmake", "include", "src", "tree")


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
