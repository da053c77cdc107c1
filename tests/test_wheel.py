"""The wheel, built from the sdist and installed where no checkout is: it carries its data and its commands work.

The fresh environment takes the dependencies from the one that runs the tests, through a `.pth` file. Python does not
follow the `.pth` files of a folder that is added so, thus an editable install of the checkout stays out of reach.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("instances", "models", "solvers")


def run(command: list[str | Path], folder: Path) -> str:
    """What a command prints on stdout, run in `folder` with nothing of the caller's Python set; it must succeed."""
    leaky = ("PYTHON", "COVERAGE", "OPTSCHED")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(leaky)}
    done = subprocess.run(command, cwd=folder, env=inherited, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from an sdist of this tree."""
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT], folder)
    (built,) = folder.glob("optsched-*.whl")
    return built


@dataclass
class Installed:
    """An environment that holds the wheel, and an empty folder to work in."""

    bin: Path
    folder: Path

    def __call__(self, *arguments: str) -> str:
        return run([self.bin / arguments[0], *arguments[1:]], self.folder)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in a fresh environment, beside the dependencies of this one."""
    place = tmp_path_factory.mktemp("elsewhere")
    venv.create(place / "venv", symlinks=os.name != "nt")
    paths = sysconfig.get_paths(vars={"base": str(place / "venv"), "platbase": str(place / "venv")})
    here = sysconfig.get_paths()
    Path(paths["purelib"], "dependencies.pth").write_text("\n".join(sorted({here["purelib"], here["platlib"]})))
    python = Path(paths["scripts"], "python")
    run([sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel], place)
    (place / "empty").mkdir()
    return Installed(Path(paths["scripts"]), place / "empty")


def test_wheel_carries_its_data(wheel: Path) -> None:
    """Tests that the wheel made from the sdist holds the type marker and each file of the three data folders."""
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "optsched/py.typed" in names
    for folder in FOLDERS:
        files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        assert files
        assert {f"optsched/_data/{path.relative_to(ROOT).as_posix()}" for path in files} <= names


@pytest.mark.thorough
def test_installed_wheel_is_its_own(installed: Installed) -> None:
    """Tests that the environment imports the installed wheel, not the checkout."""
    imported = installed("python", "-c", "import optsched; print(optsched.__file__)")
    assert Path(imported.strip()).is_relative_to(installed.bin.parent)


@pytest.mark.thorough
def test_installed_wheel_finds_its_data(installed: Installed) -> None:
    """Tests that library, models and profiles are found without the checkout."""

    def listed(kind: str) -> set[str]:
        return {entry["name"] for entry in json.loads(installed("optsched", "list", kind, "--format", "json"))}

    assert len(listed("instances")) > 10
    assert {"lsap", "fair-lsap", "flow", "latency"} <= listed("models")
    assert {"exact", "quick", "ci"} <= listed("profiles")


@pytest.mark.thorough
def test_installed_wheel_computes_gaps(installed: Installed) -> None:
    """Tests that `optsched gap` judges the shipped library: records of each problem, none beyond its reference."""
    records = json.loads(installed("optsched", "gap", "--format", "json"))
    assert {"lsap", "fair-lsap", "flow", "latency"} <= {record["problem"] for record in records}
    assert not [record for record in records if record["error"]]
