"""Guo et al.'s theory of data locality: how many tasks run on their data when everything is placed at random.

N nodes with S slots each; `idle` random slots are idle; T tasks whose one replica (C = 1) is on a random node.
Guo et al. give the case S = 1 as a sum that they find too expensive; the expectation has a closed form, and extends to
any S (Guo et al. 2012, note 2). It holds for the optimum, and for `dl` with reading=sweep, which is optimal for C = 1.

In runs over time it holds at each instant at which no task was left waiting from before, whichever slots are idle then.
Where tasks were left waiting it is too low: their data was on busy nodes, as a rule, which are idle by now.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

__all__ = ["expected_local_tasks", "goodness_of_locality", "local_task_distribution", "stirling2"]


def stirling2(items: int, boxes: int) -> int:
    """Stirling number of the second kind: ways to part `items` into `boxes` non-empty unlabelled boxes.

    >>> [stirling2(4, k) for k in range(5)]
    [0, 1, 7, 6, 1]
    """
    signs = [1 if (boxes - used) % 2 == 0 else -1 for used in range(boxes + 1)]
    onto = sum(sign * comb(boxes, used) * int(used**items) for used, sign in enumerate(signs))
    return onto // factorial(boxes)


def local_task_distribution(nodes: int, idle: int, tasks: int) -> list[Fraction]:
    """p(k, T): the probability that exactly k tasks can run on their data, for k = 0 .. min(tasks, idle).

    Guo et al. 2012, equation 2, for one slot a node and one replica a task, with the factor k! that the paper's words
    leave out (Guo et al. 2012, note 2).

    Parameters
    ----------
    nodes, idle, tasks
        N, IS, T.

    Raises
    ------
    ValueError
        If there are more idle slots than nodes, or a number is negative, or there is no node.

    Examples
    --------
    >>> local_task_distribution(nodes=2, idle=1, tasks=1)
    [Fraction(1, 2), Fraction(1, 2)]
    """
    _check(nodes, 1, idle, tasks)
    return [
        Fraction(
            comb(idle, local)
            * sum(
                comb(tasks, near) * stirling2(near, local) * factorial(local) * (nodes - idle) ** (tasks - near)
                for near in range(local, tasks + 1)
            ),
            nodes**tasks,
        )
        for local in range(min(tasks, idle) + 1)
    ]


def expected_local_tasks(nodes: int, idle: int, tasks: int, slots: int = 1) -> Fraction:
    """E: the expected number of tasks that run on their data (Guo et al. 2012, equation 3), exactly.

    With one slot a node it is idle (1 - (1 - 1/N)^T). With more slots, the number of idle slots of a node is
    hypergeometric, and the number of tasks with data on it is binomial; the smaller of the two run there.

    Parameters
    ----------
    nodes, idle, tasks, slots
        N, idle slots in all, T, S.

    Examples
    --------
    >>> float(round(expected_local_tasks(nodes=30, idle=40, tasks=40, slots=4), 3))
    23.202
    """
    _check(nodes, slots, idle, tasks)
    if slots == 1:
        return idle * (1 - Fraction(nodes - 1, nodes) ** tasks)
    # E min(x, B) = sum over j = 1 .. x of P(B >= j), with B ~ Bin(T, 1/N)
    below = Fraction(0)
    expected = [Fraction(0)]
    for near in range(min(slots, tasks)):
        below += Fraction(comb(tasks, near) * (nodes - 1) ** (tasks - near), nodes**tasks)
        expected.append(expected[-1] + 1 - below)
    ways = comb(nodes * slots, idle)
    return nodes * sum(
        (
            Fraction(comb(slots, free) * comb((nodes - 1) * slots, idle - free), ways) * expected[min(free, tasks)]
            for free in range(min(slots, idle) + 1)
        ),
        Fraction(0),
    )


def goodness_of_locality(nodes: int, idle: int, tasks: int, slots: int = 1) -> Fraction:
    """R = E/T (Guo et al. 2012, equation 4): the expected share of tasks that run on their data.

    >>> round(float(goodness_of_locality(nodes=100, idle=50, tasks=50)), 5)
    0.39499
    """
    if tasks < 1:
        raise ValueError("the share of no tasks is undefined; give at least one task")
    return expected_local_tasks(nodes, idle, tasks, slots) / tasks


def _check(nodes: int, slots: int, idle: int, tasks: int) -> None:
    if nodes < 1 or slots < 1 or tasks < 0 or not 0 <= idle <= nodes * slots:
        raise ValueError(
            f"nodes={nodes}, slots={slots}, idle={idle}, tasks={tasks}: give at least one node and slot, no negative "
            "number, and no more idle slots than slots"
        )
