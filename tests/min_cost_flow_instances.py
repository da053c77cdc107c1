"""Small networks for the tests of `min-cost-flow`: written out, and drawn."""

from optsched.core.network import FlowNetwork
from optsched.problems import MinCostFlow


def posed(arcs: list[tuple[int, int, int, int, int]], supply: list[int]) -> MinCostFlow:
    """The problem on arcs (tail, head, lower, capacity, cost) and nodes v0, ..."""
    columns = [list(column) for column in zip(*arcs, strict=True)] or [[]] * 5
    tail, head, lower, capacity, cost = columns
    names = [f"v{node}" for node in range(len(supply))]
    return MinCostFlow(FlowNetwork(names, tail, head, lower, capacity, cost, supply, name="small"))


#: Two parallel arcs, a loop that pays, and an arc with a lower limit.
SMALL = posed([(0, 1, 0, 1, 2), (0, 1, 0, 9, 5), (1, 1, 0, 4, -3), (1, 2, 1, 2, 7)], [3, -2, -1])
