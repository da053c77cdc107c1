"""`lsap`: tasks to idle slots at least locality cost (Guo et al. 2012, section III.C, equations 5 to 7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from optsched.core.errors import Fault
from optsched.core.instance import Instance
from optsched.core.results import Component, Proof, Sense
from optsched.problems.assignment import LevelledProblem
from optsched.problems.parameters import Parameter, number, sequence
from optsched.problems.programs import Programmed


def parse_levels(value: Any) -> tuple[int, ...]:
    """Three whole numbers, 0 or more, that do not decrease.

    >>> parse_levels("0,1,2")
    (0, 1, 2)
    """
    levels = sequence(3, number(lowest=0, integer=True))(value)
    if not levels[0] <= levels[1] <= levels[2]:
        raise ValueError("give costs that do not decrease from node to rack to off-rack")
    return levels


LEVELS = Parameter(
    "levels", (0, 1, 1), parse_levels, "cost on a replica's node, in its rack, off-rack (Guo et al. 2012, (5))"
)


class Lsap(LevelledProblem, Programmed):
    """Exactly min(tasks, idle slots) tasks on idle slots, at least locality cost.

    With the default levels 0, 1, 1 the cost is the number of tasks whose data is not on their node (Guo et al. 2012,
    equation 5). Levels must not decrease: otherwise it would pay to count a task as farther away than it is.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))
    >>> problem = Lsap(Instance(Cluster(["a", "b"]), workload))
    >>> problem.evaluate(problem.placement([0, 1])), problem.evaluate(problem.placement([1, 0]))
    ((1,), (0,))
    """

    name = "lsap"
    title = "tasks to idle slots, least locality cost"
    paper = "003"
    components = (Component("locality-cost", Sense.MIN, "level"),)
    parameter_table = (LEVELS,)
    proof = Proof.DUAL

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        return iter(())

    def prepare_costs(self) -> None:
        self.levels = self.parameters["levels"]

    @property
    def remark(self) -> str | None:
        """The remark that racks are given but do not count, unless the user chose that."""
        if "levels" in self.given or self.levels[1] < self.levels[2] or len(self.instance.cluster.rack_ids) < 2:
            return None
        levels = ",".join(map(str, self.levels))
        return f"racks are given but do not affect the cost (levels {levels}); --param lsap.levels=0,1,2 does"
