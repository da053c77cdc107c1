"""Runs of a report: names, duplicates, and what came of each."""

from __future__ import annotations

import json
import math
import shlex
import subprocess
import sys
from typing import Any

import pytest
from report_records import Study, entries, record

import optsched
from optsched.core.errors import UsageError
from optsched.measuring.records import Record, frame_of
from optsched.showing.entries import again, argument, chosen, entries_of, study
from optsched.showing.reading import read


def test_names_tell_apart_what_is_compared() -> None:
    """Tests that parameters are part of a name where one instance or cell has several, and not where instances do."""
    rows = [
        record(instance="a", parameters={"levels": [0, 1, 1]}),
        record(instance="b", parameters={"levels": [0, 1, 2]}),
    ]
    assert {entry.problem for entry in entries(rows)} == {"lsap"}
    rows += [record(instance="a", parameters={"levels": [0, 1, 2]})]
    assert {entry.problem for entry in entries(rows)} == {"lsap,levels=0:1:1", "lsap,levels=0:1:2"}
    rows = [record(heuristic_parameters={"reading": text, "window": 0}) for text in ("sweep", "heartbeat")]
    assert [entry.heuristic for entry in entries(rows)] == ["dl,reading=sweep", "dl,reading=heartbeat"]
    rows = [
        record(instance="a", heuristic_parameters={"alpha": 1}),
        record(instance="b", heuristic_parameters={"alpha": 2}),
    ]
    assert {entry.heuristic for entry in entries(rows)} == {"dl"}
    rows = [record(heuristic_parameters={}), record(heuristic_parameters={"shift": 1})]
    assert [entry.heuristic for entry in entries(rows)] == ["dl", "dl,shift=1"]


def test_recorded_twice() -> None:
    """Tests that a run counts once, the last one, and that it is said whether it came to something else."""
    found, told = entries_of(read(Study([record(4), record(4), record(6), record(instance="b")])).runs)
    assert [entry.objective for entry in found] == [6, 4]
    assert told == ["2 runs are recorded more than once and count once, 1 of them with another result: the last counts"]
    same = [record(instance_sha256="x"), record(instance_sha256="y")]
    assert len(entries(same)) == 2, "two instances of one name"
    assert entries_of(read(Study([record()])).runs)[1] == []


@pytest.mark.parametrize(
    ("changes", "status", "outcome"),
    [
        ({}, "done", "above"),
        ({"value": 2}, "done", "optimal"),
        ({"value": 2, "reference_kind": "bound"}, "done", "above"),
        ({"best": 0}, "done", "over_zero"),
        ({"best": None}, "done", "unknown"),
        ({"value": None}, "infeasible", "infeasible"),
        ({"value": None, "status": "starved"}, "starved", "starved"),
        ({"value": None, "status": "out-of-time"}, "out-of-time", "out_of_time"),
        ({"value": None, "status": "out-of-memory"}, "out-of-memory", "out_of_memory"),
        ({"value": None, "status": "crashed"}, "crashed", "crashed"),
        ({"value": None, "status": None, "error": "lost"}, "failed", "failed"),
        ({"value": None, "status": None}, "infeasible", "infeasible"),
        ({"status": None}, "done", "above"),
        (
            {"value": None, "status": None, "error": 'heuristic "x" was out of time after 1 s'},
            "out-of-time",
            "out_of_time",
        ),
    ],
)
def test_what_came_of_a_run(changes: dict[str, object], status: str, outcome: str) -> None:
    """Tests the status, also of records that do not tell it, and how the run is counted."""
    (entry,) = entries([record(**changes)])  # type: ignore[arg-type]
    assert (entry.status, entry.outcome) == (status, outcome)
    assert entry.relative == ({"above": 1.0, "optimal": 0.0}.get(outcome) if changes.get("value") != 2 else 0.0)


def test_several_components() -> None:
    """Tests that gaps are of the first component, and that an optimum is met only in all."""
    both = {"sense": ["max", "min"], "components": ["share", "cost"], "objective": [1, 9], "reference": [1, 8]}
    (entry,) = entries([record(**both, absolute_gap=[0, 1], relative_gap=[0, 0.125])])
    assert (entry.component, entry.maximum, entry.relative, entry.outcome) == ("share", True, 0, "above")
    (entry,) = entries([record(components=[], certificate=None)])
    assert (entry.component, entry.maximum, entry.proof) == ("component 1", False, "unknown")


def test_waves() -> None:
    """Tests that waves, which former versions recorded, are instances of their own."""
    found = entries([record(wave=None), record(wave=0), record(wave=1)])
    assert [entry.instance for entry in found] == ["a, all waves", "a, wave 0", "a, wave 1"]
    assert len({entry.reference for entry in found}) == 3


