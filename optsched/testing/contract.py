"""The contract suite's machinery: small instances with all their decisions, and the checks that try them.

The checks are in the modules next to this one, by subject. Each takes a record and seeds, and tries the problem on its
`cases`. The truth comes from trying every decision, judged by the problem's own `objective` and `violations`, without
any route, model or enumeration of the package. Each check can be run alone.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from optsched.certificates import Enumerated, certify
from optsched.core import registry
from optsched.core.errors import Fault, InputError, TooLarge
from optsched.core.instance import KINDS, MAP, REDUCE
from optsched.core.network import UNBOUNDED, FlowNetwork
from optsched.core.placement import NONE, NetworkFlow, Schedule
from optsched.core.registry import Record
from optsched.core.results import Decision, Solution, Termination, Value
from optsched.instances.generate import FAMILIES, generate
from optsched.problems import AnyProblem, Problem
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.service_times import NEVER
from optsched.routes import solve

#: Instances with more decisions are refused: a record's `sizes` should be small.
MOST_DECISIONS = 20_000

#: The default seeds: with them some instances of each shipped problem have more to decide.
SEEDS = (2, 3)


class NoGenerator(ValueError):
    """A record names no family, so there is no instance for its problem."""


class Case:
    """A problem on a small instance, with all its decisions; `name` is its name in messages."""

    def __init__(self, problem: AnyProblem, name: str) -> None:
        self.problem, self.name = problem, name
        self._solutions: dict[str | None, Solution] = {}

    def solved(self, route: str | None = None) -> Solution:
        """Its solution by a route, by default the usual one; solved once, since several checks use it."""
        if route not in self._solutions:
            self._solutions[route] = solve(self.problem, route=route)
        return self._solutions[route]

    @cached_property
    def _feasible(self) -> dict[Value, list[Decision]]:
        problem = self.problem
        found: dict[Value, list[Decision]] = {}
        for decision in every_decision(problem):
            if not problem.violations(decision):
                found.setdefault(problem.minimised(problem.objective(decision)), []).append(decision)
        return dict(sorted(found.items()))

    @property
    def feasible(self) -> Iterator[Decision]:
        """Every feasible decision."""
        return itertools.chain.from_iterable(self._feasible.values())

    @property
    def decisions(self) -> dict[Value, Decision]:
        """The value of every feasible decision in comparable form (`minimised`), best first, each with a decision."""
        return {value: held[0] for value, held in self._feasible.items()}

    @property
    def judged(self) -> dict[tuple[int, ...], Value]:
        """The value of each feasible decision, by its columns."""
        return {tuple(columns(decision)): value for value, held in self._feasible.items() for decision in held}

    @property
    def best(self) -> Value | None:
        """The optimum; None if nothing is feasible."""
        return self.problem.minimised(next(iter(self.decisions))) if self.decisions else None

    @property
    def optima(self) -> list[Decision]:
        """Every optimal decision."""
        return next(iter(self._feasible.values()), [])

    @property
    def front(self) -> list[Value]:
        """The Pareto-optimal values of two components, by the first."""
        front: list[Value] = []
        for value in self.decisions:
            if not front or value[1] < front[-1][1]:
                front.append(value)
        return [self.problem.minimised(value) for value in front]

    def best_of(self, component: int, within: tuple[int, object] | None = None) -> object:
        """The best value of one component, if another is no worse than a value; None if there is no such decision."""
        signs = self.problem.minimised(tuple([1] * len(self.problem.components)))
        fitting = (
            value
            for value in self.decisions
            if within is None or value[within[0]] <= signs[within[0]] * within[1]  # type: ignore[operator]
        )
        found = min((value[component] for value in fitting), default=None)
        return None if found is None else signs[component] * found


def columns(decision: Decision) -> list[int]:
    """The node of each task, for a schedule also its start; or the units on each arc."""
    if isinstance(decision, NetworkFlow):
        return cast(list[int], decision.units.tolist())
    starts = decision.starts.tolist() if isinstance(decision, Schedule) else []
    return [*decision.nodes.tolist(), *starts]


def every_decision(problem: AnyProblem) -> Iterator[Decision]:
    """Each task on each node or nowhere; or each flow or schedule that may be optimal, feasible or not."""
    if problem.decided is NetworkFlow:
        yield from _Flows(problem.instance).every(0)
        return
    if isinstance(problem, ScheduleProblem):
        yield from _Schedules(problem).every()
        return
    assert isinstance(problem, Problem)
    places = range(NONE, len(problem.instance.cluster))
    for nodes in itertools.product(places, repeat=len(problem.tasks)):
        yield problem.placement(np.array(nodes, dtype=np.int64))


def number_of_decisions(problem: AnyProblem) -> int:
    """How many decisions `every_decision` has at most: counted, not tried."""
    if problem.decided is NetworkFlow:
        return _Flows(problem.instance).number
    if isinstance(problem, ScheduleProblem):
        return _Schedules(problem).number
    number: int = (len(problem.instance.cluster) + 1) ** size_of(problem)
    return number


class _Flows:
    """Flows arc by arc, arcs without a limit last; the last arc at a node takes the rest there, or one more.

    Each other arc flows from one less than its lower limit to one more than its capacity, to test the judging.
    """

    def __init__(self, network: FlowNetwork) -> None:
        self.ends = list(zip(network.tail.tolist(), network.head.tolist(), strict=True))
        self.order = sorted(range(network.arcs), key=lambda arc: int(network.capacity[arc]))
        capacity = np.where(network.capacity == UNBOUNDED, network.enough_capacity(), network.capacity).tolist()
        self.choices = [range(low - 1, high + 2) for low, high in zip(network.lower.tolist(), capacity, strict=True)]
        #: The last of its arcs, by its position in the order, of each node.
        self.closing: dict[int, int] = {}
        for position, arc in enumerate(self.order):
            tail, head = self.ends[arc]
            self.closing.update({node: position for node in (tail, head) if tail != head})
        self.units, self.left = [0] * network.arcs, network.supply.tolist()

    @property
    def number(self) -> int:
        """The largest possible number of them."""
        free = [arc for position, arc in enumerate(self.order) if position not in self.closing.values()]
        return math.prod(len(self.choices[arc]) for arc in free) * int(2 ** len(self.closing))

    def every(self, position: int) -> Iterator[NetworkFlow]:
        """All that differ in the arcs from this position in the order on."""
        if position == len(self.order):
            yield NetworkFlow(np.array(self.units, dtype=np.int64))
            return
        arc = self.order[position]
        tail, head = self.ends[arc]
        choices: Sequence[int] = self.choices[arc]
        if tail != head and self.closing[tail] == position:
            choices = [self.left[tail], self.left[tail] + 1]
        elif tail != head and self.closing[head] == position:
            choices = [-self.left[head], 1 - self.left[head]]
        for sent in choices:
            self.units[arc] = sent
            self.left[tail] -= sent
            self.left[head] += sent
            yield from self.every(position + 1)
            self.left[tail] += sent
            self.left[head] -= sent


class _Schedules:
    """Tasks in every order of each kind, each on every node, from the earliest instant that the order allows.

    A schedule without avoidable idle time is among them: given its tasks in the order of their starts, none is later
    here. To test the judging, each rule is broken once, and then the order allows earlier starts: a task before its
    release, a reduce before the maps that it needs, a task without a free slot.
    """

    #: The rules in force.
    RULES = (("released", "slowstart", "slots"), ("slowstart", "slots"), ("released", "slots"))

    def __init__(self, problem: ScheduleProblem) -> None:
        self.problem, self.nodes = problem, len(problem.instance.cluster)
        self.kind = problem.kind.tolist()
        self.kinds = [[row for row, kind in enumerate(self.kind) if kind == which] for which in (MAP, REDUCE)]
        self.job = problem.jobs.of_task[problem.tasks].tolist()
        self.release = problem.release.tolist()
        self.needed = problem.maps_before_reduces.tolist()
        every = np.arange(self.nodes)
        self.takes = [problem.times.on(np.full(self.nodes, row), every).tolist() for row in range(len(self.job))]
        self.room = [problem.room[name].tolist() for name in KINDS]
        runs, kinds = problem.running, problem.instance.workload.kind
        #: For everything that runs at the snapshot: its kind, node, job and end.
        self.running = list(
            zip(
                kinds[runs].tolist(),
                problem.instance.state.node[runs].tolist(),
                problem.jobs.of_task[runs].tolist(),
                problem.busy_until.tolist(),
                strict=True,
            )
        )

    @property
    def number(self) -> int:
        """The largest possible number of them."""
        tasks = len(self.problem.tasks)
        orders = math.prod(math.factorial(len(positions)) for positions in self.kinds)
        return int((len(self.RULES) * orders + 1) * self.nodes**tasks + (self.nodes + 1) ** tasks)

    def every(self) -> Iterator[Schedule]:
        """All that differ."""
        tasks, seen = range(len(self.problem.tasks)), set()
        orders = [[*maps, *reduces] for maps, reduces in itertools.product(*map(itertools.permutations, self.kinds))]
        for rules, ways in (*((rules, orders) for rules in self.RULES), (("released", "slowstart"), orders[:1])):
            for nodes, order in itertools.product(itertools.product(range(self.nodes), repeat=len(tasks)), ways):
                seen.add((nodes, self._starts(nodes, order, rules)))
        for nodes in itertools.product(range(NONE, self.nodes), repeat=len(tasks)):
            if NONE in nodes:
                seen.add((nodes, self._starts(nodes, orders[0], self.RULES[0])))
        for nodes, starts in sorted(seen):
            yield self.problem.schedule(np.array(nodes, dtype=np.int64), np.array(starts, dtype=np.int64))

    def _starts(self, nodes: Sequence[int], order: Sequence[int], rules: Sequence[str]) -> tuple[int, ...]:
        """The start of each task, in this order on these nodes: maps come before reduces."""
        starts, running = [self.problem.now] * len(order), list(self.running)
        latest: dict[tuple[int, int], int] = {}
        for row in order:
            kind, node, job = self.kind[row], nodes[row], self.job[row]
            if node == NONE:
                continue
            maps = sorted(end for which, _, of, end in running if which == MAP and of == job)
            start = self.release[row] if "released" in rules else self.problem.now
            if "slowstart" in rules and kind == REDUCE and 0 < self.needed[job] <= len(maps):
                start = max(start, maps[self.needed[job] - 1])
            last = maps[-1] if kind == REDUCE and maps else self.problem.now
            if "slots" in rules:
                start = max(start, latest.get((kind, node), start))
                here = ((of, end) for which, at, of, end in running if (which, at) == (kind, node))
                ends = sorted(max(end, self._last(running, of)) if kind == REDUCE else end for of, end in here)
                room, still = self.room[kind][node], [end for end in ends if end > start]
                start = still[-room] if room and len(still) >= room else start
            starts[row] = latest[kind, node] = start
            running.append((kind, node, job, max(start + self.takes[row][node], last)))
        return tuple(starts)

    @staticmethod
    def _last(running: Sequence[tuple[int, int, int, int]], job: int) -> int:
        """The end of the last map of a job."""
        return max((end for kind, _, of, end in running if kind == MAP and of == job), default=-NEVER)


#: Cases by the problem, the source of its instance, and its parameters: equal records share a case.
_HELD: dict[str, Case] = {}


def forget() -> None:
    """Forget the cases and their results, for a test that changes a definition."""
    _HELD.clear()


def cases(record: Record, seeds: Sequence[int] = SEEDS) -> list[Case]:
    """A problem with its defaults, and with each variant of its record, on an instance of its family for each seed.

    NoGenerator if the record names no family, TooLarge if there are too many decisions to try, InputError if the
    problem cannot be posed on the family's instances, or no instance has anything to decide.
    """
    if record.family is None or record.family not in FAMILIES:
        mend = "name one that draws instances of the problem (optsched list families), and `sizes` that make them small"
        raise NoGenerator(f"no generator: the record names the family {record.family!r}; {mend}")
    found = []
    for seed in seeds:
        drawn = generate(record.family, seed, **record.sizes)
        for parameters in ({}, *record.variants):
            key = repr((record.problem, record.family, record.sizes, seed, parameters))
            if key not in _HELD:
                options = ", ".join(f"{name}={value}" for name, value in parameters.items())
                posed = record.problem_class(drawn, **parameters)
                number = number_of_decisions(posed)
                if number > MOST_DECISIONS:
                    raise TooLarge(
                        f"{drawn.name} has {number:,} decisions to try, more than {MOST_DECISIONS:,}: make `sizes` "
                        "smaller"
                    )
                _HELD[key] = Case(posed, f"{drawn.name}{', ' if options else ''}{options}")
            found.append(_HELD[key])
    if not any(size_of(case.problem) for case in found):
        raise InputError([Fault("sizes", "no instance has anything to decide")], record.name)
    return found


def size_of(problem: AnyProblem) -> int:
    """The number of tasks to place or run, or of arcs."""
    return len(problem.tasks) if isinstance(problem, Problem | ScheduleProblem) else problem.instance.arcs


# Checks ---------------------------------------------------------------------------------------------------------------


class ContractBroken(AssertionError):
    """A problem breaks the contract: which problem, which check, on which instance, and how."""


@dataclass(frozen=True)
class Check:
    """One check: its name, its meaning in one line, and the problems to which it applies."""

    name: str
    says: str
    function: Callable[..., None]
    applies: Callable[[Record], bool]


#: Every check by name, in the order of reports.
CHECKS: dict[str, Check] = {}


def check_problem(name: str | Record, seeds: Sequence[int] = SEEDS) -> None:
    """Run every check that applies to a problem.

    Parameters
    ----------
    name
        A problem of the registry, or its record.
    seeds
        Seeds of the instances: more seeds, more instances.

    Raises
    ------
    ContractBroken
        At the first breach: an AssertionError that names problem, check and instance.

    Examples
    --------
    >>> check_problem("transmission-maps", seeds=[5])
    """
    record = registry.record(name) if isinstance(name, str) else name
    for entry in CHECKS.values():
        if entry.applies(record):
            entry.function(record, seeds)


def check(applies: Callable[[Record], bool] = lambda record: True) -> Callable[[Callable[..., None]], Any]:
    """Make a function one of `CHECKS`: any error that it raises names the problem and the check.

    A record without a generator breaks the first check, which says so; the others have nothing to try then.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        name = function.__name__.removeprefix("check_").replace("_", "-")

        @functools.wraps(function)
        def checked(record: Record | str, seeds: Sequence[int] = SEEDS) -> None:
            entry = registry.record(record) if isinstance(record, str) else record
            try:
                function(entry, seeds)
            except Exception as error:  # any exception breaks a contract
                plain = isinstance(error, ContractBroken | NoGenerator)
                message = str(error) if plain else f"{type(error).__name__}: {error}"
                raise ContractBroken(f"{entry.name}, {name}: {message}") from error

        def asked(record: Record) -> bool:
            try:
                return applies(record)
            except Exception as error:  # a record that names no problem may raise anything
                raise ContractBroken(f"{record.name}, {name}: {type(error).__name__}: {error}") from error

        CHECKS[name] = Check(name, (function.__doc__ or "").splitlines()[0], checked, asked)
        return checked

    return decorate


