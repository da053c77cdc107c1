"""Every problem on drawn instances by every exact route, by enumeration and by the certificate: all must say the same.

    python benchmarks/generated_optima.py [--instances 20000] [--seed 0] [--processes 2] [--problem NAME]...
    python benchmarks/generated_optima.py --only NUMBER [--seed 0]

Instance number N of a seed is always the same one. Its problem is that at place N modulo their number in the registry,
so that none is left out; with `--problem` only the numbers of those problems are run. Parameters are drawn. Half of the
instances are of the problem's family, half documents of the tests' oracles, with numbers as people write them. Of
sixteen instances of a problem eight are as drawn, and one is of each degenerate kind, where the problem sees it and its
domain allows it: no tasks (of a network: nothing to send), no slots or capacity, one node, all replicas everywhere,
none anywhere, equal costs, numbers as large as they may be, up to 2^53, negative costs. Of each instance is checked:

- the default route says that something is the optimum, or that nothing is feasible, or (`min-cost-flow`) that there is
  no limit. Its value is exact (integers and fractions) and what its decision is worth;
- `certify` accepts its solution, after writing it to a file and reading it; where all its certificates can be checked,
  they prove it. The table counts what proves the optima: prices or a cover, a tree, enumeration, or a solver's word;
- every other route but those by models says the same, exactly: HiGHS on arrays, network simplex, the table, cost
  scaling;
- so does trying every decision, where there are no more than some thousand;
- so do the models by Pyomo and PuLP, with HiGHS, of one in eleven;
- of one in five the engines that are meant for large instances give the same decision with loops that numba compiles,
  and with the same loops as plain Python. It counts where such a loop ran; without numba nothing is compared.

Each route gets a problem of its own, posed anew, so that none sees what another one learned. A route may refuse an
instance (`UsageError`, `TooLarge`). Where numbers are huge HiGHS may stop a tolerance away from an optimum, which the
default leaves open then, and its answer may be refused by the library (`SolverDisagreement`). This is counted, the
instances in brackets, and is no answer. Anything else that differs, or that the default leaves open, is a line with the
number of the instance, which `--only` tells more about, and the program fails then.

It needs the tests' folder of a clone, and the extra `test`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from degenerate import KINDS, Given, changed
from numbered import checked, parsed

from optsched.certificates import Verdict, certify
from optsched.core.errors import InputError, SolverDisagreement, TooLarge, UsageError
from optsched.core.problem_record import imported
from optsched.core.registry import SHIPPED, Record
from optsched.core.results import Limit, Proof, Solution, Termination
from optsched.instances.claim_files import read_solution, write_claim
from optsched.instances.files import from_document, to_document
from optsched.instances.generate import FAMILIES, generate
from optsched.problems import AnyProblem
from optsched.problems.fair_lsap import RationRuleWarning
from optsched.routes import routes_of, solve
from optsched.routes.base import MODELS
from optsched.solvers.compiled import compiles
from optsched.testing.contract import Case, columns, number_of_decisions

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from engines import large_engines
from oracles.documents import drawn as drawn_document

#: What is not degenerate; so many in a row of a problem's instances, before one of each degenerate kind.
AS_DRAWN, SHARE = "as drawn", 8

#: The kind of which a solver may leave something open.
HUGE = "huge numbers"

#: One in so many instances of a problem is solved by its models; one in so many with engines for large ones.
MODELLED, FORCED = 11, 5

#: No more decisions than these are tried.
MOST = 3_000

#: Seconds that a route may take. What is not settled by then is a fault of the default route.
LONGEST = 60.0

#: So often an instance of a kind is drawn before the domain is said not to allow it.
TRIES = 40

#: What proves a bound, in words.
PROOFS = {Proof.DUAL: "prices", Proof.COMBINATORIAL: "a cover, or prices of tasks"}

#: What an answer says.
NOTHING, NO_LIMIT = "nothing is feasible", "there is no limit"

#: Routes by what they are called in the table.
CALLED = {"arrays": "HiGHS on arrays", "brute-force": "every decision", "pyomo": "Pyomo", "pulp": "PuLP"}
COLUMNS = ("HiGHS on arrays", "every decision", "other engines", "Pyomo", "PuLP", "compiled")


@dataclass(frozen=True)
class Posed:
    """An instance, as a document and parameters; what kind it is of, and which one was asked for."""

    record: Record
    given: Given
    kind: str
    asked: str

    def problem(self) -> AnyProblem:
        """The problem, posed anew."""
        posed: AnyProblem = self.record.problem_class(from_document(self.given.document), **self.given.parameters)
        return posed

    def __str__(self) -> str:
        return f"{self.record.name}, {self.kind}, {self.given.parameters}"


def drawn(seed: int, number: int, records: Sequence[Record] = SHIPPED) -> Posed:
    """Instance number so and so of a seed."""
    rng = np.random.default_rng([seed, number])
    record, turn = records[number % len(records)], number // len(records)
    kinds = [AS_DRAWN] * SHARE + list(KINDS)
    asked = kinds[turn % len(kinds)]
    for kind in dict.fromkeys((asked, AS_DRAWN)):
        for again in range(TRIES):
            written = rng.random() < 0.5 and again < TRIES / 2
            given = _written(record, rng) if written else _of_family(record, rng)
            if given is None:
                continue
            for some in [given] if kind == AS_DRAWN else changed(kind, given, record, rng):
                posed = Posed(record, some, kind, asked)
                with suppress(InputError, UsageError):
                    posed.problem()
                    return posed
    raise AssertionError(f"{record.name}: no instance can be drawn")


def _written(record: Record, rng: np.random.Generator) -> Given:
    """A document of the oracles, with its parameters."""
    posed = drawn_document(record.name, int(rng.integers(2**31)))
    document = json.loads(posed.text)
    document.pop("parameters", None)
    return Given(document, dict(posed.parameters))


def _of_family(record: Record, rng: np.random.Generator) -> Given | None:
    """An instance of the problem's family with parameters of a document; None where settings do not go together."""
    family = FAMILIES[str(record.family)]
    larger = rng.random() < 0.5 and record.runner is None  # schedules are hard from some ten tasks on
    most = {"nodes": 8, "tasks": 16, "maps": 10, "arcs": 20} if larger else {}
    values: dict[str, Any] = {}
    for name, setting in family.parameters.items():
        usual = record.sizes.get(name, most.get(name, setting.default))
        if isinstance(setting.default, int) and not setting.choices and (name in record.sizes or name in most):
            highest = min(most.get(name, max(2, int(usual))), int(setting.maximum))
            values[name] = int(rng.integers(max(int(setting.minimum), 1), highest + 1))
        elif name in record.sizes:
            allowed = setting.minimum <= 0.5 <= setting.maximum and isinstance(setting.default, float)
            values[name] = float(rng.choice([usual, 0, 0.5])) if allowed else usual
    for name in ("replicas", "racks", "datacenters", "types"):
        if name in values:
            values[name] = min(values[name], values.get("nodes", values[name]))
    parameters = {} if rng.random() < 0.3 else dict(_written(record, rng).parameters)
    try:
        document = to_document(generate(family.name, int(rng.integers(2**31)), **values))
    except UsageError:
        return None
    document.pop("labels", None)  # what the family says of its optimum is not true of what this becomes
    return Given(document, parameters)


