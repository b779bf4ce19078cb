"""What the build says where the binding cannot be had."""
import importlib
import sysconfig
from pathlib import Path

import pytest

PYTHON = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("hook", ["build_wheel", "build_editable"])
def test_free_threaded_python_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                         hook: str) -> None:
    pytest.importorskip("scikit_build_core")
    monkeypatch.syspath_prepend(str(PYTHON))
    backend = importlib.import_module("build_backend")
    known = sysconfig.get_config_var

    def free_threaded(name: str) -> object:
        return 1 if name == "Py_GIL_DISABLED" else known(name)

    monkeypatch.setattr(sysconfig, "get_config_var", free_threaded)
    with pytest.raises(RuntimeError, match="free-threaded CPython"):
        getattr(backend, hook)(str(tmp_path))
    assert not list(tmp_path.iterdir())
