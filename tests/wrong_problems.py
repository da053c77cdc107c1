"""A problem that is written wrong in the way that once passed: derived from a shared base, with its own objective."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from optsched.certificates.assignment import assignment_proof
from optsched.core.errors import Fault
from optsched.core.instance import Instance
from optsched.core.placement import NONE, Placement
from optsched.core.registry import Record, Scaling, record
from optsched.core.results import Bound, Component, Proof, Sense, Value
from optsched.models import lsap
from optsched.models.lsap import compact_size, decode, literal_size, start_values
from optsched.problems.assignment import LevelledProblem
from optsched.routes import assignment
from optsched.routes.assignment import OVERRUNS, ROUTES
from optsched.solvers.searches.assignment import compact_network

__all__ = ["BARE", "BORROWED", "OVERRUNS", "ROUTES", "compact_size", "decode", "literal_size", "start_values"]

#: The record as CONTRIBUTING's first step once had it: the class alone.
BARE = Record(name="worst-group-wrong", problem=f"{__name__}:WorstGroupWrong")

#: A record of parts of its own that ask those of `lsap`, which know sums of pair costs and not this objective.
BORROWED = Record(
    name="worst-group-wrong",
    problem=f"{__name__}:WorstGroupWrong",
    models=__name__,
    routes=__name__,
    provers={"dual": f"{__name__}:prove"},
    enumeration=record("lsap").enumeration,
    network=f"{__name__}:network",
    family="fair-lsap",
    sizes=record("fair-lsap").sizes,
    scaling=Scaling((0,), {"groups": ("weight",)}),
)


class WorstMean(LevelledProblem):
    """The highest mean locality cost of a group: the pair costs of `lsap`, and an objective that is no sum of them.

    Written as CONTRIBUTING asked once. The bounds that it inherits are of a sum.
    """

    name = "worst-mean"
    title = "the highest mean of a group of locality cost"
    components = (Component("worst-mean", Sense.MIN, "level"),)
    proof = Proof.DUAL

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        return iter(())

    def prepare_costs(self) -> None:
        self.levels = (0, 1, 1)

    def objective(self, placement: Placement, /) -> Value:
        nodes = self.nodes_of(placement)
        placed = np.flatnonzero(nodes != NONE)
        cost = self.pair_units(placed, nodes[placed])
        workload = self.instance.workload
        group = workload.job_group[workload.job[self.tasks[placed]]]
        means = [Fraction(int(cost[group == each].sum()), int((group == each).sum())) for each in np.unique(group)]
        worst = max(means, default=Fraction(0))
        return (worst.numerator if worst.denominator == 1 else worst,)


class WorstGroupWrong(WorstMean):
    """The same without a bound, so that nothing of the problem itself is false: only what records name for it."""

    name = "worst-group-wrong"

    def cheap_bounds(self) -> tuple[Bound, ...]:
        return ()


# Parts that ask those of `lsap`: the registry cannot see that, the contract suite does.


def by_route(call: Any, profile: Any) -> Any:
    return assignment.by_route(call, profile)


def build_pyomo(problem: Any, **given: Any) -> Any:
    return lsap.build_pyomo(problem, **given)


def build_pulp(problem: Any, **given: Any) -> Any:
    return lsap.build_pulp(problem, **given)


def prove(problem: Any, certificate: Any, value: Any) -> Any:
    return assignment_proof(problem, certificate, value)


def network(problem: Any) -> Any:
    return compact_network(problem)
