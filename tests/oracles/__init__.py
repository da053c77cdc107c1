"""Oracles: each problem once more, from the papers alone, decided by trying every decision of a tiny instance.

Nothing here imports the package under test, nor numpy: a document is read by `json`, numbers are the decimals that are
written there, as fractions, and what the contract rounds (`docs/design.md`, section 3) is rounded from its exact value.
`documents` draws the instances.
"""

from .common import Oracle
from .fairness import FairLsap, LsapFairness
from .flow import Flow, FlowCongestion
from .generalized_assignment import GeneralizedAssignment
from .latency import Latency
from .lsap import Lsap
from .min_cost_flow import MinCostFlow
from .schedules import JobTimes, Makespan
from .traffic import Traffic
from .transmission import Transmission, TransmissionMaps, TransmissionReduces
from .utility import Utility
from .worst_group import WorstGroup

__all__ = ["ORACLES", "Oracle"]

#: The oracle of each problem, by the problem's name.
ORACLES: dict[str, type[Oracle]] = {
    "lsap": Lsap,
    "fair-lsap": FairLsap,
    "flow": Flow,
    "latency": Latency,
    "lsap-fairness": LsapFairness,
    "worst-group": WorstGroup,
    "flow-congestion": FlowCongestion,
    "transmission-maps": TransmissionMaps,
    "transmission-reduces": TransmissionReduces,
    "transmission": Transmission,
    "utility": Utility,
    "traffic": Traffic,
    "generalized-assignment": GeneralizedAssignment,
    "min-cost-flow": MinCostFlow,
    "makespan": Makespan,
    "job-times": JobTimes,
}
