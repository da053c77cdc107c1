"""`p_min` of Shen et al.'s scheduler: the highest value at which nothing starves, and the paper's rule to tune it.

The scheduler itself is in `optsched.heuristics.probabilistic`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from optsched.core.errors import UsageError
from optsched.heuristics.probabilistic import ProbabilisticPolicy
from optsched.heuristics.running.driver import MAX_IDLE_ROUNDS, drive
from optsched.problems import Problem

__all__ = ["GRID", "LIVENESS_LIMIT", "Trial", "Tuning", "liveness_limit", "tune_p_min"]

#: 1 - 1/e: with a `p_min` up to this no map ever starves, and no reduce if the average is over eligible nodes.
LIVENESS_LIMIT = -math.expm1(-1)

#: Values of P_min that are tried by default.
GRID = tuple(step / 20 for step in range(21))


def liveness_limit(eligible: int = 1, barred: int = 0) -> float:
    """The largest P_min with which some free node always accepts a task, for any costs.

    The cheapest of the nodes that a task may use costs no more than the average over these, so its P is at least
    1 - exp(-1) = 1 - 1/e; costs that are equal everywhere reach this. In Algorithm 2 the average is over all nodes with
    a free reduce slot, also those that are barred because they run a reduce of the job. These may cost nothing: then
    the average is as little as eligible/(eligible + barred) of the cheapest eligible node's cost. With one barred node
    and one eligible it is 1 - exp(-1/2) = 0.393, below the 0.4 that Shen et al. run with.

    Parameters
    ----------
    eligible
        Nodes with a free slot that the task may use, at least 1.
    barred
        Further nodes in the average: 0 for maps, and for reduces with `average=eligible`.

    References
    ----------
    Shen et al. 2016, note 9.

    Examples
    --------
    >>> liveness_limit() == LIVENESS_LIMIT, round(liveness_limit(1, 1), 3)
    (True, 0.393)
    """
    if eligible < 1 or barred < 0:
        raise UsageError(f"eligible={eligible}, barred={barred}: give at least 1 eligible node and 0 barred ones")
    return -math.expm1(-eligible / (eligible + barred))


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of one value of P_min.

    Attributes
    ----------
    p_min
        The value.
    runs
        How many runs there were: problems times repeats.
    starved
        How many of them were given up with tasks waiting and slots idle.
    waiting
        Tasks that still waited for a slot, over all runs.
    idle_slot_time
        Slot-rounds offered in vain, over all runs.
    cost
        Mean first component of the objective over the runs that finished; None where none did.
    """

    p_min: float
    runs: int
    starved: int
    waiting: int
    idle_slot_time: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class Tuning:
    """The result of the rule.

    Attributes
    ----------
    value
        The highest P_min with which nothing starved; None where something starved with each.
    trials
        One a value, in increasing order.
    """

    value: float | None
    trials: tuple[Trial, ...]


def tune_p_min(
    problems: Problem | Iterable[Problem],
    seed: int = 0,
    *,
    grid: Sequence[float] = GRID,
    repeats: int = 1,
    average: str = "free",
    sizes: str = "extrapolated",
    max_idle_rounds: int = MAX_IDLE_ROUNDS,
) -> Tuning:
    """Shen et al.'s rule: of the values of P_min tried, the highest with which all jobs finish.

    A run counts as finished when as many tasks are placed as there are slots for. Every value is tried, and there is no
    bisection: chance decides too, so one value may starve where a higher one does not. The rule is about liveness, not
    cost: for tasks with the same cost everywhere it finds `LIVENESS_LIMIT`, however large that cost is.

    Parameters
    ----------
    problems
        One or several of those that `probabilistic` serves.
    seed
        Of the first repeat; the others have (seed, repeat).
    grid
        Values to try, from 0 to 1.
    repeats
        Runs of each problem with each value.
    average, sizes
        As of `ProbabilisticPolicy`.
    max_idle_rounds
        Rounds without an assignment after which a run counts as starved.

    References
    ----------
    Shen et al. 2016, section III: the highest P_min with which all of ten Wordcount jobs that run together finish.

    Examples
    --------
    A block of 128 MB on a node without a free slot, as far from one free node as from the other:

    >>> from optsched.core.instance import Cluster, Instance, Ragged, State, Topology, Workload
    >>> from optsched.problems.transmission_maps import TransmissionMaps
    >>> far = Topology("distance", [[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> cluster = Cluster(["D1", "D2", "D3"], topology=far)
    >>> workload = Workload(["M1"], size=[128], replicas=Ragged.from_rows([[0]]))
    >>> state = State.initial(cluster, workload, idle_slots=[0, 1, 1])
    >>> tuning = tune_p_min(TransmissionMaps(Instance(cluster, workload, state)), grid=[0.5, 0.6, 0.7])
    >>> tuning.value, [trial.starved for trial in tuning.trials]
    (0.6, [0, 0, 1])
    """
    if not grid or not all(0 <= value <= 1 for value in grid) or repeats < 1:
        raise UsageError("give a grid of values from 0 to 1, and at least 1 repeat")
    posed = [problems] if isinstance(problems, Problem) else list(problems)
    seeds: list[int | tuple[int, int]] = [seed, *((seed, repeat) for repeat in range(1, repeats))]
    trials = []
    for value in sorted(set(grid)):
        starved = waiting = idle = 0
        costs: list[float] = []
        for problem in posed:
            for own in seeds:
                policy = ProbabilisticPolicy(value, average, sizes=sizes)
                run = drive(problem, policy, own, max_idle_rounds=max_idle_rounds)
                starved += run.starved
                waiting += problem.due - run.placement.placed
                idle += run.idle_slot_time
                if not run.starved:
                    costs.append(float(problem.evaluate(run.placement)[0]))
        cost = math.fsum(costs) / len(costs) if costs else None
        trials.append(Trial(value, len(posed) * repeats, starved, waiting, idle, cost))
    finished = [trial.p_min for trial in trials if not trial.starved]
    return Tuning(max(finished, default=None), tuple(trials))
