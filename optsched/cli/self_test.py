"""What `optsched self-test` looks at: is the installed solver right, and do two routes find what is known?

Small enough for every installation; the tests of the package go far beyond.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from optsched.certificates import Check, certify
from optsched.instances.generate import generate, known_optimum
from optsched.problems import problem
from optsched.routes import solve
from optsched.solvers.sanity import SMALL_MODELS, wrong_answers

__all__ = ["checks"]

#: For each problem: a family whose optimum is known by construction, a small size, and two routes that share no code.
_KNOWN: dict[str, tuple[str, dict[str, Any], tuple[str, str]]] = {
    "lsap": ("planted-lsap", {"nodes": 12, "tasks": 10, "remote": 2}, ("network", "pulp")),
    "fair-lsap": ("planted-fair-lsap", {"nodes": 12, "tasks": 18, "remote": 2}, ("network", "pulp")),
    "flow": ("planted-flow", {"nodes": 6, "racks": 2, "tasks": 12}, ("network", "pulp")),
    "latency": ("planted-latency", {"nodes": 6, "makespan": 6, "remote": 2}, ("search", "pulp")),
}


def checks() -> Iterator[Check]:
    """Each check as it is done: small programs that releases of HiGHS got wrong, then a known optimum a problem."""
    wrong = wrong_answers()
    yield Check("HiGHS", not wrong, "; ".join(wrong) or f"{len(SMALL_MODELS)} small programs solved right")
    for name, (family, sizes, routes) in _KNOWN.items():
        posed = problem(name, generate(family, **sizes))
        known = known_optimum(posed.instance)[name]
        for route in routes:
            solution = solve(posed, route=route)
            holds = solution.optimal and solution.objective == known and certify(posed, solution).valid
            told = ", ".join(map(str, solution.objective or ("none",)))
            yield Check(f"{name} by {route}", holds, f"optimum {', '.join(map(str, known))}, found {told}")
