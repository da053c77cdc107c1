"""`optsched.problems.traffic_jobs`: sizes that are needed, and their units."""

from fractions import Fraction

import pytest
from small_problems import EMPTY_TRAFFIC as EMPTY
from small_problems import NAN
from small_problems import traffic as posed

from optsched.core.errors import InputError, MissingField
from optsched.core.instance import FINISHED, PENDING, Cluster, Instance, Shuffle, Workload
from optsched.problems import Traffic


def test_missing_fields() -> None:
    """Tests that every absent field is reported with its place, and a shuffle across jobs."""
    cluster = Cluster(["a", "b"], datacenter=[0, -1], datacenter_ids=["east"])
    workload = Workload(["m", "n", "r"], kind=[0, 0, 1], job=[0, 0, 0], job_ids=["j"], size=[NAN, 1, NAN])
    with pytest.raises(MissingField) as caught:
        Traffic(Instance.initial(cluster, workload, status=[PENDING, FINISHED, PENDING]))
    places = [fault.place for fault in caught.value.faults]
    assert places == ["nodes[1].datacenter", "tasks[0].size", "tasks[1].node", "jobs[0].filter_ratio"]
    apart = Workload(
        ["m", "r"], kind=[0, 1], job=[0, 1], job_ids=["j", "k"], size=[1, NAN], filter_ratio=[1, 1],
        shuffle=Shuffle([0], [1], [1]),
    )  # fmt: skip
    with pytest.raises(MissingField, match=r"shuffle\[0\]: traffic needs a map and a reduce of one job"):
        Traffic(Instance(Cluster(["a"], datacenter=[0], datacenter_ids=["east"]), apart))
    assert not Traffic.applies(EMPTY.instance)


def test_bug_sizes_were_rounded_to_nothing_without_a_word() -> None:
    """Tests that a user hears how many sizes were rounded, by how much, and how many to 0; and nothing else."""
    text = "sizes in MB (of blocks, and from maps to reduces) are rounded to multiples of 1/1048576, by up to"
    assert posed([[0], [1]], 1.0, size=1e-7).remark == f"4 of 4 {text} 1e-07, 4 of them to 0"
    assert posed([[0], [1]], 0.5, size=[0.1, 1 / 7]).remark == f"4 of 4 {text} 4.09e-07"
    assert posed([[0], [1]], 0.5, size=[0.5, 1e-7]).remark == f"2 of 4 {text} 1e-07, 2 of them to 0"
    assert posed([[0], [1]], 1.0, size=[0.001, 2.0**40]).remark is None
    assert posed([[0], [1]], 1.0, reduces=3).remark is None
    assert posed([], reduces=0).remark is None


def test_numbers_that_are_not_exact() -> None:
    """Tests that decimals and thirds are exact, others rounded once to 2^-20 MB, and totals past 2^53 units refused."""
    for problem, grid, nodes, value in (
        (posed([[0], [1]], 1.2, size=0.5), 10, [0, 1, 0], (Fraction(3, 5), 1)),
        (posed([[0], [1]], 1.0, reduces=3), 3, [0, 1, 0, 0, 0], (10, 1)),
        (posed([[0], [1]], 1 / 7, size=0.5), 2**20, [0, 1, 0], (Fraction(round(2**19 / 7), 2**20), 1)),
    ):
        assert (problem.grid, problem.evaluate(problem.placement(nodes))) == (grid, value)
    assert posed([[0], [1]], 0.5, size=[0.1, 1 / 7]).grid == 2**20
    with pytest.raises(InputError, match=r"tasks\.size: .*traffic may total too much, past 2\^53/1048576 MB"):
        posed([[0], [1]], 1 / 7, size=2.0**33 + 0.5)
    with pytest.raises(InputError, match=r"traffic may total too much, past 2\^53/1 MB"):
        posed([[0]], 2.0**20, size=2.0**40)
    assert posed([[0]], 1.0, size=2.0**52).grid == 1
