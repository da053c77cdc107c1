"""The same answers in every process: whatever hashes of text it has, and however many threads libraries may take."""

import json
import subprocess
import sys
from typing import Any

import pytest
from command_line import ENVIRONMENT

from optsched.core.registry import records

#: Prints what the engines of each problem hold and prove, as files have it: all routes, and the frontier, of a small
#: instance, and the default of some that are large enough for loops that are compiled.
TELL = """
import json, warnings
from optsched.core.arrays import plain
from optsched.instances.generate import generate
from optsched.core.registry import record, records
from optsched.routes import frontier, has_frontier, routes_of, solve
from optsched.routes.base import MODELS

LARGE = {
    "flow": {"nodes": 280, "tasks": 2000},
    "latency": {"nodes": 5000, "tasks": 8000, "replicas": 3},
    "min-cost-flow": {"nodes": 3000, "arcs": 30_000},
}


def posed(name, sizes):
    given = record(name)
    return given.problem_class(generate(given.family, seed=1, **sizes))


def told(problem, value, decision, certificates):
    proofs = [[proof.component, str(proof.kind), str(proof.claim), plain(proof.data)] for proof in certificates]
    return [list(map(str, value)), decision.to_dict(problem.instance), proofs]


def solved(problem, route):
    found = solve(problem, route=route)
    return told(problem, found.objective, found.decision, found.certificates)


warnings.simplefilter("ignore")
answers = {}
for name in records():
    problem = posed(name, record(name).sizes)
    answers[name] = {route: solved(problem, route) for route in routes_of(problem) if route not in MODELS}
    if has_frontier(problem):
        points = frontier(problem).points
        answers[name]["frontier"] = [told(problem, at.objective, at.placement, at.certificates) for at in points]
    if name in LARGE:
        answers[name]["large"] = solved(posed(name, LARGE[name]), None)
print(json.dumps(answers))
"""


def answers(hashes: str, threads: str) -> Any:
    """What a process with its own hashes of text, in which libraries may take so many threads, tells."""
    libraries = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    environment = {**ENVIRONMENT, "PYTHONHASHSEED": hashes, **dict.fromkeys(libraries, threads)}
    done = subprocess.run([sys.executable, "-c", TELL], env=environment, capture_output=True, check=True, timeout=600)
    return json.loads(done.stdout)


@pytest.mark.thorough
def test_neither_hashes_nor_threads_matter() -> None:
    """Tests that every engine gives the same placement and certificates under other hashes and more threads."""
    first, second = answers("1", "1"), answers("2", "2")
    assert list(first) == list(records())
    for name, expected in first.items():
        assert expected == second[name], name
