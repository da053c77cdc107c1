"""JoSS: the threshold and the worst cases behind it, classes, policies A, B and C with their queues, both variants."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from optsched.core.errors import UsageError
from optsched.core.instance import MAP, REDUCE, Cluster, Instance, Ragged, Shuffle, Workload
from optsched.heuristics import View, run
from optsched.heuristics.joss import JossPolicy, threshold
from optsched.instances.files import load
from optsched.instances.generate import generate
from optsched.measuring.gaps import gap
from optsched.problems import Traffic
from optsched.routes import solve

NAN = float("nan")


def library(name: str) -> Traffic:
    """The problem on an instance of the library."""
    return Traffic(load(f"papers/{name}"))


def posed(
    jobs: list[tuple[float, list[list[int]], int]],
    nodes: list[int],
    slots: int = 9,
    arrival: list[float] | None = None,
    shuffle: Shuffle | None = None,
    **parameters: Any,
) -> Traffic:
    """Jobs (filter ratio, nodes of each block, reduces) on nodes in datacenters; blocks of 10 MB."""
    job, kind, rows = [], [], []
    for number, (_, blocks, reduces) in enumerate(jobs):
        job += [number] * (len(blocks) + reduces)
        kind += [MAP] * len(blocks) + [REDUCE] * reduces
        rows += blocks + [[]] * reduces
    cluster = Cluster(
        [f"n{node}" for node in range(len(nodes))],
        datacenter=nodes,
        datacenter_ids=[f"d{center}" for center in range(max(nodes) + 1)],
        slots=[slots] * len(nodes),
        reduce_slots=[slots] * len(nodes),
    )
    workload = Workload(
        [f"t{task}" for task in range(len(job))],
        job=job,
        kind=kind,
        replicas=Ragged.from_rows(rows),
        size=[10.0 if entry == MAP else NAN for entry in kind],
        job_ids=[f"j{number}" for number in range(len(jobs))],
        filter_ratio=[ratio for ratio, _, _ in jobs],
        arrival=[NAN] * len(jobs) if arrival is None else arrival,
        shuffle=shuffle,
    )
    return Traffic(Instance(cluster, workload), **parameters)


def centers(problem: Traffic, name: str = "joss-t", seed: int = 0, **parameters: Any) -> list[int]:
    """Datacenter of each task in JoSS's placement, -1 where it waits."""
    nodes = problem.nodes_of(run(problem, name, seed, **parameters).raise_if_failed())
    return np.append(problem.datacenter, -1)[nodes].tolist()


def test_threshold() -> None:
    """Tests the table of td (Sharmilarani et al., (5)): 2, 1.5, 4/3 for 2, 3, 4 datacenters, infinite for one."""
    assert [threshold(k) for k in (1, 2, 3, 4)] == [math.inf, 2, Fraction(3, 2), Fraction(4, 3)]
    with pytest.raises(UsageError, match="datacenters=0: give 1 or more"):
        threshold(0)


def test_policy_a_loses_on_an_empty_datacenter() -> None:
    """Tests Sharmilarani et al., note 10: policy B 36, policy A in the empty datacenter 60, the best one 30."""
    problem = library("joss-empty-datacenter")
    values = {policy: problem.evaluate(run(problem, "joss-t", policy=policy).raise_if_failed())[0] for policy in "ABC"}
    assert values == {"A": 60, "B": 36, "C": 36}
    assert problem.evaluate(run(problem, "joss-t").raise_if_failed())[0] == 36  # FP = 1.2 is map-heavy: td is 1.5
    assert problem.evaluate(run(problem, "joss-t", td=1).raise_if_failed())[0] == 60
    assert gap(problem, "joss-t").absolute_gap == (6, None)


def test_classes() -> None:
    """Tests small and large by the average datacenter's map slots, and the ratio against td, both bounds excluded."""
    two = [[0], [1]]
    problem = posed([(2.0, two, 1), (2.1, two, 1), (2.1, [[0]] * 5, 1)], [0, 1], slots=4)
    seen = []

    class Watched(JossPolicy):
        def classify(self, job: int, view: View) -> str:
            seen.append((job, super().classify(job, view)))
            return seen[-1][1]

    policy = Watched("t")
    assert run(problem, policy).error is None
    assert seen == [(0, "B"), (1, "A"), (2, "C")]


