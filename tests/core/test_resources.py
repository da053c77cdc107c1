"""Finding the data folders, in a checkout and in an installed wheel."""

from __future__ import annotations

from pathlib import Path

import pytest

from optsched.core.errors import UsageError
from optsched.core.resources import FOLDERS, folder

ROOT = Path(__file__).resolve().parents[2]


def make(root: Path, *, project: str | None, top: bool, stale: bool) -> Path:
    """A package folder with or without a pyproject, a folder at the top and a copy inside."""
    package = root / "optsched"
    package.mkdir()
    if project is not None:
        (root / "pyproject.toml").write_text(project, encoding="utf-8")
    if top:
        (root / "models").mkdir()
    if stale:
        (package / "_data" / "models").mkdir(parents=True)
    return package


CHECKOUT = '[project]\nname = "optsched"\n'


@pytest.mark.parametrize("name", FOLDERS)
def test_folders_of_the_checkout(name: str) -> None:
    """Tests that the tests themselves read the folders of this checkout."""
    assert folder(name) == ROOT / name


def test_checkout_before_stale_copy(tmp_path: Path) -> None:
    """Tests that a copy from a build inside the package is passed over in a checkout."""
    package = make(tmp_path, project=CHECKOUT, top=True, stale=True)
    assert folder("models", package) == tmp_path / "models"


def test_checkout_never_uses_stale_copy(tmp_path: Path) -> None:
    """Tests that a checkout that has lost its folder says so rather than to read the copy."""
    package = make(tmp_path, project=CHECKOUT, top=False, stale=True)
    with pytest.raises(UsageError, match="is missing"):
        folder("models", package)


@pytest.mark.parametrize("project", [None, '[project]\nname = "other"\n', "not TOML", "[tool]\n"])
def test_wheel_beside_anything(tmp_path: Path, project: str | None) -> None:
    """Tests that an installed package reads its own data, whatever lies beside it."""
    package = make(tmp_path, project=project, top=True, stale=True)
    assert folder("models", package) == package / "_data" / "models"


def test_broken_installation(tmp_path: Path) -> None:
    """Tests that a wheel without data says what to do."""
    with pytest.raises(UsageError, match="reinstall"):
        folder("models", make(tmp_path, project=None, top=False, stale=False))


def test_unknown_folder() -> None:
    """Tests that there is no other data folder."""
    with pytest.raises(UsageError, match='did you mean "models"'):
        folder("model")
