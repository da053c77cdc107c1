"""The wheel, built from the sdist and installed where no checkout is: it carries its data and its commands work.

The fresh environment takes the dependencies from the one that runs the tests, through a `.pth` file. Python does not
follow the `.pth` files of a folder that is added so, thus an editable install of the checkout stays out of reach.
"""

import email
import email.policy
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import optsched
from optsched.cli.listing import pages

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("docs", "instances", "models", "solvers")


def run(command: list[str | Path], folder: Path) -> str:
    """What a command prints on stdout, run in `folder` with nothing of the caller's Python set; it must succeed."""
    leaky = ("PYTHON", "COVERAGE", "OPTSCHED")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(leaky)}
    done = subprocess.run(command, cwd=folder, env=inherited, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an sdist of this tree, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT], folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """The wheel."""
    (found,) = built.glob("optsched-*.whl")
    return found


def test_wheel_carries_its_data(wheel: Path) -> None:
    """Tests that the wheel made from the sdist holds the type marker and each file of the data folders."""
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "optsched/py.typed" in names
    for folder in FOLDERS:
        of_the_site = {"__pycache__", "_templates", "conf.py"}
        files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and not of_the_site & set(path.parts)]
        assert files
        assert {f"optsched/_data/{path.relative_to(ROOT).as_posix()}" for path in files} <= names


def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    """Tests that every module is in the wheel, and beside them only files of the package, data and metadata."""
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "optsched").rglob("*.py")}
    data = ("optsched/_data/", f"optsched-{optsched.__version__}.dist-info/")
    others = {name for name in names - modules if not name.startswith(data)}
    assert modules <= names
    assert all((ROOT / name).is_file() and name.startswith("optsched/") for name in others)
    assert not [name for name in names if "__pycache__" in name]


def test_sdist_holds_what_a_packager_needs(built: Path) -> None:
    """Tests that the sdist has sources, tests, documents and what builds them, and nothing that a build or run left."""
    (found,) = built.glob("optsched-*.tar.gz")
    with tarfile.open(found) as archive:
        names = [Path(*Path(name).parts[1:]) for name in archive.getnames()]
    folders = {"benchmarks", "docs", "instances", "models", "notebooks", "optsched", "solvers", "tests", ".ci"}
    texts = {"CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md", "PKG-INFO"}
    assert {name.parts[0] for name in names} == folders | texts | {"hatch_build.py", "pyproject.toml", ".gitignore"}
    assert not [name for name in names if name.suffix in (".pyc", ".log") or "__pycache__" in name.parts]


def test_metadata(wheel: Path) -> None:
    """Tests what an index shows: names, licence, versions, and a long description that needs no repository."""
    with zipfile.ZipFile(wheel) as archive:
        result = archive.read(f"optsched-{optsched.__version__}.dist-info/METADATA").decode()
    fields = email.message_from_string(result, policy=email.policy.default)
    assert fields["Version"] == optsched.__version__
    assert fields["License-Expression"] == "Apache-2.0"
    assert fields["Requires-Python"] == ">=3.11"
    assert fields["Description-Content-Type"] == "text/markdown"
    assert fields["Project-URL"] == f"Homepage, https://pypi.org/project/{fields['Name']}/"
    text = result.partition("\n\n")[2]
    assert text.startswith("# optsched\n")
    assert "pip install optsched" in text
    assert "in a clone" not in text
    assert not re.findall(r"\]\((?!https?:)|<!--|^```\w+ ", text, re.MULTILINE)
    assert "## When not to use it" in text
    shown = [name.removeprefix("docs ") for name in re.findall(r"`optsched (docs [\w/-]+)`", text)]
    assert shown
    assert set(shown) <= set(pages()), "a page that is named does not ship"
    picture = re.findall(r"[^\n]*`optsched show[^`]*`", text)
    assert picture
    assert all("optsched[plots]" in line for line in picture), "what draws needs matplotlib"


@pytest.mark.thorough
def test_installed_wheel_works(wheel: Path, tmp_path: Path) -> None:
    """Tests that the wheel in a fresh environment is what is imported, finds its data, and judges its library."""
    venv.create(tmp_path / "venv", symlinks=os.name != "nt")
    paths = sysconfig.get_paths(vars={"base": str(tmp_path / "venv"), "platbase": str(tmp_path / "venv")})
    here = sysconfig.get_paths()
    Path(paths["purelib"], "dependencies.pth").write_text("\n".join(sorted({here["purelib"], here["platlib"]})))
    bin, empty = Path(paths["scripts"]), tmp_path / "empty"
    run(
        [sys.executable, "-m", "pip", "--python", bin / "python", "install", "--no-index", "--no-deps", wheel], tmp_path
    )
    empty.mkdir()
    imported = run([bin / "python", "-c", "import optsched; print(optsched.__file__)"], empty)
    assert Path(imported.strip()).is_relative_to(bin.parent)
    for kind, some in (
        ("instances", {"papers/guo-fig2"}),
        ("models", {"lsap", "fair-lsap", "flow", "latency"}),
        ("profiles", {"exact", "quick", "ci"}),
    ):
        listed = json.loads(run([bin / "optsched", "list", kind, "--format", "json"], empty))
        assert some <= {entry["name"] for entry in listed}
    assert run([bin / "optsched", "docs", "how-to/explain"], empty).startswith("# Say why a gap is there")
    records = json.loads(run([bin / "optsched", "gap", "--format", "json"], empty))
    assert {"lsap", "fair-lsap", "flow", "latency"} <= {record["problem"] for record in records}
    assert not [record for record in records if record["error"]]