# One instance ---------------------------------------------------------------------------------------------------------


def said(solution: Solution) -> Any:
    """The optimum that a solution claims, that there is none, or no limit; None where it claims none of these."""
    if solution.termination is Termination.INFEASIBLE:
        return NOTHING
    if solution.termination is Termination.ERROR and "unbounded" in solution.raw_status:
        return NO_LIMIT
    return solution.objective if solution.optimal else None


def compared(posed: Posed, turn: int, counts: Counter[str]) -> list[str]:
    """What is wrong with the answers about an instance, a line each; they are counted."""
    name = posed.record.name
    counts["instances"] += 1
    counts[f"instances of {name}"] += 1
    counts[f"kind {posed.kind}"] += 1
    counts[f"kind {posed.kind} of {name}"] += 1
    if posed.given.bits:
        counts[f"bits {posed.given.bits} of {name}"] += 1
    if posed.kind != posed.asked:
        counts[f"no {posed.asked} of {name}"] += 1
    problem = posed.problem()
    solution = solve(problem, time_limit=LONGEST)
    truth = said(solution)
    if truth is None:
        limit = "" if solution.limit is None else f", {solution.limit}"
        text = f"the default settles nothing: {solution.termination}{limit}, {solution.objective}, {solution.bound}"
        counts[f"open of {name}"] += 1
        counts[f"left open: the default of {name}, {posed.kind}"] += 1
        return [] if posed.kind == HUGE else [f"{posed}: {text}"]
    wrong = list(_default_is_wrong(posed, problem, solution, counts))
    counts[f"infeasible of {name}"] += truth == NOTHING
    counts[f"without limit of {name}"] += truth == NO_LIMIT
    for column, way, answer in _others(posed, turn):
        wrong += _differing(posed, truth, column, way, answer, counts)
    if turn % FORCED == 0 and compiles():
        wrong += _loops_differ(posed, truth, counts)
    return wrong


