"""optsched's own ways, and what is made for the others: the instance's file and arrays in which other tools take it.

    python -m comparing.ours JOB

`JOB` is a JSON object whose `task` is one of `prepare`, `solve`, `certify`; what it tells is printed as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from comparing.clock import MOST, Clock, again
from comparing.rows import HEURISTICS, Row, made
from comparing.stages import STAGES, WITHOUT, without
from optsched.core.deadline import deadline
from optsched.core.network import FlowNetwork
from optsched.core.problem_record import imported
from optsched.core.registry import record_of
from optsched.instances.generate import generate
from optsched.problems.assignment import AssignmentProblem, LevelledProblem, TabledProblem
from optsched.problems.programs import Programmed
from optsched.solvers.compiled import SWITCH, compiles
from optsched.solvers.profiles import Profile, load_profile

#: What a table of costs may hold, for other tools to read it.
_MOST_CELLS = 2**26

#: None of these can be imported where a certificate is checked.
_SOLVERS = ("highspy", "pyomo", "pulp", "networkx", "numba")

#: The same of a route whose programs HiGHS solves by its interior point method.
_INTERIOR = "interior point"

_FILES = (".json", ".json.gz", ".npz")

#: The way that all problems with a program share: HiGHS by its arrays, then prices or a tree.
_SHARED = "shared program"

#: The default route as it is where numba is not installed.
_PLAIN = "default, not compiled"

#: What a way adds to its route's name where kernels are loaded before it begins; and, of problems that then use them
#: for small instances too, an instance whose frontier loads them.
_LOADED = "kernels loaded"
_LOADING = {"latency": {"nodes": 5_000, "tasks": 10_000}}


def _problem(row: Row, instance: Any) -> Any:
    import optsched

    return optsched.problem(row.problem, instance, **row.parameters)


# What is made -----------------------------------------------------------------------------------------------------


def prepared(row: Row, folder: Path) -> dict[str, Any]:
    """Write the instance's file and arrays; the ways to solve it, those of other tools by the form of their arrays."""
    from optsched.instances.files import save
    from optsched.routes import routes_of

    instance = made(row)
    save(instance, folder / "instance.npz")
    if row.kind == "files":
        for suffix in _FILES:
            save(instance, folder / f"instance{suffix}")
        return {"ways": list(_FILES), "forms": {}}
    if row.kind == "heuristics":
        return {"ways": [f"heuristic {name}" for name in HEURISTICS[row.problem]], "forms": {}}
    problem = _problem(row, instance)
    routes = [route for route in routes_of(problem) if route != "brute-force"]
    if row.kind == "study":
        return {"ways": ["default"], "forms": {}}
    ways = ["default", *(f"route {route}" for route in routes[1:])]
    if compiles():
        ways.insert(1, _PLAIN)
    if row.problem in _LOADING and row.size < _LOADING[row.problem]["tasks"] and compiles():
        ways.insert(1, f"route {routes[0]}, {_LOADED}")
    if row.kind == "frontier":
        return {"ways": ways, "forms": {}}
    forms = {form: int(cells) for form, cells in _forms(row, problem, folder)}
    if {"matching", "network", "table"} & set(forms) and "arrays" in routes:
        ways.append(f"route arrays, {_INTERIOR}")
    if isinstance(problem, Programmed):
        ways.append(_SHARED)
    ways += [WITHOUT + stage for stage in STAGES.get(row.problem, ())]
    return {"ways": ways, "forms": forms}


