"""The papers' runs: small ones print every table, figures are those of the runs, and the page quotes them."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from pages import rows_below

from optsched.core.instance import Cluster, Instance, Ragged, Shuffle, Workload
from optsched.simulating import Levels, simulate

ROOT = Path(__file__).parents[2]

PAGE = ROOT / "docs" / "results-runs.md"

#: How many seeds the page has of Table II at full size.
SHEN_SEEDS = 5


@pytest.fixture(name="runs")
def _runs(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("paper_runs")


def part(name: str) -> ModuleType:
    """The module of a paper; after the fixture."""
    return importlib.import_module(f"rerunning.{name}")


@pytest.mark.thorough
def test_every_table_of_small_runs(runs: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that papers print their figures, as tables and as records, which tell the same."""
    arguments = ["--divide", "100", "--seeds", "1"]
    runs.main(["shen", *arguments])
    told = capsys.readouterr().out
    titles = [line for line in told.splitlines() if line.startswith("### ")]
    assert [title.split(":")[0].split(" ", 1)[1] for title in titles] == [
        *("Table III", "Figure 4", "Figure 5", "Figure 6", "Figure 7"),
    ]
    runs.main(["shen", *arguments, "--format", "json"])
    records = json.loads(capsys.readouterr().out)
    assert list(records) == ["shen"]
    for record in records["shen"]:
        for row in record["rows"]:
            assert f"| {' | '.join(map(str, row))} |" in told


def test_unknown_paper(runs: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests the line for a paper that is none, and for a size that is none."""
    for arguments in (["quincy"], ["shen", "--divide", "0"]):
        with pytest.raises(SystemExit):
            runs.main(arguments)
    told = capsys.readouterr().err
    assert "no paper is called quincy; known: shen" in told
    assert "argument --divide" in told


def test_reduces_near_their_data(runs: ModuleType) -> None:
    """Tests a reduce that starts where a map has ended, one where a map still runs, and one where none ran."""
    assert runs.PARTS
    workload = Workload(
        ["m1", "m2", "r1", "r2"],
        job=[0] * 4,
        job_ids=["j"],
        kind=[0, 0, 1, 1],
        duration=[2.0, 9.0, 3.0, 3.0],
        replicas=Ragged.from_rows([[0], [1], [], []]),
        shuffle=Shuffle([0, 1], [2, 3], [1.0, 1.0]),
    )
    for slots, near in (([1, 0, 1], [2]), ([0, 2, 0], []), ([2, 0, 0], [2, 3])):
        cluster = Cluster(["a", "b", "c"], slots=[1, 1, 0], reduce_slots=slots)
        run = simulate(Instance(cluster, workload), "fifo", Levels(), heartbeat=0)
        found = part("shen").near_its_data(run)
        assert len(found) == len(near)


def test_figures_by_hand(runs: ModuleType) -> None:
    """Tests what is measured for Table III and Figures 4 to 7, of two jobs of ten sizes whose times are put down."""
    assert runs.PARTS
    shen = part("shen")
    jobs = np.arange(1.0, 21.0)
    mine = shen.Batches(jobs, np.array([1.0, 4]), np.array([2.0]), np.ones(20), (1, 1), (4.0, 20.0))
    other = shen.Batches(
        jobs * np.repeat([2, 1.5, 1], [5, 1, 14]),
        np.array([3.0, 5, 4, 9]),
        np.array([2.0, 3]),
        jobs / 20,
        (2, 1),
        (30.0,),
    )
    found = {"probabilistic": [mine], "coupling": [other]}
    rows = {name: [row[1:] for row in getattr(shen, name)(found).rows] for name in ("_table_3", "_figure_7")}
    assert rows["_table_3"] == [
        ["89.84 %", "66.7 %", "50.0 %", "100.0 %"],
        ["88.3 %", "50.0 %", "50.0 %", "50.0 %"],
    ]
    assert rows["_figure_7"][1] == [f"{100 * (size / 20 + (size + 10) / 20) / 2:.0f}" for size in range(1, 11)]
    assert shen._figure_4(found).rows[0][-2:] == ["10", "4, 20"]
    (row,) = shen._figure_5(found).rows
    assert row[4:] == ["14.2 %", "14.2 %", "25 % by more than 47 %", "50 %", "6 of 20"]
    maps, reduces = [row for row in shen._figure_6(found).rows if row[1] == "`coupling`"]
    assert maps[2:] == ["76 % in 493 s", "50.0 % in 4 s", "5", "4", "9"]
    assert reduces[2:] == ["65 % in 574 s", "50.0 % in 2 s", "2", "2", "3"]
    slower = replace(other, job_times=2 * other.job_times, on_node=(4, 0))
    both = {"probabilistic": [mine, mine], "coupling": [other, slower]}
    assert shen._figure_4(both).rows[1][7:9] == ["17 ± 72", "23"]
    assert shen._figure_5(both).rows[0][4:] == [
        "35.6 ± 272.7 %",
        "14.2 %",
        "62 % by more than 47 %",
        "75 %",
        "26 of 40",
    ]
    assert shen._table_3(both).rows[1][2:] == ["58.3 ± 105.9 %", "75.0 ± 317.7 %", "25.0 ± 317.7 %"]


def quoted(told: str) -> list[str]:
    """The rows of tables."""
    return [line for line in told.splitlines() if line.startswith("|")]


@pytest.mark.thorough
def test_table_2_whole(runs: ModuleType) -> None:
    """Tests that the page's figures of Table II at full size are had again, of Fair: its local tasks and job times."""
    assert runs.PARTS
    shen = part("shen")
    found = {"fair": [shen.batches(shen.OF_SHEN["fair"], 1, 60, seed) for seed in range(SHEN_SEEDS)]}
    assert quoted(str(shen._table_3(found)))[-1] in rows_below(PAGE, "### Table III")
    mean, _ = shen._figure_4(found).rows[0][7].split(" ± ")
    assert f"{mean} under Fair" in PAGE.read_text()
