"""What the tests of studies share: the program itself."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def study(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program of `benchmarks` whose name the file of tests bears."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module(request.path.stem.removeprefix("test_"))