def _forms(row: Row, problem: Any, folder: Path) -> Any:
    """Write the arrays of each form that the problem has; its name and how many cells or arcs there are."""
    if isinstance(problem, LevelledProblem) and row.problem == "lsap" and not row.parameters:
        replicas = problem.replicas
        arrays = {"starts": replicas.starts, "nodes": replicas.values, "count": problem.count}
        np.savez(folder / "matching.npz", **arrays, capacity=problem.capacity)
        yield "matching", len(replicas.values)
    if isinstance(problem, TabledProblem):
        cells = len(problem.classes().size) * len(problem.idle_nodes)
        if cells <= _MOST_CELLS:
            room = problem.capacity[problem.idle_nodes]
            np.savez(folder / "table.npz", cost=problem.class_units, size=problem.classes().size, capacity=room)
            yield "table", max(cells, len(problem.tasks) * int(room.sum()))
    elif record_of(type(problem)).network is not None or isinstance(problem.instance, FlowNetwork):
        yield "network", _write_network(problem, folder)
    elif row.family == "plain assignment":
        ones = np.ones(len(problem.tasks), dtype=np.int64)
        np.savez(folder / "table.npz", cost=problem.units, size=ones, capacity=ones)
        yield "table", problem.units.size
    elif row.problem == "latency":
        replicas, arrays = problem.replicas, {"w_loc": problem.w_loc, "w_rem": problem.w_rem}
        arrays |= {"starts": replicas.starts, "nodes": replicas.values, "load": problem.initial_load}
        np.savez(folder / "latency.npz", **arrays)
        yield "latency", len(replicas.values)


def _write_network(problem: Any, folder: Path) -> int:
    """Write the compact network of a problem, lower bounds shifted to 0 and every capacity finite; its arcs."""
    compact = record_of(type(problem)).network
    network = problem.instance if compact is None else imported(compact)(problem)
    supply = network.supply.copy()
    np.subtract.at(supply, network.tail, network.lower)
    np.add.at(supply, network.head, network.lower)
    room = np.minimum(network.capacity, network.enough_capacity()) - network.lower
    base = sum(low * cost for low, cost in zip(network.lower.tolist(), network.cost.tolist(), strict=True) if low)
    arrays = {"tail": network.tail, "head": network.head, "capacity": room, "cost": network.cost, "supply": supply}
    np.savez(folder / "network.npz", **arrays, base=base)
    return network.arcs


# What is measured -------------------------------------------------------------------------------------------------


def measured(row: Row, way: str, folder: Path, rounds: int = MOST, time_limit: float | None = None) -> dict[str, Any]:
    """What one of our own ways takes, from reading the instance's file on; a solve has a limit in seconds."""
    if row.kind == "files":
        return again(lambda clock: _read(clock, folder / f"instance{way}"), rounds)
    import optsched

    name, _, kind = way.removeprefix("route ").partition(", ")
    route = None if name == "default" or name.startswith(WITHOUT) else name
    kept = folder if way == "default" else None
    if kind == _LOADED:
        optsched.frontier(_problem(row, generate(row.family, **_LOADING[row.problem])))

    def once(clock: Clock) -> dict[str, Any]:
        from optsched.instances.files import load

        with clock.phase("load"):
            instance = load(folder / "instance.npz")
        with clock.phase("pose"):
            problem = _problem(row, instance)
        if way.startswith("heuristic "):
            return _placed(clock, problem, way.removeprefix("heuristic "))
        if row.kind == "frontier":
            return _frontier(clock, problem, route, kept)
        if row.kind == "study":
            return _studied(clock, problem)
        with deadline(time_limit):
            return _solved(clock, problem, route, load_profile("large" if kind == _INTERIOR else "exact"), kept)

    with _changed(row, way):
        return again(once, rounds)


@contextmanager
def _changed(row: Row, way: str) -> Iterator[None]:
    """The package as a way has it, within: without compiled loops, or without a stage of the search."""
    if way == _PLAIN:
        try:
            with mock.patch.dict(os.environ, {SWITCH: "0"}):
                compiles.cache_clear()
                yield
        finally:
            compiles.cache_clear()
    elif way.startswith(WITHOUT):
        with without(row.problem, way):
            yield
    else:
        yield


def _read(clock: Clock, path: Path) -> dict[str, Any]:
    from optsched.instances.files import load

    with clock.phase("load"):
        instance = load(path)
    return {"answer": [instance.sha256], "megabytes": round(path.stat().st_size / 1e6, 1)}