def _default_is_wrong(posed: Posed, problem: AnyProblem, solution: Solution, counts: Counter[str]) -> Iterator[str]:
    """What is wrong with the default's answer by itself, and with its file."""
    name, truth = posed.record.name, said(solution)
    if solution.optimal:
        assert solution.objective is not None
        if not all(isinstance(value, int | Fraction) for value in solution.objective):
            yield f"{posed}: {solution.objective} is not exact"
            return
        if problem.violations(solution.decision) or problem.evaluate(solution.decision) != solution.objective:
            yield f"{posed}: the decision is infeasible, or not worth {solution.objective}"
    again = posed.problem()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "solution.json")
        write_claim(solution, problem.instance, path)
        read = read_solution(path, again.instance)
    if said(read) != truth:
        yield f"{posed}: the file says {said(read)}, the solution {truth}"
    if truth == NO_LIMIT:
        counts[f"proof of {name}: a cycle"] += imported(str(posed.record.unlimited))(again) is not None
        return
    verdict = certify(again, read)
    if not verdict.valid:
        yield f"{posed}: contradicted: {'; '.join(verdict.contradicted)}"
    checkable = all(entry.kind.checkable for entry in solution.certificates)
    if solution.certificates and checkable and not verdict.proved:
        yield f"{posed}: its certificates prove nothing: {'; '.join(verdict.unproved)}"
    counts[f"proof of {name}: {_proof(solution, verdict)}"] += 1


def _proof(solution: Solution, verdict: Verdict) -> str:
    """What an optimum, or that nothing is feasible, rests on: the weakest of what its components do."""
    if not verdict.proved:
        kinds = {claim.kind for claim in verdict.claims}
        return "every decision was tried" if kinds == {Proof.ENUMERATION} else f"a word: {', '.join(sorted(kinds))}"
    if any(check.cases is not None for check in verdict.checks):
        return "a tree"
    if all(entry.kind.checkable for entry in solution.certificates):
        weakest = Proof.weakest([entry.kind for entry in solution.certificates])
        return "plainly infeasible" if weakest is None else PROOFS[weakest]
    return "a cheap bound"


def _others(posed: Posed, turn: int) -> Iterator[tuple[str, str, Any]]:
    """Every other way to an optimum: its column, its name and its answer, or the error that it ended in."""
    problem = posed.problem()
    few = number_of_decisions(problem) <= MOST
    default, *routes = routes_of(problem)
    if few and "brute-force" not in (default, *routes) and imported_limit(posed) is None:
        yield "every decision", "every decision", _tried(problem)
    for route in routes:
        if route == "brute-force" and not few:
            continue
        if route in MODELS and turn % MODELLED:
            continue
        column = CALLED.get(route, "other engines")
        yield column, route, _answer(partial(solve, posed.problem(), route=route, time_limit=LONGEST))


