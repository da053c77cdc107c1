"""The store: what is put in is there as a whole, and whatever is wrong with the file is one clear line."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from command_line import ENVIRONMENT
from sweeps import TIMES, InProcess, small_plan, stop, timeless

import optsched
from optsched import InputError, UsageError, certify
from optsched.certificates.checking import Claim, Verdict
from optsched.core.resources import code_version
from optsched.measuring.printing import to_json
from optsched.measuring.sweeping import carry_out
from optsched.measuring.sweeping import store as module
from optsched.measuring.sweeping.plans import planned
from optsched.measuring.sweeping.store import VERSION, Store, check_store, load_sweep, locked

INSTANCE = {"sha256": "a", "name": "small", "tasks": 1, "nodes": 2, "content": b""}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one instance."""
    file = tmp_path / "a.sqlite"
    with Store(file, write=True) as store, store.transaction():
        store.put("instances", INSTANCE)
    return file


def told(path: Path, write: bool = False) -> str:
    """What is said of a file that is no sound store."""
    with pytest.raises(InputError) as caught:
        Store(path, write)
    assert str(caught.value).startswith(str(path))
    return str(caught.value)


def change(path: Path, *commands: str, values: tuple[object, ...] = ()) -> None:
    """Change a database by itself."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for command in commands:
            connection.execute(command, values)


def test_rows_come_back(path: Path) -> None:
    """Tests that rows are found again, that one with the same key takes its place, and that lists are JSON."""
    with Store(path, write=True) as store:
        with store.transaction():
            store.put("instances", {**INSTANCE, "name": "re\udcffnamed"})
            store.put("instances", {**INSTANCE, "sha256": "b", "name": ["x", {"y": 1}]})
        assert [row["name"] for row in store.rows("SELECT * FROM instances ORDER BY sha256")] == [
            "re\\udcffnamed",
            '["x", {"y": 1}]',
        ]
        assert store.faults() == []
    assert sorted(os.listdir(path.parent)) == ["a.sqlite"], "nothing lies beside it"


def test_all_or_nothing(path: Path) -> None:
    """Tests that nothing of a transaction is kept that broke off."""
    with Store(path, write=True) as store:
        with pytest.raises(ZeroDivisionError):
            _put_and_break(store, lambda: 1 / 0)
        with pytest.raises(InputError, match="cannot be used: no such table"):
            _put_and_break(store, lambda: store.put("missing", INSTANCE))
        assert len(list(store.rows("SELECT * FROM instances"))) == 1


def _put_and_break(store: Store, breaks: Callable[[], object]) -> None:
    with store.transaction():
        store.put("instances", {**INSTANCE, "sha256": "b"})
        breaks()


def test_reading_changes_nothing(tmp_path: Path) -> None:
    """Tests that there is no store where none was made, and none of an empty file that was only read."""
    missing, empty = tmp_path / "missing.sqlite", tmp_path / "empty.sqlite"
    empty.touch()
    assert "there is no such store" in told(missing)
    assert not missing.exists()
    with pytest.raises(InputError, match="there is no such store"):
        check_store(missing)
    assert "is empty" in told(empty)
    assert empty.read_bytes() == b""
    with Store(empty, write=True) as store:
        assert list(store.rows("SELECT * FROM runs")) == [], "what a kill at the very beginning leaves is begun anew"


def test_a_newer_version(path: Path) -> None:
    """Tests that a store of a newer version is refused, and left as it is."""
    change(path, f"PRAGMA user_version = {VERSION + 1}")
    before = path.read_bytes()
    for write in (False, True):
        assert f"newer optsched (version {VERSION + 1}; this one knows {VERSION}): update optsched" in told(path, write)
    assert path.read_bytes() == before


def test_no_store(tmp_path: Path) -> None:
    """Tests that a database of something else, a file that is none of SQLite, and a folder are refused."""
    file = tmp_path / "a.sqlite"
    change(file, "CREATE TABLE runs (a)")
    before = file.read_bytes()
    assert told(file, write=True).endswith("another program, not a store of optsched sweep; name another file")
    assert file.read_bytes() == before
    change(file, "PRAGMA application_id = 7")
    assert "not a store of optsched sweep" in told(file)
    file.write_text("results\n" * 1000)
    assert "is no SQLite file" in told(file, write=True)
    assert file.read_text().startswith("results")
    assert "is a folder" in told(tmp_path, write=True)


def test_damaged(path: Path) -> None:
    """Tests that a store whose pages were overwritten, or cut off, is told to be damaged."""
    with Store(path, write=True) as store, store.transaction():
        for number in range(500):
            store.put("instances", {**INSTANCE, "sha256": str(number), "content": b"x" * 500})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "is damaged" in told(path, write=True)
    path.write_bytes(whole[:8192] + b"\xff" * 40960 + whole[49152:])
    assert "is damaged" in told(path, write=True)
    with pytest.raises(InputError, match="is damaged"):
        check_store(path)
    path.write_bytes(whole)
    with Store(path) as store:
        assert store.faults() == []


def test_killed_within_a_result(path: Path) -> None:
    """Tests that what a killed process has written of a result is taken back by whoever opens the store next."""
    code = f"""
