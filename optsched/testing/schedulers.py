"""Contract checks of what runs on a problem: heuristics, rivals of a solver's claim, and locality counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optsched.core.errors import BoundViolated
from optsched.core.instance import KINDS
from optsched.core.registry import Record, imported
from optsched.core.results import Decision
from optsched.heuristics import HEURISTICS, applicable, run
from optsched.instances.files import to_document
from optsched.measuring.gaps import Reference, gap_of
from optsched.routes import solve
from optsched.testing.cases import Case, cases
from optsched.testing.contract import ContractBroken, check, expect, listed, places, solved, times

__all__: list[str] = []


@check(lambda record: places(record) or times(record))
def check_heuristics(record: Record, seeds: Sequence[int]) -> None:
    """No heuristic beats the optimum. Each returns a schedule, or a placement that overfills no node."""
    for case in cases(record, seeds):
        problem: Any = case.problem
        served = applicable(problem, by_default=True)
        expect(bool(served) or not times(record), case.name, "no policy runs over time: name a runner")
        if case.best is None:
            continue
        reference = Reference(problem, solution=solved(case))
        for entry in served:
            try:
                report = gap_of(problem, run(problem, entry, seed=1), 1, reference)
            except BoundViolated as error:
                raise ContractBroken(f"{case.name}, {entry.name}: {error}") from error
            expect(report.error is None, case.name, f"{entry.name}: {report.error}")
            if times(record):
                waits = entry.batch is not None and report.status == "starved"  # it puts tasks where no slot is
                violations = "; ".join(map(str, report.violations))
                expect(report.feasible or waits, case.name, f"{entry.name}: {violations}")
                continue
            nodes = set(problem.instance.cluster.node_ids.tolist())
            overfull = [str(wrong) for wrong in report.violations if nodes.intersection(wrong.ids)]
            expect(not overfull, case.name, f"{entry.name}: {'; '.join(overfull)}")
            if report.feasible and report.objective is not None:
                value = problem.minimised(report.objective)
                expect(value in case.decisions, case.name, f"{entry.name}: {listed(report.objective)} is no value")


@check(lambda record: bool(record.rivals))
def check_rivals(record: Record, seeds: Sequence[int]) -> None:
    """Each rival of a solver's claim finds feasible decisions, and none better than the optimum."""
    for rival in record.rivals:
        found = 0
        for case in cases(record, seeds):
            held = _decision_of(rival, case)
            wrong = [] if held is None else case.problem.violations(held)
            expect(not wrong or ":" not in rival, f"{case.name}, {rival}", "; ".join(map(str, wrong)))
            if held is not None and not wrong:
                found += 1
                value = case.problem.minimised(case.problem.evaluate(held))
                # Of schedules only those are tried that no idle time could be left out of.
                known = value >= next(iter(case.decisions)) if times(record) else value in case.decisions
                expect(known, f"{case.name}, {rival}", f"{listed(value)} is no value")
        expect(found > 0, rival, "finds nothing that is feasible on any instance")


def _decision_of(rival: str, case: Case) -> Decision | None:
    """The decision of a rival: a quick heuristic, or a function."""
    if ":" in rival:
        found: Decision | None = imported(rival)(case.problem)
        return found
    problem: Any = case.problem
    expect(HEURISTICS[rival].serves(problem), case.name, f"{rival} does not serve the problem")
    return run(problem, rival).decision


@check(lambda record: places(record) or times(record))
def check_locality(record: Record, seeds: Sequence[int]) -> None:
    """A gap counts node-local, rack-local and off-rack tasks of each kind."""
    for case in cases(record, seeds):
        problem: Any = case.problem
        report = gap_of(
            problem,
            run(problem, lambda posed, rng: solve(posed).decision),
            1,
            Reference(problem, solution=solved(case)),
        )
        counts, truth = report.record()["locality"], _local(case, report.placement)
        expect(counts == truth, case.name, f"the record counts {counts}, the truth is {truth}")


def _local(case: Case, placement: Any) -> dict[str, dict[str, int]] | None:
    """Tasks by kind and nearness, counted by the file: a map's data is on its replicas, a reduce's where maps ran."""
    problem: Any = case.problem
    document = to_document(problem.instance)
    nodes, tasks = document["nodes"], document["tasks"]
    if placement is None or not (document.get("shuffle") or any(task.get("replicas") for task in tasks)):
        return None
    placed = dict(zip(problem.tasks.tolist(), placement.nodes[problem.tasks].tolist(), strict=True))
    host = {
        task["id"]: nodes[placed[row]]["id"] if placed.get(row, -1) >= 0 else task.get("node")
        for row, task in enumerate(tasks)
    }
    rack = {node["id"]: node.get("rack") for node in nodes}
    counts = {kind: {"node": 0, "rack": 0, "off_rack": 0} for kind in (KINDS[code] for code in problem.kinds)}
    for row, node in placed.items():
        task = tasks[row]
        kind = task.get("kind", "map")
        if node < 0:
            continue
        sent = [entry for entry in document.get("shuffle", []) if entry["reduce"] == task["id"] and entry["size"] > 0]
        data = task.get("replicas", []) if kind == "map" else [host[entry["map"]] for entry in sent]
        here = nodes[node]["id"]
        near = rack[here] is not None and rack[here] in {rack.get(holder) for holder in data}
        counts[kind]["node" if here in data else "rack" if near else "off_rack"] += 1
    return counts
