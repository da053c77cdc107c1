"""Proofs of bounds, checked in integers and fractions, without the solver that found them.

The checker shares with whoever produced a solution only the nouns and `problems`. So a wrong price can make a bound
weak, never wrong. There is one module a problem, with what makes a certificate and what recomputes its bound. `reading`
takes their data apart, and `checking` has `certify`. `dual` certificates hold prices or potentials, `combinatorial`
ones a cover, a tree or the like. Every other kind (`enumeration`, `solver`) is somebody's word: it is
reported as such, never as a proof.
"""

from optsched.certificates.assignment import price_certificate
from optsched.certificates.checking import Check, Claim, Enumerated, Verdict, certify, proved_bound
from optsched.certificates.flow_congestion import task_price_certificate
from optsched.certificates.generalized_assignment import capacity_certificate
from optsched.certificates.latency import cover_certificate
from optsched.certificates.lsap_fairness import share_certificate
from optsched.certificates.min_cost_flow import potential_certificate
from optsched.certificates.traffic import load_certificate, traffic_certificate
from optsched.certificates.transmission_reduces import reduce_certificate
from optsched.certificates.utility import utilisation_certificate, utility_certificate

__all__ = [
    "Check",
    "Claim",
    "Enumerated",
    "Verdict",
    "capacity_certificate",
    "certify",
    "cover_certificate",
    "load_certificate",
    "potential_certificate",
    "price_certificate",
    "proved_bound",
    "reduce_certificate",
    "share_certificate",
    "task_price_certificate",
    "traffic_certificate",
    "utilisation_certificate",
    "utility_certificate",
]
