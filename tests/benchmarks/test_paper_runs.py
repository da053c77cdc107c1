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
    runs.main(["shen", "guo", *arguments])
    told = capsys.readouterr().out
    titles = [line for line in told.splitlines() if line.startswith("### ")]
    assert [title.split(":")[0].split(" ", 1)[1] for title in titles] == [
        *("Table III", "Figure 4", "Figure 5", "Figure 6", "Figure 7"),
        *("Figure 7(a)", "Figure 8", "Figure 9(a)", "Figure 9(b)"),
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
    assert "no paper is called quincy; known: shen, hsu, guo" in told
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


def test_what_a_node_processes(runs: ModuleType) -> None:
    """Tests the ends of Figure 5: one map goes at its rate, many at what the node can."""
    assert runs.PARTS
    hsu = part("hsu")
    assert hsu.on_one_node(1, 1, 0) == pytest.approx(9.14, rel=1e-6)
    assert hsu.on_one_node(3, 8, 0) == pytest.approx(60, rel=1e-6)
    assert hsu.on_one_node(2, 8, 1) == pytest.approx(8 * 0.27, rel=1e-6)


def test_a_full_cluster(runs: ModuleType) -> None:
    """Tests sizes, load and places of the drawn jobs, also of a cluster of one rack."""
    assert runs.PARTS
    guo = part("guo")
    for divide, nodes in ((30, 50), (1000, 20)):
        instance = guo.full_cluster(divide, 0)
        sizes = np.bincount(instance.workload.job)
        assert len(instance.cluster) == nodes
        assert sizes.min() == 16
        assert set(np.log2(sizes) % 1) == {0.0}
        work = instance.workload.duration.sum() / (nodes * 2)
        assert instance.workload.arrival.max() <= work / guo.LOAD
        assert (instance.replicas.lengths == 3).all()
    assert len(guo.deployment("HPC", 0).cluster) == 20


def quoted(told: str) -> list[str]:
    """The rows of tables."""
    return [line for line in told.splitlines() if line.startswith("|")]


#: The section of the page of each small experiment.
SECTIONS = {"hsu": "## Hsu and Freeh", "guo": "## Guo et al. 2012"}


@pytest.mark.parametrize("paper", ["hsu", pytest.param("guo", marks=pytest.mark.thorough)])
def test_page_has_what_is_printed(runs: ModuleType, paper: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that the page's rows of the small experiments are rows that the program prints."""
    runs.main([paper])
    printed = capsys.readouterr().out.splitlines()
    rows = rows_below(PAGE, SECTIONS[paper])
    assert len(rows) > 2
    assert [row for row in rows if row not in printed] == []


def test_page_has_the_slow_link(runs: ModuleType) -> None:
    """Tests the page's table of Figure 9(b) of Guo et al. 2012, the quickest of theirs, in every run of the tests."""
    assert runs.PARTS
    lines = PAGE.read_text().splitlines()
    rows = quoted(str(part("guo")._figure_9b(10)))
    assert len(rows) == 6
    assert [line for line in rows if line not in lines] == []


@pytest.mark.thorough
def test_table_2_whole(runs: ModuleType) -> None:
    """Tests that the page's figures of Table II at full size are had again, of Fair: its local tasks and job times."""
    assert runs.PARTS
    shen = part("shen")
    found = {"fair": [shen.batches(shen.OF_SHEN["fair"], 1, 60, seed) for seed in range(SHEN_SEEDS)]}
    assert quoted(str(shen._table_3(found)))[-1] in rows_below(PAGE, "### Table III")
    mean, _ = shen._figure_4(found).rows[0][7].split(" ± ")
    assert f"{mean} under Fair" in PAGE.read_text()
