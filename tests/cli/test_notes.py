"""Notes on stderr: silent defaults, what waits and what is left out; one line each, each once, and no more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run

from optsched.instances.files import save
from optsched.instances.generate import generate


def told(*args: str, code: int = 0) -> list[str]:
    """The notes of a command, without what stands before each."""
    result = run(*args)
    assert result.exit_code == code, result.stderr
    lines = result.stderr.splitlines()
    assert all(line.startswith("optsched: note: ") for line in lines)
    return [line.removeprefix("optsched: note: ") for line in lines]


def write(path: Path, **changes: Any) -> str:
    """A small instance, of which nothing is to be told, with changes."""
    document: dict[str, Any] = {
        "format": "optsched/1",
        "name": path.stem,
        "nodes": [{"id": "a"}, {"id": "b"}],
        "tasks": [{"id": "t1", "replicas": ["a"]}, {"id": "t2", "replicas": ["a", "b"]}],
    }
    path.write_text(json.dumps({**document, **changes}))
    return str(path)


RACKS = [{"id": "a", "rack": "r1"}, {"id": "b", "rack": "r2"}]
RACKS_TOLD = "small: racks are given but do not affect the cost (levels 0,1,1); --param lsap.levels=0,1,2 does"


def test_nothing_to_tell(tmp_path: Path) -> None:
    """Tests that an instance without oddities has no notes, missing fields of other problems included."""
    small = write(tmp_path / "small.json")
    for command in (["gap", small], ["matrix", small], ["solve", small, "--problem", "lsap"]):
        assert told(*command) == []


@pytest.mark.parametrize(
    ("command", "problem"),
    [("solve", "lsap"), ("frontier", "latency"), ("explain", "lsap"), ("gap", "lsap"), ("matrix", "lsap")],
)
def test_records_have_the_notes(command: str, problem: str, tmp_path: Path) -> None:
    """Tests that what was assumed of an instance, and waits in its problem, is in every record and on stderr."""
    labels = {"slots": "inferred from a trace"}
    nodes = [{"id": "a", "idle_slots": 1}, {"id": "b", "slots": 1, "idle_slots": 0}]
    small = write(tmp_path / "small.json", nodes=nodes, labels=labels)
    heuristic = ["--heuristic", "dl"] if command in ("explain", "gap", "matrix") else []
    result = run(command, small, "--problem", problem, *heuristic, "--format", "json")
    assert result.exit_code == 0, result.stderr
    answered = json.loads(result.stdout)
    for record in answered if isinstance(answered, list) else [answered]:
        assumed = "assumed or inferred: slots; the labels say how (optsched describe)"
        waits = [] if problem == "latency" else ["1 of 2 maps wait: no slot is idle"]
        assert record["notes"] == [*waits, assumed]
        assert list(record)[-1] == "notes"
        told = [f"small: {problem}: {line}" for line in waits] + [f"small: {assumed}"]
        assert [line.removeprefix("optsched: note: ") for line in result.stderr.splitlines()] == told


def test_racks_that_default_levels_do_not_count(tmp_path: Path) -> None:
    """Tests that `lsap` with racks and levels by default says so, and not where levels were chosen or come with it."""
    small = write(tmp_path / "small.json", nodes=RACKS)
    for command in (["gap", small], ["matrix", small], ["solve", small, "--problem", "lsap"]):
        assert told(*command) == [RACKS_TOLD]
    assert told("gap", small, "--problem", "latency") == []
    assert told("gap", small, "--param", "lsap.levels=0,1,1") == []
    assert told("gap", small, "--param", "lsap.levels=0,1,2") == []
    own = write(tmp_path / "small.json", nodes=RACKS, parameters={"lsap": {"levels": [0, 1, 1]}})
    assert told("gap", own) == []
    one = write(tmp_path / "small.json", nodes=[{"id": "a", "rack": "r"}, {"id": "b", "rack": "r"}])
    assert told("gap", one) == []


def test_a_load_of_2_5_tells_why_latency_is_left_out(tmp_path: Path) -> None:
    """Tests that a problem that was meant and cannot be posed is told with its reason, unless named others only."""
    small = write(tmp_path / "small.json", nodes=[{"id": "a", "load": 2.5}, {"id": "b"}])
    for command in ("gap", "matrix"):
        (line,) = told(command, small)
        assert line.startswith("small: latency left out: nodes[0].load: needs whole units of work, not 2.5; multiply")
    assert told("gap", small, "--problem", "lsap") == []


def test_groups_without_weights_tell_what_is_left_out(tmp_path: Path) -> None:
    """Tests that groups which no problem can use are told, problems with one reason in one line."""
    jobs = [{"id": "j", "group": "g"}]
    tasks = [{"id": "t1", "job": "j", "replicas": ["a"]}, {"id": "t2", "job": "j", "replicas": ["b"]}]
    small = write(tmp_path / "small.json", groups=[{"id": "g"}], jobs=jobs, tasks=tasks)
    assert told("gap", small) == [
        "small: fair-lsap, lsap-fairness left out: groups[0].weight: needs the group's share; and 1 more"
    ]


def test_a_wrong_parameter_in_the_file_is_told(tmp_path: Path) -> None:
    """Tests that a problem whose own parameters are wrong is left out with its reason."""
    small = write(tmp_path / "small.json", parameters={"latency": {"w_loc": -1}})
    (line,) = told("gap", small)
    assert line.startswith("small: latency left out: parameters.latency: ")


def test_tasks_that_wait(tmp_path: Path) -> None:
    """Tests that tasks beyond the idle slots are counted, for all problems in one line."""
    tasks = [{"id": f"t{i}", "replicas": ["a"]} for i in range(5)]
    small = write(tmp_path / "small.json", tasks=tasks)
    assert told("gap", small) == ["small: lsap: 3 of 5 maps wait: no slot is idle"]
    mixed = str(tmp_path / "mixed.json")
    save(generate("mixed", seed=0, nodes=4, tasks=20, reduces=12, jobs=2), mixed)
    lines = told(
        "gap", mixed, "--problem", "lsap", "--problem", "flow", "--problem", "transmission", "--heuristic", "fifo"
    )
    waiting = [line.split(": ", 1)[1] for line in lines if "wait" in line]
    assert waiting[0] == "lsap, flow: 12 of 20 maps wait: no slot is idle"
    assert waiting[1].startswith("transmission: ")
    assert " of 32 tasks wait" in waiting[1]


def test_maps_without_replicas(tmp_path: Path) -> None:
    """Tests that maps whose data are nowhere are counted, once for all problems to which it matters."""
    small = write(tmp_path / "small.json", tasks=[{"id": "t1", "replicas": ["a"]}, {"id": "t2"}])
    assert told("gap", small) == ["small: lsap, latency: 1 of 2 maps have no replica, and are remote everywhere"]


def test_nothing_is_pending(tmp_path: Path) -> None:
    """Tests that an instance all of whose maps run says that there is nothing to place."""
    tasks = [{"id": "t1", "state": "running", "node": "a"}]
    small = write(tmp_path / "small.json", tasks=tasks)
    (line,) = told("solve", small, "--problem", "lsap")
    assert line == "small: lsap: no map is pending: there is nothing to place"


def test_jobs_that_arrive_later(tmp_path: Path) -> None:
    """Tests that what arrives after the snapshot is counted: the optimum knows it, a policy does not."""
    jobs = [{"id": "j", "arrival": 50}]
    tasks = [{"id": "t1", "job": "j", "replicas": ["a"]}, {"id": "t2", "replicas": ["a"]}]
    small = write(tmp_path / "small.json", jobs=jobs, tasks=tasks)
    lines = told("gap", small)
    assert lines == [
        "small: lsap, latency: 1 of 2 maps arrive after the snapshot; the optimum and batch heuristics know them"
    ]


def test_observed_in_part(tmp_path: Path) -> None:
    """Tests that records of some tasks only are told, where the heuristics were not chosen."""
    tasks = [{"id": "t1", "replicas": ["a"], "observed": "a"}, {"id": "t2", "replicas": ["b"]}]
    small = write(tmp_path / "small.json", tasks=tasks)
    assert told("gap", small) == [
        "small: observed is not run in lsap, latency: 1 of 2 tasks have no record of where they ran"
    ]
    assert told("gap", small, "--heuristic", "dl") == []


def test_problem_that_no_heuristic_serves(tmp_path: Path) -> None:
    """Tests that a problem which is posed but has no row says why."""
    assert "knapsacks: generalized-assignment: no heuristic of the list serves it" in told("gap", "examples/knapsacks")


def test_assumed_fields(tmp_path: Path) -> None:
    """Tests that what is labelled as assumed is told where it is made and where figures rest on it."""
    mixed = str(tmp_path / "mixed.json")
    assert told("generate", "mixed", "--output", mixed) == [
        "assumed or inferred: shuffle, fields; the labels say how (optsched describe)"
    ]
    assert not any("assumed" in line for line in told("gap", mixed, "--problem", "flow", "--heuristic", "fifo"))
    small = write(tmp_path / "small.json", labels={"slots": "inferred from the most at once", "rack": "as recorded"})
    assert told("gap", small) == ["small: assumed or inferred: slots; the labels say how (optsched describe)"]
    assert told("generate", "lsap", "--output", mixed) == []


def test_many_instances_are_one_line(tmp_path: Path) -> None:
    """Tests that what is so in more than three instances is one line, whatever the numbers in it."""
    files = [
        write(tmp_path / f"i{count}.json", tasks=[{"id": f"t{i}", "replicas": ["a"]} for i in range(count)])
        for count in (3, 4, 5, 6)
    ]
    args = ["--problem", "lsap", "--heuristic", "dl"]
    assert told("gap", *files[:3], *args)[2] == "i5: lsap: 3 of 5 maps wait: no slot is idle"
    (line,) = told("gap", *files, *args)
    assert line == "i3: lsap: 1 of 3 maps wait: no slot is idle; likewise in 3 other instances"


def test_library_by_default_has_no_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the shipped instances, where none is named, are taken as they are meant."""
    monkeypatch.setattr("optsched.cli.gaps._shipped", lambda: ["generated/lsap-n20-t15-seed0"])
    assert told("gap") == []


