"""What the library comes to by every problem, route and heuristic, kept and compared: the net under a redesign.

    python benchmarks/regression_net.py record FILE [NAME ...]    write what each question was answered, as JSON
    python benchmarks/regression_net.py compare FILE [NAME ...]   ask again, print what differs, exit with 1 if so

A question is a route of a problem on an instance (value, kind of proof, termination), its frontier, its cheap bounds,
or a heuristic at seed 0 (value, or the first violation). Routes by a model, and brute force, are asked where they are
small. A stronger kind of proof than before is no difference.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from optsched.certificates import certify
from optsched.core.errors import OptschedError
from optsched.core.problem_record import imported
from optsched.core.registry import record_of
from optsched.core.results import Proof, Solution
from optsched.heuristics import applicable
from optsched.instances.files import load
from optsched.instances.library import library
from optsched.measuring.gaps import gap
from optsched.problems import PROBLEMS, AnyProblem
from optsched.problems.base import TaskProblem
from optsched.routes import bounds, frontier, has_frontier, routes_of, solve
from optsched.routes.base import MODELS

#: A model with more variables is not built; with more tasks brute force is not asked.
MOST_VARIABLES, MOST_TASKS = 1_500, 6

#: Seconds that a route, or a heuristic, may take. Who meets that limit is not compared.
LIMIT = 20.0


def asked(problem: AnyProblem) -> Iterator[str]:
    """The routes that are asked: the default, other engines, and models and brute force where they are small."""
    module = imported(record_of(type(problem)).models or "")
    for route in routes_of(problem):
        if route in MODELS:
            size = module.compact_size if route == "pyomo" else module.literal_size
            if size(problem).variables > MOST_VARIABLES:
                continue
        if route == "brute-force" and len(getattr(problem, "tasks", ())) > MOST_TASKS:
            continue
        yield route


def written(value: Any) -> Any:
    """A value as JSON has it: numbers that are no integers as text."""
    return None if value is None else [entry if isinstance(entry, int) else str(entry) for entry in value]


def answer(solution: Solution) -> list[Any]:
    """Value, kind of proof and termination of a solution."""
    return [written(solution.objective), str(solution.certificate), str(solution.termination), str(solution.limit)]


def answers(problem: AnyProblem) -> Iterator[tuple[str, Any]]:
    """Each question of a posed problem, and its answer."""
    yield "bounds", [[bound.name, str(bound.value)] for bound in bounds(problem)]
    reference = None
    for route in asked(problem):
        try:
            solution = solve(problem, route=route, time_limit=LIMIT)
            certify(problem, solution).raise_if_invalid()
            reference = reference or solution
            yield f"route {route}", answer(solution)
        except OptschedError as error:
            yield f"route {route}", [type(error).__name__]
    if has_frontier(problem):
        found = frontier(problem, time_limit=LIMIT)
        yield "frontier", [found.complete, [written(value) for value in found.values]]
    if isinstance(problem, TaskProblem):
        for entry in applicable(problem, by_default=True):
            report = gap(problem, entry.name, reference=reference, time_limit=LIMIT)
            wrong = report.violations[0].constraint if report.violations else report.error
            yield f"heuristic {entry.name}", [written(report.objective), wrong]


def net(names: list[str]) -> dict[str, Any]:
    """Every answer, by instance, problem and question."""
    found: dict[str, Any] = {}
    for name, entry in library().items():
        if names and name not in names:
            continue
        instance = load(entry.path)
        for problem, kind in PROBLEMS.items():
            if not kind.applies(instance):
                found |= {f"{name} | {problem} | {question}": said for question, said in answers(kind(instance))}
        print(name, len(found), file=sys.stderr, flush=True)
    return found


def differs(before: Any, now: Any) -> bool:
    """Whether an answer is another one; a stronger proof, and what a limit of time has cut short, is not."""
    if before == now or "TIME" in (str(before) + str(now)).upper():
        return False
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now) == 4:
        kinds = list(map(str, Proof))
        weaker = now[1] not in kinds or (before[1] in kinds and kinds.index(now[1]) > kinds.index(before[1]))
        return before[0] != now[0] or before[2:] != now[2:] or weaker
    return True


def main() -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="instances of the library; all of them by default")
    given = parser.parse_args()
    now = net(given.names)
    if given.mode == "record":
        given.file.write_text(json.dumps(now, indent=0), encoding="utf-8")
        return 0
    before = json.loads(given.file.read_text(encoding="utf-8"))
    questions = [question for question in before if not given.names or question.split(" | ")[0] in given.names]
    wrong = [question for question in questions if differs(before[question], now.get(question))]
    for question in wrong:
        print(f"{question}: was {before[question]}, is {now.get(question)}")
    print(f"{len(questions)} questions, {len(wrong)} differ, {len(now.keys() - before.keys())} are new")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
