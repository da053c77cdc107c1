"""The table of what is proved of schedules, on instances of a few tasks."""

from types import ModuleType

import pytest

import optsched
from optsched.problems import JobTimes, Makespan


def test_instances(study: ModuleType) -> None:
    """Tests that sizes are as asked for, that seeds tell, and that hot blocks are on a quarter of the nodes."""
    instance = study.drawn(1, (8, 2, 30, 4), 2, 1.0, 0.7)
    assert (len(instance.cluster), len(instance.workload), len(instance.workload.job_ids)) == (8, 38, 4)
    assert set(instance.replicas.values.tolist()) <= {0, 1}
    assert study.drawn(1, (8, 2, 30, 4), 2, 1.0, 0.7).sha256 == instance.sha256
    assert study.drawn(2, (8, 2, 30, 4), 2, 1.0, 0.7).sha256 != instance.sha256


def test_table(study: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that each instance has a row for both problems, with a bound that is no more than the value."""
    study.main(["--seeds", "1", "--size", "3,2,12,2", "--reduces", "1"])
    lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [cells[2] for cells in lines] == [Makespan.name, JobTimes.name]
    for cells in lines:
        value, bound = map(float, cells[3:5])
        assert bound <= value
        assert (cells[5] == "proved") == (bound == value)
        assert cells[7].startswith("counting ")


def test_out_of_time(study: ModuleType) -> None:
    """Tests that there is a row where time runs out before a schedule is held, with the bound by counting."""
    cells = list(study.rows(JobTimes(study.drawn(1, (8, 2, 30, 4), 0, 0.0, 0.7)), 0))
    assert cells[1] == ""
    assert float(cells[2]) > 0
    assert cells[-1].endswith("out of time")


def test_stages(study: ModuleType) -> None:
    """Tests that each stage after the first has a row, which says that what it closes is open without it, or not."""
    problem = Makespan(optsched.load("papers/pna-job-times"))
    shown = [row.split(" | ") for row in study.stage_rows([problem, problem], 60)]
    assert all(cells[1] == "2" and cells[2] in ("0", "2") and cells[3] in ("0", "2") for cells in shown)
    assert shown[0][0] == "jobs alone"
    assert len(list(study.staged(1))) > 14
