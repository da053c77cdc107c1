"""The list of all heuristics: whole, and true to the modules."""

from __future__ import annotations

import pytest

from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.heuristics import HEURISTICS, applicable, run
from optsched.problems import PROBLEMS, problem
from optsched.running.base import table_row


def test_list_is_whole() -> None:
    """Tests that each entry has a unique name, a doc of one line, known problems, one way to run, and a row."""
    for name, entry in HEURISTICS.items():
        assert entry.name == name
        assert entry.doc
        assert "\n" not in entry.doc
        assert set(entry.problems) <= set(PROBLEMS)
        assert (entry.batch is None) == entry.online
        assert table_row(entry)["name"] == name
    design = """
        dl rand lsap-sched lsap-fair-sched flow-sched flow-greedy balancing fifo larts delay fair capacity
        probabilistic least-cost coupling quincy sequential round-robin flow-based labl
        joss-t joss-j ras fair-sharing observed
    """
    assert set(design.split()) == set(HEURISTICS)


@pytest.mark.parametrize("name", ["lsap", "fair-lsap", "lsap-fairness", "flow", "latency"])
def test_applicable_ones_run(name: str) -> None:
    """Tests that every heuristic that applies gives a full, feasible placement, on each problem."""
    cluster = Cluster(["a", "b", "c"], slots=[2, 2, 1], rate_in=[85, 85, 85], rate_out=[85, 85, 85])
    workload = Workload(
        ["t1", "t2", "t3"],
        replicas=Ragged.from_rows([[0], [0, 1], []]),
        rate_in=[3, 4, 5],
        observed=[2, 1, 1],
        job=[0, 0, 1],
        job_ids=["j1", "j2"],
        job_group=[0, 1],
        group_ids=["g1", "g2"],
        group_weight=[1, 3],
    )
    posed = problem(name, Instance(cluster, workload))
    entries = applicable(posed)
    assert {entry.name for entry in entries} == {entry.name for entry in HEURISTICS.values() if name in entry.problems}
    for entry in entries:
        result = run(posed, entry.name)
        assert result.error is None
        assert result.raise_if_failed().placed == 3
        assert posed.evaluate(result.raise_if_failed())
