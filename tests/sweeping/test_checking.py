"""The check of a store: it passes on a sound one, and finds each change of a result, a key or a proof."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from sweeps import InProcess

from optsched.certificates import certify
from optsched.certificates.checking import Claim, Verdict
from optsched.errors import InputError
from optsched.sweeping import checking
from optsched.sweeping.checking import check_store
from optsched.sweeping.executing import carry_out
from optsched.sweeping.plans import planned


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound store."""
    path = tmp_path_factory.mktemp("sound") / "a.sqlite"
    plan = planned(["papers/guo-fig2", "papers/guo-table2"], ["lsap", "latency"], ["dl", "labl"], 2)
    carry_out(plan, path, InProcess())
    return path


@pytest.fixture
def path(sound: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copy(sound, tmp_path / "a.sqlite"))


def change(path: Path, command: str, *values: object) -> tuple[str, ...]:
    """What is found after a change."""
    connection = sqlite3.connect(path)
    connection.execute(command, values)
    connection.commit()
    connection.close()
    return check_store(path).faults


def test_a_sound_store(path: Path) -> None:
    """Tests that nothing is wrong with what a sweep stored, and that its optima are proved anew."""
    told: list[str] = []
    found = check_store(path, told.append)
    assert (found.runs, found.optima, found.instances, found.proved, found.faults) == (8, 4, 2, 4, ())
    assert "guo-fig2 latency" in told


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("UPDATE runs SET seed = 7 WHERE seed = 1", "its key is not that of what it says it ran"),
        ("UPDATE runs SET source_sha256 = 'x'", "its key is not that of what it says it ran"),
        ("UPDATE runs SET status = 'failed'", "its record has another status"),
        ("UPDATE runs SET record = '{'", "its record is no JSON"),
        ("UPDATE runs SET record = '{}'", "its record has another status"),
        ("UPDATE optima SET version = '0'", "its key is not that of what it says was solved"),
        ("UPDATE optima SET solver = '{'", "Expecting"),
        ("UPDATE optima SET solution = replace(solution, '\"bound\": [', '\"bound\": [1,')", "bound"),
        ("UPDATE instances SET content = x'00'", "its content is damaged"),
        ("DELETE FROM sweeps", "refers to a row of sweeps that is not there"),
    ],
)
def test_each_change_is_found(path: Path, command: str, told: str) -> None:
    """Tests that a changed row is found, and where it is."""
    faults = change(path, command)
    assert any(told in fault for fault in faults), faults


def test_what_nothing_proves(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that optima that nothing proves are counted by what they rest on, and are no fault."""
    claimed = Verdict((), (Claim("solver", "its word"),))
    names = iter(["lsap"])
    monkeypatch.setattr(
        checking, "certify", lambda problem, solution: claimed if next(names, None) else certify(problem, solution)
    )
    found = check_store(path)
    assert (found.proved, dict(found.claimed), found.faults) == (3, {"solver": 1}, ())


def test_a_false_proof_is_found(path: Path) -> None:
    """Tests that an optimum that claims another value than its placement and proof have is contradicted."""
    connection = sqlite3.connect(path)
    key, text = connection.execute("SELECT key, solution FROM optima WHERE problem = 'lsap'").fetchone()
    connection.close()
    solution = json.loads(text)
    solution["objective"] = [solution["objective"][0] + 1]
    faults = change(path, "UPDATE optima SET solution = ? WHERE key = ?", json.dumps(solution), key)
    assert faults[0].startswith(f"optimum {key[:12]} (guo-fig2, lsap): objective: the placement's value is")


def test_what_is_no_store(tmp_path: Path) -> None:
    """Tests that a file that is none cannot be checked."""
    with pytest.raises(InputError, match="there is no such store"):
        check_store(tmp_path / "a.sqlite")