def test_ratio_from_shuffle() -> None:
    """Tests that a job without a filter ratio is classified by what `shuffle` says that it sends."""
    for size, expected in ((30.0, [0, 0, 0]), (10.0, [1, 0, 0])):
        sent = Shuffle([0, 1], [2, 2], [size, size])
        problem = posed([(NAN, [[1], [0]], 1)], [0, 1], shuffle=sent)
        assert centers(problem) == expected
    nothing = posed([(NAN, [[1], [0]], 0)], [0, 1])
    assert centers(nothing) == [1, 0]


def test_policy_a_takes_the_fewest_waiting() -> None:
    """Tests that policy A goes where fewest tasks wait, the first of equals, and counts maps and reduces."""
    problem = posed([(9.0, [[0]], 2), (9.0, [[0]], 0), (9.0, [[0]], 1)], [0, 1])
    assert centers(problem) == [0, 0, 0, 1, 1, 1]


def test_policy_b_follows_the_blocks() -> None:
    """Tests policy B: the most blocks first, once each; reduces where most blocks are at first; homeless maps there."""
    problem = posed([(0.5, [[0], [0, 1], [1, 2], [2], [2], []], 1)], [0, 1, 2])
    assert centers(problem) == [0, 0, 2, 2, 2, 2, 2]
    nowhere = posed([(0.5, [[], []], 1)], [0, 1])
    assert centers(nowhere) == [0, 0, 0]


def test_waiting_and_stealing() -> None:
    """Tests that tasks of a full datacenter starve, in bounded rounds, and that idle nodes elsewhere may steal maps."""
    problem = posed([(0.5, [[0]] * 4, 1)], [0, 1], slots=2, capacity="slots")
    waiting = run(problem, "joss-t")
    assert (waiting.starved, waiting.rounds) == (True, 101)
    assert [str(wrong) for wrong in problem.violations(waiting.raise_if_failed())] == [
        "every-task-placed(t2) by 1",
        "every-task-placed(t3) by 1",
    ]
    stealing = run(problem, "joss-t", idle="steal")
    assert not stealing.starved
    assert problem.evaluate(stealing.raise_if_failed()) == (2 * 15, 2)
    # Nothing is stolen that the own datacenter has room for.
    roomy = posed([(0.5, [[0]] * 4, 1)], [0, 1], slots=4, capacity="slots")
    assert centers(roomy, idle="steal") == [0] * 5


@pytest.mark.parametrize("name", ["joss-t", "joss-j"])
@pytest.mark.parametrize("seed", range(3))
def test_never_beats_the_optimum(name: str, seed: int) -> None:
    """Tests that JoSS is feasible without capacities, the same for a seed, and never better than the optimum."""
    problem = Traffic(generate("traffic", seed, nodes=12, tasks=30, datacenters=3, jobs=5))
    for policy in ("auto", "A", "B", "C"):
        placement = run(problem, name, seed, policy=policy).raise_if_failed()
        assert placement == run(problem, name, seed, policy=policy).raise_if_failed()
        assert problem.evaluate(placement) >= solve(problem).objective


@pytest.mark.parametrize("name", ["joss-t", "joss-j"])
def test_no_node(name: str) -> None:
    """Tests that without a node every task waits, and nothing is raised."""
    report = gap(Traffic(Instance(Cluster([]), Workload(["m"], size=[1.0]))), name)
    assert (report.error, str(report.violations[0])) == (None, "every-task-placed(m) by 1")


def test_parameters() -> None:
    """Tests that auto stands for the paper's values."""
    problem = library("joss-break-even")
    assert run(problem, "joss-t").parameters == {"td": "auto", "policy": "auto", "large": "auto", "idle": "wait"}
    assert centers(problem) == centers(problem, td="auto", large="auto") == centers(problem, td=2, large=8)
    assert run(problem, "joss-t", td="1.5").parameters["td"] == 1.5
