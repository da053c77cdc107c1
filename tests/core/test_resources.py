"""The data folders of a checkout and of a wheel, the lists of what ships, and which code computed a result."""

import json
import shutil
import subprocess
import sys
from importlib import import_module, metadata
from pathlib import Path

import pytest
from command_line import ENVIRONMENT, ROOT, answer, run

import optsched
from optsched.core import resources
from optsched.core.errors import UsageError
from optsched.core.resources import FOLDERS, code_version, commit, folder, versions
from optsched.instances.claim_files import write_claim

CHECKOUT = '[project]\nname = "optsched"\n'


def test_folders_of_the_checkout() -> None:
    """Tests that the tests themselves read the folders of this checkout, and that there is no other."""
    assert [folder(name) for name in FOLDERS] == [ROOT / name for name in FOLDERS]
    with pytest.raises(UsageError, match='did you mean "models"'):
        folder("model")


@pytest.mark.parametrize(
    ("project", "top", "stale", "expected"),
    [
        (CHECKOUT, True, True, "models"),  # a copy from a build inside the package is passed over
        (CHECKOUT, False, True, None),
        *(
            (other, True, True, "optsched/_data/models")
            for other in (None, '[project]\nname = "x"', "not TOML", "[tool]")
        ),
        (None, False, False, None),
    ],
)
def test_folders_of_checkouts_and_wheels(
    tmp_path: Path, project: str | None, top: bool, stale: bool, expected: str | None
) -> None:
    """Tests that a checkout reads the folder at its top alone, and a wheel its own data, whatever lies near it."""
    package = tmp_path / "optsched"
    package.mkdir()
    if project is not None:
        (tmp_path / "pyproject.toml").write_text(project)
    for path, there in ((tmp_path / "models", top), (package / "_data" / "models", stale)):
        if there:
            path.mkdir(parents=True)
    if expected is None:
        with pytest.raises(UsageError, match="is missing: reinstall"):
            folder("models", package)
    else:
        assert folder("models", package) == tmp_path / expected


@pytest.mark.parametrize(
    ("table", "package", "listed"),
    [
        (resources.HEURISTICS, "optsched.heuristics", "HEURISTICS"),
        (resources.FAMILIES, "optsched.instances.families", "FAMILIES"),
    ],
)
def test_tables_are_those_of_the_modules(table: dict[str, tuple[str, ...]], package: str, listed: str) -> None:
    """Tests that a table has each module of a package that lists something, with its names in their order."""
    folder = Path(import_module(package).__path__[0])
    listing = {file.stem for file in folder.glob("[!_]*.py") if f"\n{listed}" in file.read_text(encoding="utf-8")}
    assert listing == set(table)
    for module, names in table.items():
        assert tuple(entry.name for entry in getattr(import_module(f"{package}.{module}"), listed)) == names


def test_telling_names_loads_nothing() -> None:
    """Tests that the tables are read without numpy and without what they name."""
    code = "import sys, optsched.core.resources; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "optsched.core.resources" in loaded
    assert not {"numpy", "optsched.heuristics", "optsched.instances"} & set(loaded)


