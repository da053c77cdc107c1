"""What `optsched self-test` looks at: is the installed solver right, and do two routes find what is known?

Small enough for every installation; the tests of the package go far beyond.
"""

from __future__ import annotations

from collections.abc import Iterator

from optsched.certificates import Finding, certify
from optsched.core.errors import UsageError
from optsched.core.registry import records
from optsched.core.results import Value
from optsched.instances.files import load
from optsched.instances.library import library
from optsched.problems import AnyProblem, problem
from optsched.routes import solve
from optsched.solvers.sanity import SMALL_MODELS, wrong_answers

__all__ = ["checks"]


def checks() -> Iterator[Finding]:
    """Each check as it is done: small programs that releases of HiGHS got wrong, then known optima, one a problem."""
    wrong = wrong_answers()
    yield Finding("HiGHS", not wrong, "; ".join(wrong) or f"{len(SMALL_MODELS)} small programs solved right")
    entries = library()
    for name, entry in records().items():
        if entry.known is not None:
            listed = entries.get(entry.known.instance)
            if listed is None or name not in listed.optima:
                raise UsageError(
                    f'the record of the problem "{name}" ({entry.problem}) names {entry.known.instance!r} in its '
                    "known, of which the library holds no optimum; mend or uninstall the package that brings it"
                )
            yield from _by_routes(problem(name, load(listed.path)), listed.optima[name].value, entry.known.routes)


def _by_routes(posed: AnyProblem, known: Value, routes: tuple[str, ...]) -> Iterator[Finding]:
    """Whether each route finds the known optimum, with a certificate that holds."""
    for route in routes:
        solution = solve(posed, route=route)
        holds = solution.optimal and solution.objective == known and certify(posed, solution).valid
        told = ", ".join(map(str, solution.objective or ("none",)))
        yield Finding(f"{posed.name} by {route}", holds, f"optimum {', '.join(map(str, known))}, found {told}")
