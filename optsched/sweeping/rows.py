"""What the store's tables have of an instance, an optimum and a run, beside what they hold whole."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import Any

from optsched.fingerprint import code_version
from optsched.instance import Instance
from optsched.instances.files import to_json
from optsched.processes import Outcome, Status
from optsched.results import Limit, Solution
from optsched.running.run import ENDED
from optsched.studies.records import Record
from optsched.sweeping.keys import canonical, problem_source, solver_options
from optsched.sweeping.plans import Planned, Posed
from optsched.sweeping.sources import named, source_digest

__all__ = ["instance_row", "optimum_row", "planned_row", "run_row"]


def instance_row(instance: Instance) -> dict[str, Any]:
    """The row of an instance, with its file: what `optsched.load` reads."""
    return {
        "sha256": instance.sha256,
        "name": instance.name,
        "tasks": len(instance.workload),
        "nodes": len(instance.cluster),
        "content": gzip.compress(to_json(instance), mtime=0),
    }


def planned_row(plan: str, position: int, run: Planned) -> dict[str, Any]:
    """The row of a run that is asked for."""
    names = dict(zip(("group", "instance", "label", "variant"), run.called, strict=True))
    return {"plan": plan, "position": position, "run": run.key, **names}


def optimum_row(posed: Posed, solution: Solution, outcome: Outcome) -> dict[str, Any]:
    """The row of an optimum: of its solution, and of how the process ended that looked for it."""
    status = ENDED.get(outcome.status, str(outcome.status))
    if outcome.done and solution.limit is Limit.TIME:
        status = ENDED[Status.TIMED_OUT]
    objective, bound = solution.objective, solution.bound
    return {
        "key": posed.key,
        "instance_sha256": posed.problem.instance.sha256,
        "problem": posed.problem.name,
        "parameters": canonical(dict(posed.problem.parameters)),
        "source_sha256": problem_source(posed.problem),
        "profile": posed.profile.name,
        "solver": canonical(solver_options(posed.profile)),
        "version": code_version(),
        "status": status,
        "message": outcome.message,
        "termination": str(solution.termination),
        "objective": None if objective is None else float(objective[0]),
        "bound": None if bound[0] is None else float(bound[0]),
        "certificate": None if solution.certificate is None else str(solution.certificate),
    }


def run_row(run: Planned, record: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a run: what its record tells, a column each."""
    name = named(run.choice.entry)
    kept = Record.of(record)
    absolute, relative = kept.deciding
    return {
        "key": run.key,
        "optimum": run.posed.key,
        "status": record["status"],
        "message": record["error"],
        "instance": record["instance"],
        "instance_sha256": record["instance_sha256"],
        "problem": record["problem"],
        "parameters": canonical(record["parameters"]),
        "heuristic": record["heuristic"],
        "heuristic_parameters": canonical(record["heuristic_parameters"]),
        "source_sha256": source_digest(name),
        "seed": record["seed"],
        "profile": run.posed.profile.name,
        "version": record["version"],
        "objective": kept.of_each("objective")[0],
        "reference": kept.of_each("reference")[0],
        "reference_kind": record["reference_kind"],
        "certificate": record["certificate"],
        "gap": relative,
        "absolute_gap": absolute,
        "heuristic_seconds": record["heuristic_seconds"],
    }