def copied(folder: Path) -> Path:
    """A copy of the package with the data of this checkout, as the top of a clone; gives the package."""
    package = shutil.copytree(ROOT / "optsched", folder / "optsched", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("models", "instances", "solvers", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    return package


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What the copy in a folder does with a command."""
    environment = {**ENVIRONMENT, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    call = [sys.executable, "-m", "optsched", *words]
    return subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, check=True)


@pytest.mark.thorough
def test_a_sweep_knows_that_the_code_is_another(tmp_path: Path) -> None:
    """Tests that results of other code are no answer: the store says so, and the runs are computed again, once."""
    package = copied(tmp_path)
    asked = ("sweep", "papers/guo-fig2", "--problem", "lsap", "--heuristic", "dl", "--store", "a.sqlite")
    (before,) = json.loads(command(tmp_path, *asked, "--format", "json").stdout)
    assert before["version"] == code_version(), "a copy of the sources has the fingerprint of the sources"
    edited = package / "problems" / "assignment.py"
    edited.write_text(
        edited.read_text().replace("(exact(self.units(placement), ", "(exact(2 * self.units(placement), ")
    )
    planned = command(tmp_path, *asked, "--dry-run")
    assert planned.stdout == "1 run: 0 done, 1 to compute, with 1 optimum to solve\n"
    text = (
        f"optsched: note: a.sqlite has 1 run measured by other code (optsched {code_version()}): to compute again; the"
    )
    assert text in planned.stderr
    done = command(tmp_path, *asked, "--format", "json")
    (after,) = json.loads(done.stdout)
    assert text in done.stderr
    assert (before["objective"], after["objective"]) == (1, 2)
    assert after["version"].startswith(f"{optsched.__version__}+src") != before["version"]
    again = command(tmp_path, *asked, "--format", "json")
    assert (json.loads(again.stdout), "other code" in again.stderr) == ([after], False)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(tmp_path)
        found = repr(optsched.load_sweep("a.sqlite"))
    assert found.endswith(f"1 of 1 run done, 1 by other code (optsched {after['version']})>")


def test_what_changes_it(tmp_path: Path) -> None:
    """Tests that an edit, a new module, a name and a lost module count, each by itself, and that other files do not."""
    one, inner = tmp_path / "a.py", tmp_path / "inner"
    inner.mkdir()
    one.write_text("a = 1\n")
    found = [resources._digest(tmp_path)]
    for change in (
        lambda: one.write_text("a = 2\n"),
        lambda: (inner / "c.py").write_text(""),
        lambda: (inner / "c.py").rename(inner / "d.py"),
        one.unlink,
    ):
        change()
        found.append(resources._digest(tmp_path))
    assert len(set(found)) == 5
    (inner / "data.json").write_text("{}")
    (inner / "b.pyc").write_bytes(b"")
    assert resources._digest(tmp_path) == found[-1]


def git(folder: Path, *words: str) -> None:
    """A command of git in a folder."""
    names = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


def test_the_commit_of_a_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a clean and a changed clone, and that nobody else's repository is taken for one, nor git needed."""
    assert commit(tmp_path) is None
    git(tmp_path, "init", "-q")
    (tmp_path / "a.py").write_text("a = 1\n")
    git(tmp_path, "add", "a.py")
    git(tmp_path, "commit", "-q", "-m", "one", "--no-gpg-sign")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    monkeypatch.setenv("GIT_DIR", str(ROOT / ".git"))

    def now(folder: Path = tmp_path) -> str | None:
        commit.cache_clear()
        return commit(folder)

    assert now() == head.strip()
    (tmp_path / "b.py").write_text("")
    assert now() == head.strip()
    (tmp_path / "a.py").write_text("a = 2\n")
    assert now() == f"{head.strip()}-dirty"
    (tmp_path / "site").mkdir()
    assert now(tmp_path / "site") is None, "an installed package in a folder of a user's repository"
    monkeypatch.setenv("PATH", "")
    assert now() is None
    commit.cache_clear()


def test_results_carry_it(tmp_path: Path) -> None:
    """Tests that records, files of solutions and `optsched versions` say which code computed."""
    (record,) = answer("gap", "papers/guo-fig2", "--problem", "lsap", "--heuristic", "lsap-sched")
    assert record["version"] == code_version()
    problem = optsched.problem("lsap", "papers/guo-fig2")
    write_claim(optsched.solve(problem), problem.instance, tmp_path / "a.json")
    held = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["versions"]
    done = answer("versions")
    assert held["optsched"] == done["optsched"] == code_version()
    assert held.get("commit") == done.get("commit") == commit()


def test_a_table_of_gaps_does_not_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that `optsched gap` without records reads no sources for it."""
    code_version.cache_clear()
    monkeypatch.setattr(resources, "_digest", None)
    assert run("gap", "papers/guo-fig2", "--problem", "lsap").exit_code == 0


def test_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that packages that are not installed are left out."""
    honest = metadata.version

    def version(package: str) -> str:
        if package == "pulp":
            raise metadata.PackageNotFoundError(package)
        return honest(package)

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(resources, "_installed", resources._installed.__wrapped__)
    assert {"optsched", "python", "highspy"} <= set(versions())
    assert "pulp" not in versions()