def imported_limit(posed: Posed) -> str | None:
    """What shows that there is no limit; None where there is one, or the problem always has one."""
    found = None if posed.record.unlimited is None else imported(posed.record.unlimited)(posed.problem())
    return None if found is None else str(found)


def _tried(problem: AnyProblem) -> Any:
    """What trying every decision gives."""
    best = Case(problem, "").best
    return NOTHING if best is None else best


def _answer(ask: Callable[[], Solution]) -> Any:
    """A solution, or the error with which a route refuses."""
    try:
        return ask()
    except (UsageError, TooLarge, SolverDisagreement) as error:
        return error


def _differing(posed: Posed, truth: Any, column: str, way: str, answer: Any, counts: Counter[str]) -> Iterator[str]:
    """Where an answer is another one than the default's; what says nothing is counted."""
    name, huge = posed.record.name, posed.kind == HUGE
    if isinstance(answer, Exception):
        if isinstance(answer, SolverDisagreement) and not huge:
            yield f"{posed}: {way}: {answer}"
        counts[f"{column} refuses {name}"] += 1
        counts[f"refused: {way}, {type(answer).__name__}{', huge numbers' * huge}"] += 1
        return
    found = said(answer) if isinstance(answer, Solution) else answer
    if found is None:
        assert isinstance(answer, Solution)
        counts[f"{column} leaves open {name}"] += 1
        counts[f"left open: {way} of {name}{', huge numbers' * huge}"] += 1
        if answer.termination not in (Termination.FEASIBLE, Termination.NO_SOLUTION) or answer.limit is None:
            yield f"{posed}: {way} ends with {answer.termination}, {answer.limit}: {answer.raw_status}"
        if answer.limit is Limit.GAP and not huge:
            yield f"{posed}: {way} stops with {answer.objective} and bound {answer.bound}, the optimum is {truth}"
        yield from _past(posed, truth, way, answer)
        return
    counts[f"{column} of {name}"] += 1
    if found != truth:
        yield f"{posed}: {way} says {_listed(found)}, the default {_listed(truth)}"


def _past(posed: Posed, truth: Any, way: str, answer: Solution) -> Iterator[str]:
    """Where a route that was stopped holds something better than the optimum, or claims a bound beyond it."""
    if answer.objective is None:
        return
    problem = posed.problem()
    if truth == NOTHING or problem.minimised(answer.objective) < problem.minimised(truth):
        yield f"{posed}: {way} holds {_listed(answer.objective)}, the default says {_listed(truth)}"
    if isinstance(truth, tuple) and answer.bound is not None and problem.beaten(truth, answer.bound) is not None:
        yield f"{posed}: {way} claims the bound {_listed(answer.bound)}, the default {_listed(truth)}"


def _loops_differ(posed: Posed, truth: Any, counts: Counter[str]) -> Iterator[str]:
    """Where engines for large instances say something else, or not the same compiled and as plain Python."""
    answers = []
    for interpreted in (False, True):
        with large_engines(interpreted) as used:
            answers.append(_answer(partial(solve, posed.problem(), time_limit=LONGEST)))
    compiled, interpreted_ = answers
    if not used.number:
        return
    name = posed.record.name
    yield from _differing(posed, truth, "compiled", "with compiled loops", compiled, counts)
    if isinstance(compiled, Exception) or isinstance(interpreted_, Exception):
        if type(compiled) is not type(interpreted_):
            yield f"{posed}: compiled loops give {compiled!r}, plain Python {interpreted_!r}"
        return
    decisions = [None if entry.decision is None else columns(entry.decision) for entry in answers]
    counts[f"same decision of {name}"] += decisions[0] == decisions[1]
    if said(compiled) != said(interpreted_) or decisions[0] != decisions[1]:
        text = [f"{_listed(said(entry))} by {decision}" for entry, decision in zip(answers, decisions, strict=True)]
        yield f"{posed}: compiled loops give {text[0]}, plain Python {text[1]}"


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