import os
from optsched.measuring.sweeping.store import Store
with Store({str(path)!r}, write=True) as store, store.transaction():
    store.execute("PRAGMA cache_size = 1")
    for number in range(500):
        store.put("instances", {{**{INSTANCE!r}, "sha256": str(number), "content": b"x" * 5000}})
    os._exit(9)
"""
    before = path.stat().st_size
    assert subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, check=False).returncode == 9
    assert path.stat().st_size > before, "pages were written"
    assert path.with_name("a.sqlite-journal").exists()
    with Store(path) as store:
        assert [row["sha256"] for row in store.rows("SELECT sha256 FROM instances")] == ["a"]
        assert store.faults() == []
    assert path.stat().st_size == before


def test_held_by_another_program(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a program which keeps the store locked is reported, after patience."""
    monkeypatch.setattr(module, "_PATIENCE", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert "is locked by another program" in told(path)
    other.close()


def test_who_reads_for_long_holds_up_and_ends_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a result waits for a program that holds the store, is told so once, and is put in then."""
    monkeypatch.setattr(module, "_PATIENCE", 0.01)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    tries: list[str] = []

    def waits() -> None:
        tries.append("told")
        threading.Timer(0.1, other.execute, ["ROLLBACK"]).start()

    with Store(path, write=True, waits=waits) as store:
        for begin in ("BEGIN", "BEGIN EXCLUSIVE"):
            other.execute(begin)
            other.execute("SELECT count(*) FROM instances").fetchall()
            with store.transaction():
                store.put("instances", {**INSTANCE, "sha256": begin})
        other.execute("BEGIN EXCLUSIVE")
        assert len(list(store.rows("SELECT * FROM instances"))) == 3
    assert tries == ["told"] * 3
    other.close()


def test_what_cannot_be_written(tmp_path: Path) -> None:
    """Tests that a folder that is not there, or is a file, is reported with what to check."""
    (tmp_path / "file").touch()
    for path in (tmp_path / "no" / "a.sqlite", tmp_path / "file" / "a.sqlite"):
        assert "check the path, its folder and who may write there" in told(path, write=True)
        with pytest.raises(InputError, match="there is no folder"), locked(path):
            pass


@contextmanager
def no_superuser(file: Path) -> Iterator[Path]:
    """The file in a folder where nobody may write, who may do everything being somebody else meanwhile."""
    superuser, nobody = os.geteuid() == 0, 65534
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(file, folder)
        if superuser:
            for owned in (folder, folder / file.name):
                os.chown(owned, nobody, -1)
            os.seteuid(nobody)
        folder.chmod(0o500)
        try:
            yield folder / file.name
        finally:
            folder.chmod(0o700)
            if superuser:
                os.seteuid(0)


@pytest.mark.skipif(sys.platform == "win32", reason="rights are told otherwise there")
@pytest.mark.parametrize("rights", [0o600, 0o400], ids=["in a read-only folder", "and read-only itself"])
def test_what_may_only_be_read(path: Path, rights: int) -> None:
    """Tests that a store without right to write can be read, and that writing, and a sweep, are refused."""
    with no_superuser(path) as file:
        file.chmod(rights)
        with Store(file) as store:
            assert len(list(store.rows("SELECT * FROM instances"))) == 1
        with pytest.raises(InputError, match="check the path, its folder and who may write there"), locked(file):
            pass
        if rights == 0o400:
            with pytest.raises(InputError, match="who may write there"), Store(file, write=True) as store:
                _put_and_break(store, lambda: None)


def test_one_at_a_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that who comes second, by a link too, is reported once, waits, and goes on if the first one is killed."""
    monkeypatch.setattr(module, "_PAUSE", 0.01)
    link = path.with_name("link.sqlite")
    link.symlink_to(path)
    code = "from optsched.measuring.sweeping.store import locked\n"
    code += f"with locked({str(path)!r}): print('held', flush=True); input()"
    command = [sys.executable, "-c", code]
    first = subprocess.Popen(command, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert first.stdout.readline() == "held\n"
    waited: list[int] = []

    def waits() -> None:
        waited.append(first.pid)
        first.kill()

    with locked(link, waits):
        assert waited == [first.pid]
    first.communicate()
    with locked(path, waits):
        assert len(waited) == 1


def test_the_same_as_a_study(tmp_path: Path) -> None:
    """Tests that records, frame, summary and columns are those of `optsched.study`, to the type of each column.

    Problems are of one component and two, with and without a gap over 0, and with what stands next to the gap.
    """
    sources, problems = ["papers/guo-table2", "examples/running-tasks"], ["lsap", "fair-lsap", "latency"]
    asked = sources, problems, ["dl", "dl,reading=heartbeat", "labl", "fair"], 2
    carry_out(planned(*asked), tmp_path / "a.sqlite", InProcess())
    found, study = load_sweep(tmp_path / "a.sqlite"), optsched.study(*asked)
    expected, times = study.frame(), {"columns": list(TIMES), "errors": "ignore"}
    pd.testing.assert_frame_equal(found.frame().drop(**times), expected.drop(**times))
    pd.testing.assert_frame_equal(found.summary(), study.summary())
    query = "SELECT gap, absolute_gap, objective AS objective_1, reference AS reference_1 FROM runs ORDER BY rowid"
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as connection:
        columns = pd.read_sql(query, connection).astype(float)
        gaps = pd.read_sql("SELECT * FROM gaps", connection)
    assert len(gaps) == len(columns) == 28
    assert (gaps["gap"].dtype, gaps["seed"].dtype) == (float, int)
    pd.testing.assert_frame_equal(columns, expected[list(columns)])
    written = json.loads(to_json(study.records()))
    for record, other in zip(found.records(), written, strict=True):
        shown = {"version": code_version(), **other, "notes": []}
        assert list(record) == list(shown), "fields in their order"
        assert timeless(record) == timeless(shown)
    assert repr(found) == f"<Sweep in {tmp_path}/a.sqlite: 28 of 28 runs done>"
    assert found.finished
    assert "<table" in found._repr_html_()


def test_each_plan_calls_runs_by_its_names(tmp_path: Path) -> None:
    """Tests that a result is there under the names of each plan that asked for it, and was computed once."""
    path = tmp_path / "a.sqlite"
    instance = optsched.load("papers/guo-fig2")
    carry_out(planned(instance, "lsap", "dl"), path, InProcess())
    executor = InProcess()
    carry_out(planned(replace(instance, name="again"), "lsap", "dl,reading=sweep"), path, executor)
    assert executor.keys == []
    for sweep, instance, label in ((1, "guo-fig2", "dl"), (2, "again", "dl,reading=sweep")):
        frame = load_sweep(path, sweep).frame()
        assert frame[["instance", "heuristic"]].to_numpy().tolist() == [[instance, label]]
    assert set(load_sweep(path, "all").frame()["instance"]) == {"guo-fig2", "again"}
    assert load_sweep(path).records()[0]["instance"] == "again", "the last one"


def test_an_unfinished_sweep(tmp_path: Path) -> None:
    """Tests that what is done of a sweep that was broken off can be read, in the order of the plan."""
    path = tmp_path / "a.sqlite"
    with pytest.raises(KeyboardInterrupt):
        carry_out(small_plan(), path, InProcess(stop(4, KeyboardInterrupt())))
    found = load_sweep(path)
    assert (len(found), found.planned, found.finished) == (3, 8, False)
    assert list(found.frame()["seed"]) == [0, 1, 0]
    with Store(path) as store:
        (row,) = store.rows("SELECT * FROM sweeps")
    assert (row["outcome"], row["runs"]) == ("interrupted", 8)
    assert row["begun"] <= row["ended"]
    assert json.loads(row["machine"])["process"]


def test_what_there_is_not(tmp_path: Path) -> None:
    """Tests that a store without a sweep, and a sweep that is not there, are reported."""
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
def copied(sound: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copy(sound, tmp_path / "a.sqlite"))


def found_after(path: Path, command: str, *values: object) -> tuple[str, ...]:
    """What is found after a change."""
    change(path, command, values=values)
    return check_store(path).faults


def test_a_sound_store(copied: Path) -> None:
    """Tests that nothing is wrong with what a sweep stored, that optima are proved anew, and no row can be lost."""
    lines: list[str] = []
    found = check_store(copied, lines.append)
    assert (found.runs, found.optima, found.instances, found.proved, found.faults) == (8, 4, 2, 4, ())
    assert "guo-fig2 latency" in lines
    optima = {(problem.name, problem.instance.name): (problem, found) for problem, found in load_sweep(copied).optima()}
    assert [optsched.certify(*optimum).valid for optimum in optima.values()] == [True] * 4
    with Store(copied, write=True) as store, pytest.raises(InputError, match="FOREIGN KEY"), store.transaction():
        store.execute("DELETE FROM sweeps")


@pytest.mark.parametrize(
    ("command", "message"),
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
        ("DELETE FROM sweeps", "table optima, row 1: refers to a row of sweeps that is not there"),
    ],
)
def test_each_change_is_found(copied: Path, command: str, message: str) -> None:
    """Tests that a changed row is found, and where it is."""
    faults = found_after(copied, command)
    assert any(message in fault for fault in faults), faults


def test_an_index_that_lost_rows_is_found(copied: Path) -> None:
    """Tests that what SQLite's own check finds is a fault."""
    other = "UPDATE sqlite_master SET sql = replace(sql, '(optimum)', '(instance)') WHERE name = 'runs_by_optimum'"
    change(copied, "PRAGMA writable_schema = ON", other)
    assert any("missing from index runs_by_optimum" in fault for fault in check_store(copied).faults)


def test_the_view_of_gaps_leaves_out_runs_without_one(copied: Path) -> None:
    """Tests that a run whose gap is unknown is in the table of runs only."""
    change(copied, "UPDATE runs SET gap = NULL WHERE seed = 1")
    with closing(sqlite3.connect(copied)) as connection:
        counts = [connection.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in ("runs", "gaps")]
    assert counts == [8, 4]


def test_levels_of_locality_of_an_earlier_version(copied: Path) -> None:
    """Tests that `remote` in a stored record, as earlier versions wrote it, is read as `off_rack`."""
    today = load_sweep(copied)
    assert found_after(copied, """UPDATE runs SET record = replace(record, '"off_rack"', '"remote"')""") == ()
    earlier = load_sweep(copied)
    assert earlier.records() == today.records()
    assert earlier.frame()["map_off_rack"].equals(today.frame()["map_off_rack"])
    assert earlier.frame()["map_off_rack"].sum() > 0


def test_what_nothing_proves(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that optima that nothing proves are counted by what they rest on, and are no fault."""
    claimed = Verdict((), (Claim("solver", "its word"),))
    names = iter(["lsap"])
    monkeypatch.setattr(
        "optsched.measuring.sweeping.store.certify",
        lambda problem, solution: claimed if next(names, None) else certify(problem, solution),
    )
    found = check_store(copied)
    assert (found.proved, dict(found.claimed), found.faults) == (3, {"solver": 1}, ())


def test_a_false_proof_is_found(copied: Path) -> None:
    """Tests that an optimum that claims another value than its placement and proof have is contradicted."""
    with Store(copied) as store:
        row = next(store.rows("SELECT key, solution FROM optima WHERE problem = 'lsap'"))
    solution = json.loads(row["solution"])
    solution["objective"] = [solution["objective"][0] + 1]
    faults = found_after(copied, "UPDATE optima SET solution = ? WHERE key = ?", json.dumps(solution), row["key"])
    assert faults[0].startswith(f"optimum {row['key'][:12]} (guo-fig2, lsap): objective: the placement's value is")
