"""What `optsched self-test` looks at: is the installed solver right, and do two routes find what is known?

Small enough for every installation; the tests of the package go far beyond.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from optsched.certificates import Check, certify
from optsched.instances.files import load
from optsched.instances.generate import generate, known_optimum
from optsched.instances.library import library
from optsched.problems import AnyProblem, problem
from optsched.results import Value
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

#: For each other problem: an instance of the library, whose optimum the index holds, and two such routes.
_LISTED: dict[str, tuple[str, tuple[str, str]]] = {
    "lsap-fairness": ("examples/running-tasks", ("arrays", "pulp")),
    "flow-congestion": ("papers/hsu-frozen-load", ("arrays", "pulp")),
    "transmission-maps": ("papers/pna-largest-p", ("network", "pulp")),
    "transmission-reduces": ("papers/pna-example-placed", ("arrays", "pulp")),
    "transmission": ("papers/pna-example", ("search", "pulp")),
    "utility": ("papers/ras-endless-swap", ("thresholds", "pulp")),
    "traffic": ("papers/joss-empty-datacenter", ("search", "pulp")),
    "generalized-assignment": ("examples/knapsacks", ("arrays", "brute-force")),
    "min-cost-flow": ("examples/negative-cycle", ("arrays", "network-simplex")),
}


def checks() -> Iterator[Check]:
    """Each check as it is done: small programs that releases of HiGHS got wrong, then a known optimum a problem."""
    wrong = wrong_answers()
    yield Check("HiGHS", not wrong, "; ".join(wrong) or f"{len(SMALL_MODELS)} small programs solved right")
    for name, (family, sizes, routes) in _KNOWN.items():
        made = generate(family, **sizes)
        yield from _by_routes(problem(name, made), known_optimum(made)[name], routes)
    entries = library()
    for name, (listed, routes) in _LISTED.items():
        entry = entries[listed]
        yield from _by_routes(problem(name, load(entry.path)), entry.optima[name].value, routes)


def _by_routes(posed: AnyProblem, known: Value, routes: tuple[str, ...]) -> Iterator[Check]:
    """Whether each route finds the known optimum, with a certificate that holds."""
    for route in routes:
        solution = solve(posed, route=route)
        holds = solution.optimal and solution.objective == known and certify(posed, solution).valid
        told = ", ".join(map(str, solution.objective or ("none",)))
        yield Check(f"{posed.name} by {route}", holds, f"optimum {', '.join(map(str, known))}, found {told}")