# Many of them ---------------------------------------------------------------------------------------------------------


def check_instance(seed: int, problems: tuple[str, ...], number: int, counts: Counter[str]) -> list[str]:
    """What is wrong with an instance, a line each."""
    if problems and SHIPPED[number % len(SHIPPED)].name not in problems:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RationRuleWarning)
        try:
            return compared(drawn(seed, number), number // len(SHIPPED), counts)
        except Exception as error:  # any exception is a fault
            return [f"{SHIPPED[number % len(SHIPPED)].name}: {type(error).__name__}: {error}"]


def tables(counts: Counter[str], seconds: float) -> str:
    """What was compared, as Markdown tables."""
    names = [record.name for record in SHIPPED if counts[f"instances of {record.name}"]]
    lines = [f"| problem | instances | infeasible | open | {' | '.join(COLUMNS)} |"]
    lines.append("|---|" + "---:|" * (3 + len(COLUMNS)))
    for name in (*names, "all"):
        parts = names if name == "all" else [name]
        whats = ("instances of", "infeasible of", "open of")
        total = [sum(counts[f"{what} {part}"] for part in parts) for what in whats]
        cells = [f"{number:,}" for number in total]
        for column in COLUMNS:
            same = sum(counts[f"{column} of {part}"] for part in parts)
            silent = sum(counts[f"{column} {how} {part}"] for part in parts for how in ("refuses", "leaves open"))
            cells.append(f"{same:,}{f' ({silent:,})' * bool(silent)}" if same or silent else "")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", "| kind | instances | not of |", "|---|---:|---|"]
    for kind in (AS_DRAWN, *KINDS):
        without = [name for name in names if counts[f"no {kind} of {name}"] and not counts[f"kind {kind} of {name}"]]
        text = ", ".join(without)
        if len(without) > len(names) / 2:
            text = f"all but {', '.join(name for name in names if name not in without)}"
        lines.append(f"| {kind} | {counts[f'kind {kind}']:,} | {text} |")
    proofs = sorted({key.split(": ", 1)[1] for key in counts if key.startswith("proof of ")})
    lines += ["", "| proof | instances | of |", "|---|---:|---|"]
    for proof in proofs:
        of = {name: counts[f"proof of {name}: {proof}"] for name in names if counts[f"proof of {name}: {proof}"]}
        text = ", ".join(f"{name} {number:,}" for name, number in of.items())
        lines.append(f"| {proof} | {sum(of.values()):,} | {text} |")
    lines += ["", f"without limit: {sum(counts[f'without limit of {name}'] for name in names):,}"]
    for key in sorted(counts):
        if key.startswith(("refused: ", "left open: ")):
            lines.append(f"{key}: {counts[key]:,}")
    lines.append(f"processor seconds: {seconds:,.0f}")
    return "\n".join(lines)


def _printed(seed: int, number: int) -> int:
    """Tell of one instance; how many lines are wrong with it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RationRuleWarning)
        posed = drawn(seed, number)
        print(posed)
        print(json.dumps(posed.given.document))
        print(solve(posed.problem(), time_limit=LONGEST))
    counts: Counter[str] = Counter()
    wrong = check_instance(seed, (), number, counts)
    for key in sorted(counts):
        print(f"{key}: {counts[key]}")
    print("\n".join(wrong) or "nothing is wrong with it")
    return len(wrong)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare them; 1 where something differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", action="append", choices=[record.name for record in SHIPPED], metavar="NAME")
    given = parsed(parser, "instances", 20_000, arguments)
    if given.only is not None:
        return int(_printed(given.seed, given.only) > 0)
    check = partial(check_instance, given.seed, tuple(given.problem or ()))
    done = checked(check, given.instances, given.processes)
    print(tables(done.counts, done.seconds))
    for number, line in done.wrong:
        print(f"instance {number}: {line}")
    return int(bool(done.wrong))


if __name__ == "__main__":
    sys.exit(main())
