"""What is read from a store: the records, frames and summaries that a study of the same gives."""

from __future__ import annotations

import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from sweeps import TIMES, InProcess, small_plan

import optsched
from optsched.certificates import certify
from optsched.certificates.checking import Claim, Verdict
from optsched.core.errors import InputError, UsageError
from optsched.core.fingerprint import code_version
from optsched.core.instance import Instance
from optsched.measuring.printing import to_json
from optsched.measuring.sweeping.executing import carry_out
from optsched.measuring.sweeping.plans import planned
from optsched.measuring.sweeping.store import Store, check_store, load_sweep

#: Problems of one component and two, with and without a gap beside 0, and what stands beside the gap.
SOURCES = ["papers/guo-table2", "examples/running-tasks"]
PROBLEMS = ["lsap", "fair-lsap", "latency"]
HEURISTICS = ["dl", "dl,reading=heartbeat", "labl", "fair"]


def seconds(frame: pd.DataFrame) -> list[str]:
    """Columns that no two runs share."""
    return [name for name in frame.columns if name in TIMES]


def test_the_same_as_a_study(tmp_path: Path) -> None:
    """Tests that records, frame and summary are those of `optsched.study`, to the type of each column."""
    carry_out(planned(SOURCES, PROBLEMS, HEURISTICS, 2), tmp_path / "a.sqlite", InProcess())
    found, study = load_sweep(tmp_path / "a.sqlite"), optsched.study(SOURCES, PROBLEMS, HEURISTICS, 2)
    expected = study.frame()
    frame = found.frame()
    pd.testing.assert_frame_equal(frame.drop(columns=seconds(frame)), expected.drop(columns=seconds(expected)))
    pd.testing.assert_frame_equal(found.summary(), study.summary())
    written = json.loads(to_json(study.records()))
    for record, other in zip(found.records(), written, strict=True):
        told = {"version": code_version(), **other, "notes": []}
        assert list(record) == list(told), "fields in their order"
        assert {name: record[name] for name in told if name not in TIMES} == {
            name: told[name] for name in told if name not in TIMES
        }
    assert repr(found) == f"<Sweep in {tmp_path}/a.sqlite: 28 of 28 runs done>"
    assert found.finished
    assert "<table" in found._repr_html_()


def test_each_plan_calls_runs_by_its_names(tmp_path: Path) -> None:
    """Tests that a result is there under the names of each plan that asked for it, and was computed once."""
    path = tmp_path / "a.sqlite"
    instance = optsched.load("papers/guo-fig2")
    assert isinstance(instance, Instance)
    carry_out(planned(instance, "lsap", "dl"), path, InProcess())
    executor = InProcess()
    carry_out(planned(replace(instance, name="again"), "lsap", "dl,reading=sweep"), path, executor)
    assert executor.keys == []
    for sweep, instances, label in ((1, ["guo-fig2"], "dl"), (2, ["again"], "dl,reading=sweep")):
        frame = load_sweep(path, sweep).frame()
        assert (list(frame["instance"]), list(frame["heuristic"])) == (instances, [label])
    assert set(load_sweep(path, "all").frame()["instance"]) == {"guo-fig2", "again"}
    assert load_sweep(path).records()[0]["instance"] == "again", "the last one"


def test_variants_are_summed_up_apart(tmp_path: Path) -> None:
    """Tests that each choice of parameters is a problem of its own in the summary."""
    plan = planned("papers/guo-fig2", "latency", "round-robin", parameters=[{"w_rem": 3}, {"w_rem": 5}])
    carry_out(plan, tmp_path / "a.sqlite", InProcess())
    summary = load_sweep(tmp_path / "a.sqlite").summary()
    assert list(summary["problem"]) == ["latency w_rem=3", "latency w_rem=5"]
    assert list(summary["worst"]) == [2, 4]


def test_an_unfinished_sweep(tmp_path: Path) -> None:
    """Tests that what is done of a sweep that was broken off can be read, in the order of the plan."""
    path = tmp_path / "a.sqlite"

    def stop(key: str, number: int) -> None:
        if number == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(small_plan(), path, InProcess(stop))
    found = load_sweep(path)
    assert (len(found), found.planned, found.finished) == (3, 8, False)
    assert list(found.frame()["seed"]) == [0, 1, 0]
    with Store(path) as store:
        (row,) = store.rows("SELECT * FROM sweeps")
    assert (row["outcome"], row["runs"]) == ("interrupted", 8)
    assert row["begun"] <= row["ended"]
    assert json.loads(row["machine"])["process"]


def test_optima_can_be_certified(tmp_path: Path) -> None:
    """Tests that each optimum comes back with its problem and a proof that holds without any solver."""
    carry_out(planned(SOURCES, PROBLEMS, HEURISTICS), tmp_path / "a.sqlite", InProcess())
    optima = list(load_sweep(tmp_path / "a.sqlite").optima())
    assert len(optima) == 6
    for problem, solution in optima:
        optsched.certify(problem, solution).raise_unless_proved()


def test_what_there_is_not(tmp_path: Path) -> None:
    """Tests that a store without a sweep, and a sweep that is not there, are told."""
    path = tmp_path / "a.sqlite"
    with Store(path, write=True), pytest.raises(InputError, match="no sweep has begun"):
        load_sweep(path)
    carry_out(small_plan(1, 1), path, InProcess())
    for sweep in (2, "first"):
        with pytest.raises(UsageError, match='give a number to 1, "last" or "all"'):
            load_sweep(path, sweep)
    with Store(path, write=True) as store, store.transaction():
        store.execute("UPDATE instances SET content = x'00'")
    with pytest.raises(InputError, match="its content is damaged"):
        list(load_sweep(path).optima())


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
        "optsched.measuring.sweeping.store.certify",
        lambda problem, solution: claimed if next(names, None) else certify(problem, solution),
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
