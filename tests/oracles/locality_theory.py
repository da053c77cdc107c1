"""Guo et al.'s theory of data locality: how many tasks run on their data when everything is placed at random.

N nodes with S slots each; `idle` random slots are idle; T tasks whose one replica (C = 1) is on a random node.
Guo et al. give the case S = 1 as a sum that they find too expensive; the expectation has a closed form, and extends to
any S (Guo et al. 2012, note 2). It holds for the optimum, and for `dl` with reading=sweep, which is optimal for C = 1.

In runs over time it holds at each instant at which no task was left waiting from before, whichever slots are idle then.
Where tasks were left waiting it is too low: their data was on busy nodes, as a rule, which are idle by now.
"""

from fractions import Fraction
from math import comb

__all__ = ["expected_local_tasks"]


def expected_local_tasks(nodes: int, idle: int, tasks: int, slots: int = 1) -> Fraction:
    """E: the expected number of tasks that run on their data (Guo et al. 2012, equation 3), exactly.

    With one slot a node it is idle (1 - (1 - 1/N)^T). With more slots, the number of idle slots of a node is
    hypergeometric, and the number of tasks with data on it is binomial; the smaller of the two run there.
    """
    if slots == 1:
        return idle * (1 - Fraction(nodes - 1, nodes) ** tasks)
    # E min(x, B) = sum over j = 1 .. x of P(B >= j), with B ~ Bin(T, 1/N)
    below = Fraction(0)
    expected = [Fraction(0)]
    for near in range(min(slots, tasks)):
        below += Fraction(comb(tasks, near) * (nodes - 1) ** (tasks - near), nodes**tasks)
        expected.append(expected[-1] + 1 - below)
    ways = comb(nodes * slots, idle)
    of_a_node = [
        Fraction(comb(slots, free) * comb((nodes - 1) * slots, idle - free), ways) * expected[min(free, tasks)]
        for free in range(min(slots, idle) + 1)
    ]
    return nodes * sum(of_a_node, Fraction(0))
