"""`probabilistic` and `least-cost`: Shen et al.'s Algorithms 1 and 2, and the same without chance.

`coupling`, with which they compare, is here too, and so is the tuning of P_min and its limit for liveness.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from optsched.core.errors import UsageError
from optsched.core.instance import KINDS, MAP, REDUCE, Floats
from optsched.heuristics.job_order import JobPolicy
from optsched.heuristics.running.base import Heuristic, Offer, View
from optsched.heuristics.running.driver import MAX_IDLE_ROUNDS, drive
from optsched.heuristics.seen_costs import SeenCosts, missing_distances, missing_sizes, sizes_parameter
from optsched.problems import Problem
from optsched.problems.distances import hops_alone
from optsched.problems.parameters import Parameter, choice, either, number

__all__ = [
    "HEURISTICS",
    "CouplingPolicy",
    "LeastCostPolicy",
    "ProbabilisticPolicy",
    "probability",
    "GRID",
    "LIVENESS_LIMIT",
    "Trial",
    "Tuning",
    "liveness_limit",
    "tune_p_min",
]

#: A parser of shares and probabilities.
SHARE = number(lowest=0, highest=1)

PROBLEMS = ("transmission-maps", "transmission-reduces", "transmission")


def probability(cost: Floats, average: Floats, form: str = "exponential") -> Floats:
    """P of (4) and (5), and 1 if the cost is 0, for any average.

    Parameters
    ----------
    cost, average
        float64, of one shape: costs of tasks here, and on average.
    form
        `exponential`: 1 - exp(-average/cost), as in Shen et al. The others are ours, since the paper names none:
        `harmonic`: average/(average + cost). `linear`: 1 - cost/(2 average), and 0 from twice the average on. `step`: 1
        up to the average, else 0.

    Examples
    --------
    Shen et al.'s worked example with all four nodes free: M1 has its block on D1.

    >>> costs = np.array([0.0, 512.0, 256.0, 1024.0])
    >>> probability(costs, np.full(4, costs.mean())).round(4).tolist()
    [1.0, 0.5831, 0.8262, 0.3544]
    >>> [probability(costs, np.full(4, 448.0), form).round(4).tolist() for form in ("harmonic", "linear", "step")]
    [[1.0, 0.4667, 0.6364, 0.3043], [1.0, 0.4286, 0.7143, 0.0], [1.0, 0.0, 1.0, 0.0]]
    """
    probable: Floats = FORMS[form](_ratio(cost, average))
    return probable


def _ratio(cost: Floats, average: Floats) -> Floats:
    """Average over cost. It orders tasks like their probabilities, but these may be equal although ratios differ."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio: Floats = np.where(cost == 0, np.inf, average / cost)
    return ratio


