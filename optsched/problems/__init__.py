"""The problems: the only definition of each objective, of feasibility and of cheap bounds. Nothing here solves.

One module per problem; `base` has what all share, `assignment` what the assignment problems share.
`optsched.core.registry` lists the problems; a class is imported on first use.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from optsched.core.instance import Instance
from optsched.core.network import FlowNetwork
from optsched.core.registry import SHIPPED, record, records
from optsched.problems.base import AnyProblem, Problem

if TYPE_CHECKING:
    from optsched.problems.fair_lsap import FairLsap
    from optsched.problems.flow import Flow
    from optsched.problems.flow_congestion import FlowCongestion
    from optsched.problems.generalized_assignment import GeneralizedAssignment
    from optsched.problems.job_times import JobTimes
    from optsched.problems.latency import Latency
    from optsched.problems.lsap import Lsap
    from optsched.problems.lsap_fairness import LsapFairness
    from optsched.problems.makespan import Makespan
    from optsched.problems.min_cost_flow import MinCostFlow
    from optsched.problems.traffic import Traffic
    from optsched.problems.transmission import Transmission
    from optsched.problems.transmission_maps import TransmissionMaps
    from optsched.problems.transmission_reduces import TransmissionReduces
    from optsched.problems.utility import Utility
    from optsched.problems.worst_group import WorstGroup

__all__ = [
    "PROBLEMS",
    "AnyProblem",
    "FairLsap",
    "Flow",
    "FlowCongestion",
    "GeneralizedAssignment",
    "JobTimes",
    "Latency",
    "Lsap",
    "LsapFairness",
    "Makespan",
    "MinCostFlow",
    "Problem",
    "Traffic",
    "Transmission",
    "TransmissionMaps",
    "TransmissionReduces",
    "Utility",
    "WorstGroup",
    "network_problem",
    "problem",
    "problem_class",
]


class _Classes(Mapping[str, type[AnyProblem]]):
    """The class of each problem of the registry; a class is imported on first use."""

    def __getitem__(self, name: str) -> type[AnyProblem]:
        found: type[AnyProblem] = records()[name].problem_class
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(records())

    def __len__(self) -> int:
        return len(records())


#: The types that `optsched.load` accepts.
Loadable = str | os.PathLike[str] | Mapping[str, Any]

#: A problem is posed on one of these.
Posable = Instance | FlowNetwork | Loadable

#: Every problem by its name, in the order in which they are listed.
PROBLEMS: Mapping[str, type[AnyProblem]] = _Classes()


def __getattr__(name: str) -> object:
    """A shipped problem's class by its own name (PEP 562)."""
    for entry in SHIPPED:
        if name in __all__ and entry.problem.endswith(f":{name}"):
            return entry.problem_class
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def problem_class(name: str) -> type[AnyProblem]:
    """The class of the problem called `name`; UsageError with the nearest name if there is none."""
    found: type[AnyProblem] = record(name).problem_class
    return found


def network_problem(network: FlowNetwork) -> AnyProblem:
    """The default problem of a flow network: the first that is posed on networks.

    >>> network_problem(FlowNetwork(["a", "b"], tail=[0], head=[1], capacity=[1], cost=[3], supply=[1, -1])).name
    'min-cost-flow'
    """
    return next(kind for kind in PROBLEMS.values() if kind.posed_on is FlowNetwork)(network)


# A name given as a literal determines the class, so that type checkers see its own methods.
@overload
def problem(name: Literal["lsap"], instance: Posable, /, **parameters: Any) -> Lsap: ...
@overload
def problem(name: Literal["fair-lsap"], instance: Posable, /, **parameters: Any) -> FairLsap: ...
@overload
def problem(name: Literal["lsap-fairness"], instance: Posable, /, **parameters: Any) -> LsapFairness: ...
@overload
def problem(name: Literal["worst-group"], instance: Posable, /, **parameters: Any) -> WorstGroup: ...
@overload
def problem(name: Literal["flow"], instance: Posable, /, **parameters: Any) -> Flow: ...
@overload
def problem(name: Literal["flow-congestion"], instance: Posable, /, **parameters: Any) -> FlowCongestion: ...
@overload
def problem(name: Literal["latency"], instance: Posable, /, **parameters: Any) -> Latency: ...
@overload
def problem(name: Literal["transmission-maps"], instance: Posable, /, **parameters: Any) -> TransmissionMaps: ...
@overload
def problem(name: Literal["transmission-reduces"], instance: Posable, /, **parameters: Any) -> TransmissionReduces: ...
@overload
def problem(name: Literal["transmission"], instance: Posable, /, **parameters: Any) -> Transmission: ...
@overload
def problem(name: Literal["utility"], instance: Posable, /, **parameters: Any) -> Utility: ...
@overload
def problem(name: Literal["traffic"], instance: Posable, /, **parameters: Any) -> Traffic: ...
@overload
def problem(
    name: Literal["generalized-assignment"], instance: Posable, /, **parameters: Any
) -> GeneralizedAssignment: ...
@overload
def problem(name: Literal["makespan"], instance: Posable, /, **parameters: Any) -> Makespan: ...
@overload
def problem(name: Literal["job-times"], instance: Posable, /, **parameters: Any) -> JobTimes: ...
@overload
def problem(name: Literal["min-cost-flow"], instance: Posable, /, **parameters: Any) -> MinCostFlow: ...
@overload
def problem(name: str, instance: Instance, /, **parameters: Any) -> Problem: ...
@overload
def problem(name: str, instance: FlowNetwork, /, **parameters: Any) -> MinCostFlow: ...
@overload
def problem(name: str, instance: Posable, /, **parameters: Any) -> AnyProblem: ...
def problem(name: str, instance: Posable, /, **parameters: Any) -> AnyProblem:
    """Pose a problem on an instance, or `min-cost-flow` on a flow network.

    Parameters
    ----------
    name
        As `optsched list problems` shows it.
    instance
        The snapshot or network, or what `optsched.load` accepts: a file, a name of the library, or a dictionary.
    **parameters
        Override the instance's own parameters, which override the problem's defaults.

    Raises
    ------
    UsageError
        For an unknown problem or parameter, or a value out of range.
    MissingField
        If the instance lacks a field that the problem needs.
    InputError
        If the problem is posed on an instance and this is a network, or vice versa.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Workload
    >>> problem("lsap", Instance(Cluster(["a"]), Workload(["t"])), levels=[0, 1, 2]).parameters["levels"]
    (0, 1, 2)
    >>> problem("lsap", "papers/guo-fig2")
    <lsap on guo-fig2: 3 tasks, 3 nodes>
    """
    kind = problem_class(name)
    if isinstance(instance, str | os.PathLike | Mapping):
        from optsched.instances.files import load  # its import takes a while

        instance = load(instance)
    return kind(instance, **parameters)