def _solved(clock: Clock, problem: Any, route: str | None, profile: Profile, folder: Path | None) -> dict[str, Any]:
    from optsched.instances.claim_files import write_claim
    from optsched.routes import programs, solve
    from optsched.routes.call import Call

    with clock.phase("solve"):
        if route == _SHARED:
            solution = programs.by_route(Call(problem, "arrays"), profile)
        else:
            solution = solve(problem, profile, route=route)
    result = {
        "engine": str(solution.solver.get("name", "")),
        "proof": ", ".join(dict.fromkeys(str(proof.kind) for proof in solution.certificates)),
        "build_wall": round(solution.build_seconds, 6),
        "value": solution.objective and [str(part) for part in solution.objective],
        "bound": [None if part is None else str(part) for part in solution.bound],
    }
    if not solution.optimal:
        return {**result, "answer": None, "ended": f"{solution.termination} {solution.limit or ''}".strip()}
    if folder is not None:
        with clock.phase("write"):
            write_claim(solution, problem.instance, folder / "claim.npz")
    assert solution.objective is not None
    if isinstance(problem, AssignmentProblem) and len(solution.objective) == 1:
        return {**result, "answer": [str(solution.objective[0] * problem.grid)]}
    return {**result, "answer": [str(part) for part in solution.objective]}


def _frontier(clock: Clock, problem: Any, route: str | None, folder: Path | None) -> dict[str, Any]:
    from optsched.instances.claim_files import write_claim
    from optsched.routes import frontier

    with clock.phase("solve"):
        found = frontier(problem, route=route)
    if folder is not None and found.complete:
        with clock.phase("write"):
            write_claim(found, problem.instance, folder / "claim.npz")
    proofs = sorted({str(point.certificate) for point in found.points})
    points = [",".join(map(str, point.objective)) for point in found.points]
    return {"answer": points if found.complete else None, "proof": ", ".join(proofs), "points": len(points)}


def _studied(clock: Clock, problem: Any) -> dict[str, Any]:
    """Bounds, optimum, frontier and the certificates of both, one after another."""
    from optsched.certificates import certify
    from optsched.routes import bounds, frontier, solve

    with clock.phase("solve"):
        bounds(problem)
        solution, found = solve(problem), frontier(problem)
        verdicts = [certify(problem, claim) for claim in (solution, found)]
    for verdict in verdicts:
        verdict.raise_if_invalid()
    proved = solution.optimal and found.complete and all(verdict.proved for verdict in verdicts)
    points = [",".join(map(str, point.objective)) for point in found.points]
    return {"answer": points if proved else None, "proof": str(solution.certificate), "points": len(points)}


def _placed(clock: Clock, problem: Any, name: str) -> dict[str, Any]:
    from optsched.heuristics import run

    with clock.phase("solve"):
        placement = run(problem, name).raise_if_failed()
    if problem.violations(placement):
        return {"answer": None, "ended": "places not every task"}
    return {"answer": None, "value": [float(part) for part in problem.evaluate(placement)]}


# What is certified ------------------------------------------------------------------------------------------------


def certified(row: Row, folder: Path, rounds: int = MOST) -> dict[str, Any]:
    """What checking the default's claim takes, from its file, in a process in which no solver can be imported."""
    from optsched.certificates import certify
    from optsched.instances.claim_files import read_claim
    from optsched.instances.files import load

    def once(clock: Clock) -> dict[str, Any]:
        with clock.phase("load"):
            instance = load(folder / "instance.npz")
        with clock.phase("read"):
            claim = read_claim(folder / "claim.npz", instance)
        with clock.phase("pose"):
            problem = _problem(row, instance)
        with clock.phase("certify"):
            verdict = certify(problem, claim)
        verdict.raise_if_invalid()
        return {"proved": verdict.proved}

    return again(once, rounds)


def main(job: Mapping[str, Any]) -> dict[str, Any]:
    """Do a job of `compare.py`."""
    row, folder = Row.from_json(job["row"]), Path(job["folder"])
    if job["task"] == "prepare":
        return prepared(row, folder)
    if job["task"] == "certify":
        for name in _SOLVERS:
            sys.modules[name] = None  # type: ignore[assignment]
        return certified(row, folder)
    return measured(row, job["way"], folder, time_limit=job["time_limit"])


if __name__ == "__main__":
    assert find_spec("optsched") is not None
    print(json.dumps(main(json.loads(sys.argv[1]))))
