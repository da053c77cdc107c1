"""Parts of a package of its own that ask those of `lsap`: the registry cannot see that, the contract suite does."""

from __future__ import annotations

from typing import Any

from optsched.certificates.assignment import assignment_proof
from optsched.models import lsap
from optsched.models.lsap import compact_size, decode, literal_size, start_values
from optsched.routes import assignment
from optsched.routes.assignment import OVERRUNS, ROUTES
from optsched.searches.assignment import compact_network

__all__ = ["OVERRUNS", "ROUTES", "compact_size", "decode", "literal_size", "start_values"]


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