def test_chosen() -> None:
    """Tests that problems and heuristics are chosen by name or label, and that a wrong name names the nearest."""
    rows = [record(heuristic_parameters={"reading": text}) for text in ("sweep", "heartbeat")]
    found = entries([*rows, record(problem="flow", heuristic="fifo")])
    assert len(chosen(found, ["lsap"], [])) == len(chosen(found, [], ["dl"])) == 2
    assert len(chosen(found, ["lsap"], ["dl,reading=sweep"])) == 1
    assert len(chosen(found, [], [])) == 3
    with pytest.raises(UsageError, match='no record is of problem "lsab"; did you mean "lsap"'):
        chosen(found, ["lsab"], [])


def test_frame() -> None:
    """Tests that pictures get numbers, NaN where there is none."""
    table = frame_of(entries([record(), record(None, instance="b", status="starved")]))
    assert table["relative_gap_1"].tolist()[0] == 1
    assert math.isnan(table["relative_gap_1"].tolist()[1])
    assert table["starved"].tolist() == [False, True]


def parsed(**changes: Any) -> Record:
    """A record that was read."""
    return read(Study([record(**changes)])).runs[0]


@pytest.mark.parametrize(
    ("changes", "command"),
    [
        (
            {"instance": "guo-fig2", "parameters": {"levels": [0, 1, 1]}, "heuristic_parameters": {"reading": "sweep"}},
            "optsched gap papers/guo-fig2 --problem lsap --heuristic dl --seed 0",
        ),
        (
            {"instance": "my jobs", "parameters": {"levels": [0, 1, 2]}, "seed": 4},
            "optsched gap 'my jobs.json' --problem lsap --param levels=0,1,2 --heuristic dl --seed 4",
        ),
        (
            {"source": "generated by optsched generate lsap --seed 3", "heuristic": "my.mod:f"},
            "optsched generate lsap --seed 3 --output a.json && "
            "optsched gap a.json --problem lsap --heuristic my.mod:f --seed 0",
        ),
        (
            {"heuristic_parameters": {"reading": "heartbeat", "max_idle_rounds": 3}},
            "optsched gap a.json --problem lsap --heuristic dl,reading=heartbeat,max_idle_rounds=3 --seed 0",
        ),
        (
            {"profile": "quick", "time_limit": 2.5},
            "optsched gap a.json --problem lsap --heuristic dl --seed 0 --profile quick --time-limit 2.5",
        ),
        (
            {"profile": "exact", "time_limit": None},
            "optsched gap a.json --problem lsap --heuristic dl --seed 0 --time-limit none",
        ),
        (
            {"problem": "elsewhere", "parameters": {"x": True}, "heuristic": "unheard-of"},
            "optsched gap a.json --problem elsewhere --param x=true --heuristic unheard-of --seed 0",
        ),
    ],
)
def test_a_run_again(changes: dict[str, Any], command: str) -> None:
    """Tests the command of a run: names of the library, files, families, and parameters that are no defaults."""
    cell = again(parsed(**changes))
    assert (cell, cell.again) == (command, True)


def test_lists_within_a_heuristic_have_colons() -> None:
    """Tests that a list within a heuristic is written with colons, as commas part its parameters."""
    record = parsed(problem="flow", parameters={}, heuristic="flow-sched", heuristic_parameters={"f_c": [0, 0.5, 1]})
    assert "--heuristic flow-sched,f_c=0:0.5:1 " in again(record)


def test_the_command_gives_the_run_again() -> None:
    """Tests that the command of a record makes the same record, but for the seconds."""
    (run,) = optsched.study("papers/hsu-two-clusters", "lsap", "dl,reading=heartbeat", seeds=[2]).records()
    command = again(read(Study([run])).runs[0])
    words = [sys.executable, "-m", *shlex.split(command), "--format", "json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    (repeated,) = read(Study(json.loads(done.stdout))).runs
    assert (repeated.objective, repeated.seed, repeated.heuristic_parameters) == (
        run["objective"],
        2,
        {"reading": "heartbeat"},
    )


def test_a_study_again() -> None:
    """Tests the lines for the runs of a problem: few instances by name, many by their number, seeds as a range."""
    runs = [parsed(instance=name, seed=seed) for name in ("guo-fig2", "b") for seed in (1, 2)]
    assert study(runs) == (
        "optsched gap papers/guo-fig2 b.json --problem lsap --heuristic dl --seed 1 --repeats 2 --format json"
        " --output records.json",
    )
    many = [parsed(instance=f"i{number}") for number in range(10)]
    assert study(many)[0] == "# and 2 instances more, to be added to the command"
    assert "--repeats" not in study(many)[-1]
    drawn = parsed(source="generated by optsched generate lsap --seed 3")
    other = parsed(instance="c", parameters={"levels": [0, 1, 2]})
    assert study([drawn, other])[:2] == (
        "optsched generate lsap --seed 3 --output a.json",
        "# the parameters of lsap differ between the runs; each run's command has its own",
    )
    assert study([drawn, parsed(time_limit=None)])[1].startswith("# profiles or limits on time differ")
    assert argument("", "") == ("", "instance.json")
