"""Judges: they measure a check's names over its instances, and decide whether its statement is true.

Three judges serve nearly all shipped claims: `snapshots` (heuristics and optima on instances), `runs` (policies over
time) and `arithmetic` (the paper's own figures). A check may name its own judge by path.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np
from msgspec.structs import replace

from optsched.core.deadline import check as check_deadline
from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime, UsageError, expect_known, nearest
from optsched.core.instance import Floats, Instance
from optsched.core.problem_record import imported
from optsched.heuristics.simulating import service_of, simulate
from optsched.heuristics.simulating.services import service_named
from optsched.instances.files import load
from optsched.instances.generate import generate
from optsched.measuring.judging.expressions import evaluated
from optsched.measuring.judging.findings import Check, Finding, Judgement, check_asked
from optsched.measuring.judging.quantities import OF_RUNS, OF_SNAPSHOTS, Answer
from optsched.measuring.printing import interval
from optsched.measuring.studies.choices import parted
from optsched.problems import problem, problem_class
from optsched.problems.parameters import resolve

Judge = Callable[[Check, int], Finding]
Asked = Callable[[str], Any]

#: Operators of statements that have a margin.
ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def judge_checks(
    checks: Sequence[Check],
    verdict: str,
    effort: str = "quick",
    seeds: int | None = None,
    time_limit: float | None = None,
) -> Judgement:
    """Judge checks again, for `Claim.judge`."""
    check_asked(effort, seeds)
    found = []
    for check in checks:
        draws = seeds or (check.full if effort == "full" else 0) or check.draws
        if check.judge not in JUDGES and ":" not in check.judge:
            raise UsageError(f'no judge "{check.judge}"; {nearest(check.judge, list(JUDGES))}')
        judge = JUDGES.get(check.judge) or imported(check.judge)
        with deadline(None if time_limit is None else time_limit / len(checks)):
            begin = time.perf_counter()
            finding = judge(check, draws)
        found.append(replace(finding, seconds=time.perf_counter() - begin))
    return Judgement(tuple(found), verdict)


# What a check is about -----------------------------------------------------------------------------------------------


def _drawn(text: str, seed: int) -> Instance:
    """An instance of the library, of a family, or of a callable, for a seed."""
    name, values = parted(text, "on")
    if ":" in name:
        found = imported(name)(seed, **values)
    else:
        found = load(name) if "/" in name else generate(name, seed=seed, **values)
    if not isinstance(found, Instance):
        raise UsageError(f'on "{text}": it is a network')
    return found


def _asked(made: Callable[[str], Any], known: Mapping[str, Callable[[Any], Any]], usual: str) -> Asked:
    """What answers `WHAT of SOURCE`: a quantity of a source's instances or results. `usual` is the default quantity."""
    once = cache(made)

    def ask(text: str) -> Any:
        what, _, source = text.rpartition(" of ")
        if not what and source in known:  # of the problem itself
            what, source = source, ""
        what = what or usual
        if ":" in what:
            name, values = parted(what, "measure")
            return imported(name)(once(source), **values)
        expect_known(what, known, f'measure "{text}": nothing is called "{what}"')
        return known[what](once(source))

    return ask


def answers(posed: Any, seed: int) -> Asked:
    """The measured numbers of a problem, or of decisions on it, each computed on first use."""
    return _asked(partial(Answer, posed, seed=seed), OF_SNAPSHOTS, "first")


def asked(judge: str, on: str, posed: str, service: str, seed: int) -> Asked:
    """The measured numbers of a check on one draw: of decisions on a problem, or of policies over time."""
    instance = _drawn(on, seed)
    if judge != "runs":
        name, values = parted(posed, "problem")
        resolve(name, problem_class(name).parameter_table, values)
        return answers(problem(name, instance, **values), seed)
    name, values = parted(service or "levels", "service")
    times = service_of(name) if not values else service_named(name)(**values)

    def run(source: str) -> Any:
        name, values = parted(source, "measure")
        own = {"policy": values.pop("policy")} if "policy" in values else {}
        given: dict[str, Any] = {"seed": seed, **values}
        return simulate(instance, (name, own), times, **given)

    return _asked(run, OF_RUNS, "elapsed")


# The judges ----------------------------------------------------------------------------------------------------------