def expect(condition: bool, where: str, message: str) -> None:
    """Raise ContractBroken if a condition does not hold."""
    if not condition:
        raise ContractBroken(f"{where}: {message}")


def places(record: Record) -> bool:
    """Whether the problem places tasks."""
    return issubclass(record.problem_class, Problem)


def times(record: Record) -> bool:
    """Whether the problem decides when tasks run, and where."""
    return issubclass(record.problem_class, ScheduleProblem)


def placing(case: Case) -> Problem:
    """The problem of a case, which places tasks."""
    assert isinstance(case.problem, Problem)
    return case.problem


def listed(value: Sequence[object] | None) -> str:
    """A value as messages show it."""
    return "nothing" if value is None else ", ".join(map(str, value))


def with_usual(seeds: Sequence[int]) -> list[int]:
    """The given seeds after the usual ones, for checks of which one or two instances would show too little."""
    return list(dict.fromkeys((*SEEDS, *seeds)))


def right(problem: AnyProblem, solution: Solution, best: Value | None, where: str) -> None:
    """A solution is the optimum, or INFEASIBLE if there is none, and `certify` agrees."""
    if best is None:
        expect(solution.termination is Termination.INFEASIBLE, where, f"{solution.termination}, not INFEASIBLE")
        expect(solution.decision is None and solution.objective is None, where, "INFEASIBLE, with a decision")
    else:
        expect(solution.termination is Termination.OPTIMAL, where, f"{solution.termination}, not OPTIMAL")
        expect(solution.objective == best, where, f"{listed(solution.objective)} is called optimal, {listed(best)} is")
        expect(solution.bound == best, where, f"bound {listed(solution.bound)}, optimum {listed(best)}")
        assert solution.decision is not None
        expect(problem.evaluate(solution.decision) == best, where, "the decision is not worth the objective")
    checkable = bool(solution.certificates) and all(entry.kind.checkable for entry in solution.certificates)
    certified(problem, solution, Enumerated(best), checkable, where)


def certified(problem: AnyProblem, claimed: Any, tried: Enumerated, checkable: bool, where: str) -> None:
    """A solution holds: by its certificates alone, if all can be checked, else by trying everything."""
    verdict = certify(problem, claimed, enumerated=tried)
    expect(verdict.valid, where, f"contradicted: {'; '.join(verdict.contradicted)}")
    expect(verdict.proved, where, f"not proved: {'; '.join(verdict.unproved)}")
    alone = certify(problem, claimed)
    expect(alone.proved or not checkable, where, f"its certificates prove nothing: {'; '.join(alone.unproved)}")


def is_beyond(case: Case, position: int, value: Any) -> bool:
    """Whether a claimed bound of the component at a position exceeds the truth."""
    assert case.best is not None
    return not case.problem.components[position].at_least(case.best[position], value)