def test_notes_are_told_before_the_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the notes are there though what follows is broken off."""

    def press(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("optsched.measuring.gaps.Reference.solved", press)
    result = run("gap", write(tmp_path / "small.json", nodes=RACKS))
    assert result.exit_code == 130
    assert result.stderr.splitlines()[0] == f"optsched: note: {RACKS_TOLD}"


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"tasks": [{"id": "t1"}, {"id": "t2", "size": 134217728}]}, "tasks[1].size is 134217728"),
        ({"tasks": [{"id": "t1", "size": 64, "bytes_read": 64000000}]}, "tasks[0].bytes_read is 64000000"),
        (
            {
                "tasks": [{"id": "t1"}, {"id": "r1", "kind": "reduce"}],
                "shuffle": [{"map": "t1", "reduce": "r1", "size": 1e6}],
            },
            "shuffle[0].size is 1000000",
        ),
    ],
)
def test_sizes_that_look_like_bytes(tmp_path: Path, changes: dict[str, Any], place: str) -> None:
    """Tests that a size of a terabyte and more is told once, with its place, whatever the problem."""
    found = told("solve", write(tmp_path / "small.json", **changes), "--problem", "lsap")
    assert f"small: sizes look like bytes ({place}); they are read as MB" in found
    usual = write(tmp_path / "small.json", tasks=[{"id": "t1", "size": 999999, "replicas": ["a"]}])
    assert told("solve", usual, "--problem", "lsap") == []


def test_imported_sizes_are_megabytes(tmp_path: Path) -> None:
    """Tests that a reduce of eight terabytes, as a SWIM workload of 2009 has one, is not taken for bytes."""
    (tmp_path / "large.tsv").write_text("job0\t0\t0\t134217728\t8822022000000\t1048576\n")
    file = str(tmp_path / "large.json")
    told("import", "swim", str(tmp_path / "large.tsv"), "--nodes", "3", "--output", file)
    found = told("solve", file, "--problem", "lsap")
    assert not any("look like bytes" in line for line in found)


def test_notes_are_in_records(tmp_path: Path) -> None:
    """Tests that records tell what stderr does: of their own problem, of the instance, and of what was left out."""
    tasks = [{"id": f"t{row}", "replicas": ["a"]} for row in range(3)]
    nodes = [{"id": "a", "rack": "r1"}, {"id": "b", "rack": "r2", "load": 0.5}]
    small = write(tmp_path / "small.json", nodes=nodes, tasks=tasks)
    for command in ("gap", "matrix"):
        record = json.loads(run(command, small, "--format", "json").stdout)[0]
        left, waits, racks = record["notes"]
        assert left.startswith("latency left out: nodes[1].load: ")
        assert waits == "1 of 3 maps wait: no slot is idle"
        assert racks == RACKS_TOLD.removeprefix("small: ")
    result = run("gap", small, "--problem", "lsap", "--format", "csv")
    assert "wait: no slot is idle" in result.stdout
    clean = run("gap", "papers/guo-fig2", "--problem", "lsap", "--heuristic", "dl", "--format", "json")
    assert json.loads(clean.stdout)[0]["notes"] == []
