"""Proofs of bounds, checked in integers and fractions, without the solver that found them.

The checker and the producers of solutions share only the nouns and `problems`. So a wrong price can make a bound weak,
never wrong. There is one module a problem, or for several that are alike: `<problem>_certificate` makes a certificate
(`<component>_certificate` one of a later component, where it has its own), and `<problem>_proof` recomputes its bound.
`reading` takes their data apart, and `checking` has `certify`. `dual` certificates hold prices or potentials,
`combinatorial` ones a cover, a tree or the like. `enumeration` is tried again where the instance is small. `solver` is
a solver's claim, never a proof.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from optsched.certificates.checking import Claim, Enumerated, Finding, Verdict, certify, proved_bound

if TYPE_CHECKING:
    from optsched.certificates.assignment import assignment_certificate, lsap_fairness_certificate
    from optsched.certificates.flows import flow_congestion_certificate, min_cost_flow_certificate, no_flow_certificate
    from optsched.certificates.generalized_assignment import (
        capacity_tree_certificate,
        generalized_assignment_certificate,
        no_packing_certificate,
    )
    from optsched.certificates.latency import latency_certificate, latency_prices
    from optsched.certificates.traffic import load_certificate, no_room_certificate, traffic_certificate
    from optsched.certificates.transmission import transmission_certificate, transmission_reduces_certificate
    from optsched.certificates.utility import utilisation_certificate, utility_certificate

__all__ = [
    "Finding",
    "Claim",
    "Enumerated",
    "Verdict",
    "assignment_certificate",
    "capacity_tree_certificate",
    "certify",
    "flow_congestion_certificate",
    "generalized_assignment_certificate",
    "latency_certificate",
    "latency_prices",
    "load_certificate",
    "lsap_fairness_certificate",
    "min_cost_flow_certificate",
    "no_flow_certificate",
    "no_packing_certificate",
    "no_room_certificate",
    "proved_bound",
    "traffic_certificate",
    "transmission_certificate",
    "transmission_reduces_certificate",
    "utilisation_certificate",
    "utility_certificate",
]

#: The functions that make certificates, by their modules; a module, and its problem, is imported on demand.
_MADE = {
    ".assignment": ("assignment_certificate", "lsap_fairness_certificate"),
    ".flows": ("flow_congestion_certificate", "min_cost_flow_certificate", "no_flow_certificate"),
    ".generalized_assignment": (
        "capacity_tree_certificate",
        "generalized_assignment_certificate",
        "no_packing_certificate",
    ),
    ".latency": ("latency_certificate", "latency_prices"),
    ".traffic": ("load_certificate", "no_room_certificate", "traffic_certificate"),
    ".transmission": ("transmission_certificate", "transmission_reduces_certificate"),
    ".utility": ("utilisation_certificate", "utility_certificate"),
}


def __getattr__(name: str) -> object:
    """The function that makes certificates of a problem (PEP 562)."""
    for module, names in _MADE.items():
        if name in names:
            return getattr(import_module(module, __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
