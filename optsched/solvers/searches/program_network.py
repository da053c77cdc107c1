"""The network of a program whose columns are each in two families of nested rows, and how it is solved.

A row of either family is a vertex, and an arc from or to the row that contains it. A column is an arc from its
innermost row of one family to that of the other. So flows are values of the program, and potentials are prices of its
rows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from optsched.core.deadline import check
from optsched.core.errors import OptschedError, OutOfTime
from optsched.core.instance import Ints
from optsched.core.results import Limit, Termination
from optsched.problems.programs import Program
from optsched.solvers.answers import SolverOutcome, whole_numbers, whole_prices
from optsched.solvers.networks import cheapened, min_cost_flow, residual_potentials, simplex_compiled
from optsched.solvers.profiles import Profile

#: Costs of at most this many bits have never made HiGHS give up here.
_QUIET_BITS = 24


class ProgramNetwork:
    """The network of a program whose columns have entries of 1 in the named rows.

    A column with an entry of -1 in a row of supply is another way to that row's vertex. `supplies` and `capacities` are
    families of rows from the source and from the sink inwards, as far as the program has them; `count` units flow.

    There is an arc (`tail`, `head`, `capacity`, `cost` in units) for each column and then for each row. In `supply` the
    source is the first vertex, the sink the last, and the others are the rows. `vertices` has the first vertex of each
    of the `families` of rows by its name.
    """

    def __init__(self, program: Program, supplies: Sequence[str], capacities: Sequence[str], count: int) -> None:
        check()
        self.program, numbers = program, program.numbers
        columns = len(numbers.objective)
        known = {family.name: family for family in program.rows}
        self.families = [known[name] for name in (*supplies, *capacities) if name in known]
        self.vertices: dict[str, int] = {}
        self.sink = 1 + sum(len(family.labels) for family in self.families)
        tail, head = np.zeros(columns, dtype=np.int64), np.full(columns, self.sink, dtype=np.int64)
        parent, limit = np.zeros(self.sink, dtype=np.int64), np.zeros(self.sink, dtype=np.int64)
        feeding, supplied = np.zeros(columns, dtype=bool), np.zeros(self.sink, dtype=bool)
        first = 1
        for family in self.families:
            self.vertices[family.name] = first
            rows, own = slice(family.first, family.first + len(family.labels)), slice(first, first + len(family.labels))
            at, supplied[own] = (tail, True) if family.name in supplies else (head, False)
            parent[own] = 0 if family.name in supplies else self.sink
            limit[own] = np.minimum(numbers.row_upper[rows], count)
            inside = np.flatnonzero((numbers.row >= rows.start) & (numbers.row < rows.stop))
            vertex, column = numbers.row[inside] - family.first + first, numbers.column[inside]
            through = numbers.value[inside] > 0
            parent[vertex[through]] = at[column[through]]
            at[column[through]] = vertex[through]
            head[column[~through]] = vertex[~through]
            feeding[column[~through]] = True
            first = own.stop
        inner = np.arange(1, self.sink)
        self.tail = np.append(tail, np.where(supplied[1:], parent[1:], inner))
        self.head = np.append(head, np.where(supplied[1:], inner, parent[1:]))
        # A column has one unit more capacity than can ever flow, so that no dual price settles on it.
        self.capacity = np.append(np.where(feeding, numbers.upper, count + 1), limit[1:])
        self.cost = np.append(numbers.objective, np.zeros(self.sink - 1, dtype=np.int64))
        self.supply = np.zeros(self.sink + 1, dtype=np.int64)
        self.supply[0], self.supply[self.sink] = count, -count

    def arcs_of(self, name: str) -> slice:
        """The arcs of a family of rows; none if the program has none."""
        if name not in self.vertices:
            return slice(0, 0)
        rows, first = self.program.rows_of(name), len(self.program.numbers.objective) + self.vertices[name] - 1
        return slice(first, first + rows.stop - rows.start)

    def flow_of(self, values: Ints) -> Ints:
        """The flow for values of the program: that of a row is the sum of its columns."""
        numbers = self.program.numbers
        sums = np.zeros(len(numbers.row_lower), dtype=np.int64)
        np.add.at(sums, numbers.row, numbers.value * values[numbers.column])
        return np.concatenate([values, *(sums[self.program.rows_of(family.name)] for family in self.families)])

    def values(self, flow: Ints) -> Ints:
        """The values of the program for a flow."""
        return flow[: len(self.program.numbers.objective)]

    def falls(self, potential: Ints, name: str) -> Ints:
        """The fall of the potentials along the arc of each row of a family: its price."""
        arcs = self.arcs_of(name)
        fall: Ints = potential[self.tail[arcs]] - potential[self.head[arcs]]
        return fall

    def solved(self, profile: Profile, engine: str = "network") -> NetworkSolution:
        """A flow of least cost (`solve_network`)."""
        return solve_network(self.tail, self.head, self.capacity, self.cost, self.supply, profile, engine)

    def proved(self, values: Ints) -> Ints | None:
        """Potentials that prove that values cost least, by shortest paths; None if they do not."""
        found = residual_potentials(*self._columns, self.flow_of(values), len(self.supply))
        return None if found is None else -found

    def cheapened(self, values: Ints) -> Ints:
        """Values of least cost, from some that nearly are."""
        return self.values(cheapened(*self._columns, self.flow_of(values), len(self.supply)))

    @property
    def _columns(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        return self.tail, self.head, np.zeros_like(self.tail), self.capacity, self.cost


class NetworkSolution(NamedTuple):
    """The answer of an engine on a network: a flow of least cost on its arcs, None if a limit came first.

    `potential` of the vertices proves it, with cost - potential[tail] + potential[head] >= 0 on arcs with room.
    `outcome` is how the engine ended, `build_seconds` the time until it began.
    """

    flow: Ints | None
    potential: Ints | None
    outcome: SolverOutcome
    build_seconds: float = 0.0


def solve_network(
    tail: Ints, head: Ints, capacity: Ints, cost: Ints, supply: Ints, profile: Profile, engine: str = "network"
) -> NetworkSolution:
    """Solve a network that has a flow.

    `engine` is `arrays` (HiGHS), `network-simplex` (`min_cost_flow`: compiled, or networkx for small instances), or
    `network`: the network simplex if it is compiled, else HiGHS.
    """
    if engine == "network-simplex" or (engine == "network" and simplex_compiled(len(tail))):
        result = min_cost_flow(tail, head, np.zeros_like(tail), capacity, cost, supply)
        assert result.potential is not None
        outcome = SolverOutcome(Termination.OPTIMAL, None, None, None, "optimal", 0.0, None, result.solver)
        return NetworkSolution(result.flow, -result.potential, outcome)
    return _by_highs(tail, head, capacity, cost, supply, profile)


def _by_highs(tail: Ints, head: Ints, capacity: Ints, cost: Ints, supply: Ints, profile: Profile) -> NetworkSolution:
    """A vertex of the network's linear program, with a column per arc and a row per vertex.

    Presolve is off unless the profile asks for it: on these networks it takes up to forty times as long as the simplex
    method. If HiGHS gives up ("Unknown", seen with costs of 10^13), it runs once more with costs divided by a power of
    two.
    """
    import scipy.sparse as sp  # like HiGHS, it takes longer to import than a matching takes

    from optsched.solvers.answers import LinearProgram
    from optsched.solvers.highs import solve_arrays

    began, arcs = time.perf_counter(), len(tail)
    values = np.concatenate([np.ones(arcs), -np.ones(arcs)])
    entries = values, (np.concatenate([tail, head]), np.tile(np.arange(arcs), 2))
    right = supply.astype(np.float64)
    program = LinearProgram(
        objective=cost.astype(np.float64),
        col_lower=np.zeros(arcs),
        col_upper=capacity.astype(np.float64),
        integer=np.zeros(arcs, dtype=bool),
        row_lower=right,
        row_upper=right,
        matrix=sp.csc_array(entries, shape=(len(supply), arcs)),
    )
    check()
    built, scale = time.perf_counter() - began, 1.0
    profile = replace(profile, highs={"presolve": "off", **profile.highs})
    found = solve_arrays(program, profile)
    if found.outcome.status is Termination.ERROR:
        scale = 2.0 ** max(0, math.frexp(float(np.abs(program.objective).max(initial=0.0)))[1] - _QUIET_BITS)
        found = solve_arrays(replace(program, objective=program.objective / scale), profile)
    outcome = found.outcome
    objective, bound = (None if claim is None else claim * scale for claim in (outcome.objective, outcome.bound))
    outcome = replace(outcome, objective=objective, bound=bound)
    if outcome.status is not Termination.OPTIMAL or found.x is None or found.row_duals is None:
        return NetworkSolution(None, None, outcome, built)
    return NetworkSolution(whole_numbers(found.x), whole_prices(found.row_duals * scale), outcome, built)


def cheapest_flow(tail: Ints, head: Ints, capacity: Ints, cost: Ints, supply: Ints, who: str) -> Ints:
    """The flow of least cost on each arc of a network, for schedulers that solve such a problem in each round.

    KeyboardInterrupt if Ctrl-C came while HiGHS ran. OptschedError if it gave up (memory). The message names the caller
    `who`. OutOfTime if a deadline had passed.
    """
    found = solve_network(tail, head, capacity, cost, supply, Profile("exact"))
    return unless_stopped(found.flow, found.outcome.limit, found.outcome.raw_status, who)


def unless_stopped(answer: Ints | None, limit: Limit | None, status: str, who: str) -> Ints:
    """The answer of an engine; if it has none, raises the error for what stopped it."""
    if limit is Limit.INTERRUPTED:
        raise KeyboardInterrupt
    if limit is Limit.TIME:
        raise OutOfTime("out of time")
    if answer is None:
        raise OptschedError(f"{who}: found no placement: {status}")
    return answer