def over_draws(check: Check, draws: int) -> Finding:
    """Measure each name on each draw of each row, as far as time allows, and decide whether the statement is true.

    OutOfTime if time runs out before the first draw of every row is measured.
    """
    columns: list[list[dict[str, Any]]] = []
    try:
        for seed in range(draws):
            taken = []
            for row in check.on:
                check_deadline()
                ask = asked(check.judge, row, check.problem, check.service, seed)
                taken.append({name: ask(text) for name, text in check.measure.items()})
            columns.append(taken)
    except OutOfTime:
        if not columns:
            raise OutOfTime("no draw was measured within the time limit; give more seconds") from None
    values = {
        name: np.array([[column[row][name] for column in columns] for row in range(len(check.on))], dtype=object)
        for name in check.measure
    }
    outcome = evaluated(check.says, values)
    numbers = {name: [float(sum(row) / len(row)) for row in table] for name, table in values.items()}
    for name, text in check.quotes.items():
        numbers[name] = np.atleast_1d(evaluated(text, values)).astype(float).tolist()
    witness = _witness(check, outcome, values)
    return Finding(check, bool(np.all(outcome)), numbers, len(columns), witness, _differences(check, values))


def _differences(check: Check, values: Mapping[str, Any]) -> list[list[float]]:
    """By how much the left side of a comparison exceeds the right one, with its interval; see `Finding`.

    The sides are numbers over draws, such as means. Each draw is left out in turn (the jackknife); for means that gives
    the differences of the single draws.
    """
    compared = ast.parse(_inner(check.says), mode="eval").body
    tables = {name: table.astype(float) for name, table in values.items()}
    draws = min((table.shape[1] for table in tables.values()), default=0)
    if draws < 2 or not isinstance(compared, ast.Compare) or len(compared.ops) > 1:
        return []
    if not isinstance(compared.ops[0], ORDERED):
        return []
    text = f"({ast.unparse(compared.left)}) - ({ast.unparse(compared.comparators[0])})"

    def difference(left_out: Sequence[int]) -> Floats:
        known = {name: np.delete(table, left_out, axis=1) for name, table in tables.items()}
        return np.atleast_1d(np.asarray(evaluated(text, known), dtype=float))

    whole, without = difference([]), [difference([draw]) for draw in range(draws)]
    if whole.ndim > 1 or without[0].shape != whole.shape:
        return []  # the sides are numbers of single draws
    single = draws * whole - (draws - 1) * np.array(without)
    return [[float(mean), *(interval(row.tolist()) or ())] for mean, row in zip(whole, single.T, strict=True)]


def _inner(says: str) -> str:
    """The argument of `any` or `all`; else the whole."""
    return re.sub(r"^(?:any|all)\((.*)\)$", r"\1", says)


def _witness(check: Check, outcome: Any, values: Mapping[str, Any]) -> str:
    """The first draw on which a statement about each draw is false, or one that shows what `any` says."""
    wanted = check.says.startswith("any(") and bool(outcome)
    table = evaluated(_inner(check.says), values) if wanted else outcome
    if not isinstance(table, np.ndarray) or table.ndim != 2:
        return ""
    for row, column in np.argwhere(table.astype(bool) == wanted).tolist():
        return check.on[row] + ("" if "/" in check.on[row] else f" seed {column}")
    return ""


def arithmetic(check: Check, draws: int) -> Finding:
    """The paper's own figures."""
    return Finding(check, bool(np.all(evaluated(check.says, {}))), {}, 1)


#: The judges by their names.
JUDGES: Mapping[str, Judge] = {"snapshots": over_draws, "runs": over_draws, "arithmetic": arithmetic}


def shuffle_shares(check: Check, draws: int) -> Finding:
    """Whether three shuffle ratios give Shen et al.'s Figure 3: of 30 jobs 18 above 50 GB, 6 above 100, 6 below 10.

    A ratio only matters by which of the inputs of 10, 20, ..., 100 GB it lifts above each limit. So one ratio between
    any two neighbouring borders, and on each border, covers all.
    """
    sizes = range(10, 101, 10)
    borders = sorted({Fraction(limit, size) for limit in (10, 50, 100) for size in sizes})
    between = [(low + high) / 2 for low, high in pairwise([Fraction(0), *borders, borders[-1] + 1])]
    sent = ([ratio * size for size in sizes] for ratio in (*borders, *between))
    counts = {(sum(gb > 50 for gb in job), sum(gb > 100 for gb in job), sum(gb < 10 for gb in job)) for job in sent}
    three_ratios = combinations_with_replacement(sorted(counts), 3)
    off = min(np.abs(np.sum(three, axis=0) - (18, 6, 6)).max() for three in three_ratios)
    return Finding(check, bool(off == 0), {"jobs that differ at least": [float(off)]}, 1)