def _linear(ratio: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        probable: Floats = np.maximum(0.0, 1 - 0.5 / ratio)
    return probable


#: The forms of P, by the ratio of average to cost.
FORMS: Mapping[str, Callable[[Floats], Floats]] = {
    "exponential": lambda ratio: -np.expm1(-ratio),
    "harmonic": lambda ratio: 1 - 1 / (1 + ratio),
    "linear": _linear,
    "step": lambda ratio: np.where(ratio >= 1, 1.0, 0.0),
}


class _Knowing(JobPolicy):
    """A policy that knows the costs of tasks by some sizes and some distances.

    Attributes
    ----------
    sizes
        The sizes for the costs of reduces.
    distances
        `topology`: those of the instance; `hops`: only hops, without the rest of the topology (`hops_alone`).
    """

    sizes: str
    distances: str

    def __init__(self, sizes: str = "extrapolated", distances: str = "topology") -> None:
        self.sizes, self.distances = sizes, distances

    def start(self, view: View, rng: np.random.Generator) -> None:
        super().start(view, rng)
        known = view.cluster if self.distances == "topology" else hops_alone(view.cluster)
        self._costs = SeenCosts(known, self.sizes)


class ProbabilisticPolicy(_Knowing):
    """Takes the task of a job with the highest probability, and starts it with that probability.

    The job is the one with the fewest running tasks among those with a waiting task and, for a reduce slot, no reduce
    on the node. C of each of its tasks on the offering node is compared with its average over the nodes with a free
    slot. The task with the largest average/C is taken, and so with the largest P; ties are drawn at random. The slot
    stays idle this time if P is below `p_min`, and otherwise with probability 1 - P. At most one task is started per
    offer.

    Parameters
    ----------
    p_min
        The threshold of the probability, from 0 to 1.
    average
        Nodes of the average. `free`: all with a free slot, as in Shen et al., even if they are barred to the reduces of
        the job. `eligible`: without those, so that the cheapest node always has C <= average.
    select
        `probability`: the largest P, as in lines 9 and 10. `min_cost`: the least C, which Shen et al. consider the
        same, though it is not (Shen et al. 2016, note 7).
    sizes
        The sizes for the costs of reduces: equation (3), or see `estimated_sizes`.
    jobs
        `first`: if the first job's task is not started, the slot stays idle, as in the algorithms. `each`: then the
        next job is asked, as in Hadoop's Fair Scheduler.
    skip_limit
        Offers in a row that a job may decline because of `p_min`. After that `p_min` is ignored until the job starts a
        task of the kind. None: no limit.
    form
        How P falls with the cost; see `probability`.
    distances
        `topology`: those of the instance; `hops`: only hops, as before II.B.3 of Shen et al. (`hops_alone`).

    Notes
    -----
    If distances are those of racks or of a tree of switches, and whole like the sizes, the time of an offer of a map
    slot grows with the waiting maps of its job, and those with a replica in its rack; else with each map and node.
    """

    remembers = ("_skipped",)

    def __init__(
        self,
        p_min: float = 0.4,
        average: str = "free",
        select: str = "probability",
        sizes: str = "extrapolated",
        jobs: str = "first",
        skip_limit: int | None = None,
        form: str = "exponential",
        distances: str = "topology",
    ) -> None:
        super().__init__(sizes, distances)
        self.p_min, self.average, self.select, self.form = p_min, average, select, form
        self.only_first, self.skip_limit = jobs == "first", skip_limit

    def start(self, view: View, rng: np.random.Generator) -> None:
        super().start(view, rng)
        #: Offers in a row that each job declined because of `p_min`, by kind.
        self._skipped: defaultdict[tuple[int, str], int] = defaultdict(int)

    def choose(self, job: int, offer: Offer, view: View) -> int | None:
        """Algorithm 1 for a map slot, 2 for a reduce slot."""
        tasks = self.waiting(job, offer.kind, view)
        here = self._costs.here(tasks, offer.kind, offer.node, view)
        nodes = view.free_slots(offer.kind) > 0
        if self.average == "eligible" and offer.kind != KINDS[MAP]:
            nodes[self.reduce_nodes(job)] = False
        average = self._costs.averages(tasks, offer.kind, nodes, view)  # Cave
        ratio = _ratio(here, average)
        best = ratio == ratio.max() if self.select == "probability" else here == here.min()
        chosen = self.drawn(np.flatnonzero(best))
        chance = float(FORMS[self.form](ratio[chosen]))  # P of (4) and (5)
        skipped = (job, offer.kind)
        if chance < self.p_min and (self.skip_limit is None or self._skipped[skipped] < self.skip_limit):
            self._skipped[skipped] += 1
            return None
        if not self._rng.random() < chance:
            return None
        self._skipped[skipped] = 0
        return int(tasks[chosen])


class LeastCostPolicy(_Knowing):
    """The task of least cost on the offering node, always started at once; ties at random. Jobs as in `probabilistic`.

    Parameters
    ----------
    sizes
        The sizes for the costs of reduces; see `estimated_sizes`.
    distances
        As for `ProbabilisticPolicy`.
    """

    def choose(self, job: int, offer: Offer, view: View) -> int | None:
        tasks = self.waiting(job, offer.kind, view)
        here = self._costs.here(tasks, offer.kind, offer.node, view)
        return self.drawn(tasks[here == here.min()])


# Coupling ------------------------------------------------------------------------------------------------------------
# `coupling`: maps start with a probability that depends on how near their data is; reduces gradually, near the centre.
# The Coupling Scheduler is by Tan, Meng and Zhang (HPDC 2012, INFOCOM 2013). Shen et al.'s description leaves much
# open. Each guess is a parameter, or is marked here (Shen et al. 2016, note 12).


class CouplingPolicy(JobPolicy):
    """A random map with a probability by its locality; reduces as maps progress, each waiting for a central node.

    Jobs go by fewest running tasks. For maps only the first job with a waiting one is asked; if it declines, the slot
    stays idle. For reduces each job is asked until one takes the slot, as in Hadoop's Fair Scheduler, so that a waiting
    reduce delays no other job.

    Maps: one of the job's maps is drawn. It is started if its data is on the node; with probability `p_rack` if its
    data is in the rack; else with `p_off`.

    Reduces: at most ceil(progress n) of a job's n reduces are started, including those that run or have finished. The
    first waiting one is started on its central node, where it costs least. It lets other nodes pass while it waits, and
    then takes any slot.

    Parameters
    ----------
    p_rack, p_off
        Assumed: Shen et al. give no numbers.
    progress
        The measure of progress of a job's maps; it is an assumption, since no map advances in a snapshot. `launched`:
        the share that runs or has finished. `finished`: the share that has finished; no reduce is started before a map
        has, so the policy starves if none has.
    sizes
        The sizes for the costs of reduces; see `estimated_sizes`. `extrapolated`: what `probabilistic` knows, so that a
        snapshot compares only their rules. `emitted`: what maps have emitted so far, as Shen et al. say of Coupling.
        Maps placed in the same snapshot have emitted nothing; then any node is central.
    waits, waits_in
        How long each reduce waits for its central node, in `rounds` of heartbeats (Shen et al. 2016: "at most three
        rounds of heartbeats") or in `offers`. A round ends when each node with a free reduce slot has offered one.
    centre
        The nodes to compare for that, without those barred to the reduces of the job. `all`: also those without a free
        slot, as Shen et al. speak of all data nodes. `free`: only those with one.
    """

    remembers = ("_waited", "_heard")

    def __init__(
        self,
        p_rack: float = 0.8,
        p_off: float = 0.5,
        progress: str = "launched",
        sizes: str = "extrapolated",
        waits: int = 3,
        waits_in: str = "rounds",
        centre: str = "all",
    ) -> None:
        self.p_rack, self.p_off, self.progress, self.sizes = p_rack, p_off, progress, sizes
        self.waits, self.in_rounds, self.only_free = waits, waits_in == "rounds", centre == "free"
        self.waits_rounds = waits

    def start(self, view: View, rng: np.random.Generator) -> None:
        super().start(view, rng)
        self._costs = SeenCosts(view.cluster, self.sizes)
        #: The rounds or offers for which each reduce has waited for its central node.
        self._waited: dict[int, int] = {}
        #: Nodes that have offered a reduce slot in this round.
        self._heard: dict[int, bool] = {}

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        self.only_first = offer.kind == KINDS[MAP]
        answer = super().offer(offer, view)
        if not self.only_first:
            self._hear(offer.node, view)
        return answer

    def choose(self, job: int, offer: Offer, view: View) -> int | None:
        if offer.kind != KINDS[MAP]:
            return self._reduce(job, offer, view) if self._may_start(job) else None
        task = self.drawn(self.waiting(job, offer.kind, view))
        replicas, rack = view.workload.replicas[task], view.cluster.rack
        if offer.node in replicas:
            return task
        in_rack = rack[offer.node] >= 0 and rack[offer.node] in rack[replicas]
        return task if self._rng.random() < (self.p_rack if in_rack else self.p_off) else None

    def _may_start(self, job: int) -> bool:
        """Whether the job's maps are far enough for another reduce."""
        waiting, running, finished = self.counts(job, MAP)
        maps = waiting + running + finished
        counted = finished if self.progress == "finished" else running + finished
        waiting, *started = self.counts(job, REDUCE)
        most = -(-counted * (waiting + sum(started)) // maps) if maps else waiting + sum(started)
        return sum(started) < most

    def _reduce(self, job: int, offer: Offer, view: View) -> int | None:
        task = self.waiting(job, offer.kind, view)[:1]
        costs = self._costs.of(task, offer.kind, view)[0]
        nodes = (view.free_reduce_slots if self.only_free else view.reduce_slots) > 0
        nodes[self.reduce_nodes(job)] = False
        number_of = int(task[0])
        waited = self._waited.pop(number_of, 0)
        if costs[offer.node] <= costs[nodes].min() or waited >= self.waits:
            return number_of
        self._waited[number_of] = waited if self.in_rounds else waited + 1
        return None

    def _hear(self, node: int, view: View) -> None:
        """Note the heartbeat of a node; the last one of a round adds the round to each reduce's waiting time."""
        self._heard[node] = True
        free = np.flatnonzero(view.free_reduce_slots)
        if not self.in_rounds or len(self._heard) < len(free):  # most offers need no check of each node
            return
        if all(other in self._heard for other in free.tolist()):
            self._heard.clear()
            for task in self._waited:
                self._waited[task] += 1


_DISTANCES = Parameter(
    "distances",
    "topology",
    choice("topology", "hops"),
    "what it knows of distances: those of the instance, or hops alone (Shen et al. 2016, II.B.3)",
)


# P_min: the highest value without starvation, and the paper's rule to tune it -----------------------------------------

#: 1 - 1/e: with a `p_min` up to this no map ever starves, and no reduce if the average is over eligible nodes.
LIVENESS_LIMIT = -math.expm1(-1)

#: Values of P_min that are tried by default.
GRID = tuple(step / 20 for step in range(21))


def liveness_limit(eligible: int = 1, barred: int = 0) -> float:
    """The largest P_min with which some free node always accepts a task, for any costs.

    The cheapest of the nodes that a task may use costs at most their average, so its P is at least 1 - exp(-1) = 1 -
    1/e; costs that are equal everywhere attain this. In Algorithm 2 the average is over all nodes with a free reduce
    slot, including those that are barred because they run a reduce of the job. These may cost nothing: then the average
    may be only eligible/(eligible + barred) of the cheapest eligible node's cost. With one barred node and one eligible
    it is 1 - exp(-1/2) = 0.393, below the 0.4 of Shen et al.

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
        The number of runs: problems times repeats.
    starved
        How many of them were given up with tasks waiting and slots idle.
    waiting
        Tasks that still waited for a slot, over all runs.
    idle_slot_time
        Slot-rounds offered in vain, over all runs.
    cost
        Mean first component of the objective over the finished runs; None if none finished.
    """

    p_min: float
    runs: int
    starved: int
    waiting: int
    idle_slot_time: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class Tuning:
    """The result of the tuning rule.

    Attributes
    ----------
    value
        The highest P_min without starvation; None if something starved with each.
    trials
        One per value, in increasing order.
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

    A run counts as finished if as many tasks are placed as there are slots for. Every value is tried, without
    bisection: chance decides too, so one value may starve although a higher one does not. The rule is about liveness,
    not cost: for tasks with the same cost everywhere it finds `LIVENESS_LIMIT`, however large that cost is.

    Parameters
    ----------
    problems
        One or several problems that `probabilistic` serves.
    seed
        Seed of the first repeat; the others have (seed, repeat).
    grid
        Values to try, from 0 to 1.
    repeats
        Runs of each problem with each value.
    average, sizes
        As for `ProbabilisticPolicy`.
    max_idle_rounds
        Rounds without an assignment after which a run counts as starved.

    References
    ----------
    Shen et al. 2016, section III: the highest P_min with which ten Wordcount jobs that run together all finish.

    Examples
    --------
    A block of 128 MB on a node without a free slot, equally far from both free nodes:

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


HEURISTICS: tuple[Heuristic, ...] = (
    Heuristic(
        name="probabilistic",
        paper="000",
        algorithm="Algorithms 1 and 2 (PNA)",
        problems=PROBLEMS,
        doc="the task whose cost here is lowest against its average over free nodes, started with that probability",
        parameters=(
            Parameter("p_min", 0.4, SHARE, "a probability below it leaves the slot idle (Shen et al. 2016: 0.4)"),
            Parameter(
                "average",
                "free",
                choice("free", "eligible"),
                "average cost over all nodes with a free slot, or without those barred to the job's reduces",
            ),
            Parameter(
                "select",
                "probability",
                choice("probability", "min_cost"),
                "the highest probability (the algorithms of Shen et al. 2016), or the least cost (their words)",
            ),
            sizes_parameter("extrapolated"),
            Parameter("jobs", "first", choice("first", "each"), "ask the first job alone, or each until one starts"),
            Parameter(
                "skip_limit",
                None,
                either({"none": None}, number(lowest=0, integer=True)),
                "offers that a job may decline in a row because of p_min; none: any",
            ),
            Parameter("form", "exponential", choice(*FORMS), "how the probability falls as cost over average grows"),
            _DISTANCES,
        ),
        policy=ProbabilisticPolicy,
        missing=missing_sizes,
    ),
    Heuristic(
        name="least-cost",
        paper="000",
        algorithm="ablation of Algorithms 1 and 2",
        problems=PROBLEMS,
        doc="the task that costs least on the offering node, at once and always",
        parameters=(sizes_parameter("extrapolated"), _DISTANCES),
        policy=LeastCostPolicy,
        missing=missing_sizes,
    ),
    Heuristic(
        name="coupling",
        paper="000",
        algorithm="Coupling Scheduler (Tan et al. 2012)",
        problems=PROBLEMS,
        doc="a random map, with a chance by its locality; reduces as maps progress, each awaiting a central node",
        parameters=(
            Parameter("p_rack", 0.8, SHARE, "chance of a map with data in the rack (assumed)"),
            Parameter("p_off", 0.5, SHARE, "chance of a map with data in other racks only (assumed)"),
            Parameter(
                "progress",
                "launched",
                choice("launched", "finished"),
                "share of a job's maps that lets as many reduces start: those that run too, or not (assumed)",
            ),
            sizes_parameter("extrapolated"),
            Parameter("waits", 3, number(lowest=0, integer=True), "how long a reduce waits for its central node"),
            Parameter(
                "waits_in",
                "rounds",
                choice("rounds", "offers"),
                "rounds of heartbeats of all nodes with a free slot (Shen et al. 2016), or single offers",
            ),
            Parameter(
                "centre",
                "all",
                choice("all", "free"),
                "the central node is one of all nodes (Shen et al. 2016), or of those with a free slot",
            ),
        ),
        policy=CouplingPolicy,
        missing=missing_distances,
    ),
)
