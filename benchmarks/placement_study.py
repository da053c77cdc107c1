"""Shen et al.'s experiment: the batches of their Table II through every scheduler, beside their Table III, and costs.

    python benchmarks/placement_study.py [--part PART]... [--divide 4] [--repeats 3] [--workers 1] [--quick]
                                         [--format markdown|json]

Parts: `batches`, the batches of Table II wave after wave (what a wave placed is finished before the next) until every
map and reduce ran; `orders`, the three schedulers of Table III where maps and reduces take turns in other ways;
`joint`, batches so small that all their tasks start at once, against the proved optimum of both stages; `p-min`, Shen
et al.'s rule to tune its threshold. Without `--part` all four. The tables are those of `docs/results-shen.md`; `orders`
there also with `--divide 1`, which is Table II as it is. `--format json` gives the records behind the tables.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from itertools import count, groupby
from typing import Any

import numpy as np
from study_tables import mean, table

from optsched.core.instance import FINISHED, MAP, PENDING, REDUCE, Instance
from optsched.core.placement import NONE, Placement
from optsched.heuristics import HEURISTICS, HeuristicRun, run
from optsched.heuristics.tuning import Tuning, tune_p_min
from optsched.instances.families.shen import BATCHES, MAPS, REDUCES
from optsched.instances.generate import generate
from optsched.problems import Lsap, Problem, Transmission, TransmissionMaps, TransmissionReduces
from optsched.problems import problem as problem_of
from optsched.problems.locality_counts import CLASSES, locality_counts
from optsched.routes import solve
from optsched.solvers.profiles import load_profile

Form = tuple[str, dict[str, Any]]

#: Shen et al. 2016, Table III: % of local node and of local rack tasks, of maps and reduces together; no task was
#: remote.
TABLE_3 = {"probabilistic": (89.84, 10.16), "coupling": (88.30, 11.70), "fair": (85.59, 14.41)}

#: Shen et al. 2016, section III: slave nodes.
NODES = 60

#: Kinds of tasks.
KIND = ("map", "reduce")

#: Coupling as its defaults have it, and with a chance of a map off its data that comes near Table III.
COUPLING: tuple[Form, ...] = (("coupling", {}), ("coupling", {"p_rack": 0.005}))

#: `sequential` in the form for waves: its search among equal maps takes minutes a wave at full size.
FIRST_TIES: Form = ("sequential", {"ties": "first"})

#: Fair as Hadoop 1 has it, without delay, and the same where a heartbeat fills one slot; then a job waits for one
#: heartbeat of each node with a free slot.
FAIR: tuple[Form, ...] = (
    ("fair", {}),
    ("fair", {"delay": 0}),
    ("fair", {"delay": "auto", "assign": "single"}),
    ("fair", {"delay": 0, "assign": "single"}),
)

#: What `orders` compares.
OF_TABLE_3: tuple[Form, ...] = (("probabilistic", {}), *COUPLING, *FAIR)

#: Share of the map slots that are idle at a time in the last of `orders`.
IDLE_SHARE = 0.1

#: Sizes of `joint`: Table II divided by this, on so many nodes.
JOINT = ((300, 6), (200, 8))

#: States of the search for a joint optimum.
STATES = 2_000

#: Instances of each batch of `joint`.
SMALL = 10


@dataclass
class Played:
    """What came of running a batch to its end.

    `maps` is what it cost to fetch blocks, `shuffle` what it cost to move output to reduces. `each_wave` is what the
    best maps of each wave would have cost, of those that waited for it; `least` a bound for all waves together.
    `starved` are the rounds of each wave in which the scheduler was given up although it could have gone on; `stuck`
    counts those in which every free slot was on a node that runs a reduce of each job that waits.
    """

    scheduler: str
    counts: dict[str, dict[str, int]] = field(
        default_factory=lambda: {kind: dict.fromkeys(CLASSES, 0) for kind in KIND}
    )
    maps: float = 0.0
    shuffle: float = 0.0
    each_wave: float = 0.0
    least: float = 0.0
    least_shuffle: float | None = None
    waves: int = 0
    rounds: int = 0
    idle: int = 0
    starved: list[int] = field(default_factory=list)
    stuck: int = 0
    left: int = 0


@dataclass
class Joint:
    """One small batch whose tasks all start at once: the optimum of both stages, and what each scheduler pays."""

    maps: int
    reduces: int
    bound: float
    optimum: float | None
    proof: str
    cost: dict[str, float] = field(default_factory=dict)
    starved: dict[str, int] = field(default_factory=dict)


def forms(problem: str, *extra: Form) -> list[Form]:
    """Every scheduler of the list that serves a problem, and some in further forms."""
    serving = [name for name, entry in HEURISTICS.items() if problem in entry.problems and name != "observed"]
    return [(name, {}) for name in serving] + list(extra)


def label(name: str, form: dict[str, Any]) -> str:
    """As on the command line."""
    return ",".join([name, *(f"{key}={value}" for key, value in form.items())])


# Whole batches ----------------------------------------------------------------------------------------------------


def waves(name: str, instance: Instance, chosen: Form, seed: int, idle: str) -> Iterator[tuple[Problem, HeuristicRun]]:
    """Each wave of one scheduler: the problem that is posed on what the waves before have left, and the run.

    What a wave has placed is finished before the next one. Then the same slots are idle, or with `fresh` as many of all
    slots. The waves end when no task waits, or one places nothing.
    """
    heuristic, form = chosen
    drawn = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))  # 0 and 1 are a run's own streams
    for index in count():
        problem = problem_of(name, instance)
        if not len(problem.tasks):
            return
        ran = run(problem, heuristic, (seed, index) if index else seed, **form)
        yield problem, ran
        nodes, state = ran.raise_if_failed().nodes, instance.state
        placed = nodes != NONE
        if not placed.any():
            return
        idle_slots = state.idle_slots
        if idle == "fresh":
            idle_slots = drawn.multivariate_hypergeometric(instance.cluster.slots, int(idle_slots.sum()))
        status, node = np.where(placed, FINISHED, state.status), np.where(placed, nodes, state.node)
        instance = instance.with_state(replace(state, status=status, node=node, idle_slots=idle_slots))


def play(played: Played, problem: str, instance: Instance, chosen: Form, seed: int, idle: str = "same") -> Instance:
    """All waves of one scheduler, noted in `played`; the instance after the last of them."""
    state, ran, node = instance.state, instance.state.status == FINISHED, instance.state.node.copy()
    for posed, wave in waves(problem, instance, chosen, seed, idle):
        placement = wave.raise_if_failed()
        assert all(violation.constraint == "cardinality" for violation in posed.violations(placement))
        for kind, classes in locality_counts(posed, placement).items():
            for held, times in classes.items():
                played.counts[kind][held] += times
        cost, fetched = float(posed.objective(placement)[0]), 0.0
        if MAP in posed.kinds:
            fetched, best = fetching(posed.instance, placement.nodes)
            played.each_wave += best
        played.maps += fetched
        played.shuffle += cost - fetched
        played.waves += 1
        played.rounds += wave.rounds or 0
        played.idle += wave.idle_slot_time or 0
        if wave.starved and could_go_on(posed, placement):
            played.starved.append(wave.rounds or 0)
        elif wave.starved:
            played.stuck += 1
        placed = placement.nodes != NONE
        ran, node = ran | placed, np.where(placed, placement.nodes, node)
    return instance.with_state(replace(state, status=np.where(ran, FINISHED, PENDING), node=node))


def could_go_on(problem: Problem, placement: Placement) -> bool:
    """Whether a task that waits could still start: on a node with a free slot, without a reduce of its job there."""
    nodes, kinds = problem.nodes_of(placement), problem.instance.workload.kind[problem.tasks]
    for kind in problem.kinds:
        ours = nodes[kinds == kind]
        free = problem.offered[KIND[kind]] - np.bincount(ours[ours != NONE], minlength=len(problem.instance.cluster))
        if kind == MAP and free.any() and (ours == NONE).any():
            return True
        if kind == REDUCE:
            assert isinstance(problem, Transmission | TransmissionReduces)
            open_to = problem.slots.usable & (free > 0)
            for job in np.unique(problem.job).tolist():
                at = ours[(problem.job == job) & (ours != NONE)]
                open_to[np.ix_(problem.job == job, at)] = False
            if open_to[ours == NONE].any():
                return True
    return False


def fetching(snapshot: Instance, nodes: np.ndarray[Any, Any]) -> tuple[float, float]:
    """What the maps of a wave fetch, and the least that as many of those that waited could: proved."""
    stage = TransmissionMaps(snapshot)
    if not len(stage.tasks):
        return 0.0, 0.0
    cost = float(stage.objective(stage.placement(nodes[stage.tasks]))[0])
    if not cost or on_data(snapshot):
        return cost, 0.0  # no cost is negative
    return cost, proved(stage)


def on_data(snapshot: Instance) -> bool:
    """Whether all maps of a wave can run on their data at once: a matching tells, sooner than costs do."""
    return proved(Lsap(snapshot)) == 0


def proved(problem: Problem) -> float:
    """The proved optimum."""
    optimum = solve(problem)
    assert optimum.optimal
    assert optimum.objective is not None
    return float(optimum.objective[0])


def widened(instance: Instance, times: int) -> Instance:
    """The same with so many times the slots, all idle: what as many waves can hold at most."""
    slots, reduce_slots = instance.cluster.slots * times, instance.cluster.reduce_slots * times
    cluster = replace(instance.cluster, slots=slots, reduce_slots=reduce_slots)
    state = replace(instance.state, idle_slots=slots, idle_reduce_slots=reduce_slots)
    return replace(instance, cluster=cluster, state=state, parameters={})


def least_maps(instance: Instance, waves_: int) -> float:
    """The least that all maps cost in so many waves: proved."""
    return proved(TransmissionMaps(widened(instance, waves_)))


def least_reduces(instance: Instance, waves_: int) -> float:
    """A proved bound of all reduces in so many waves, for where the maps ran; reduces of a job may meet on a node."""
    return proved(TransmissionReduces(widened(instance, waves_), distinct=False))


def batch(number: int, seed: int, divide: int) -> Instance:
    """A batch of Table II; its nodes are divided as its tasks are."""
    return generate("shen-table2", seed=seed, batch=number, divide=divide, nodes=max(3, round(NODES / divide)))


def together(number: int, chosen: Form, seed: int, divide: int) -> Played:
    """Maps and reduces in the same waves, all slots idle."""
    instance = batch(number, seed, divide)
    played = Played(label(*chosen))
    after = play(played, Transmission.name, instance, chosen, seed)
    played.left = int(np.count_nonzero(after.state.status == PENDING))
    played.least = least_maps(instance, played.waves)
    return played


def maps_first(number: int, chosen: Form, seed: int, divide: int) -> Played:
    """All maps wave after wave, and then the reduces, which know where every map ran and what it has for them."""
    instance = batch(number, seed, divide)
    played = Played(label(*chosen))
    ran = play(played, TransmissionMaps.name, without_shuffle(instance), chosen, seed)
    after = instance.with_state(ran.state)
    before, played.least = played.waves, least_maps(instance, played.waves)
    end = play(played, TransmissionReduces.name, after, chosen, seed)
    played.left = int(np.count_nonzero(end.state.status == PENDING))
    played.least_shuffle = least_reduces(after, played.waves - before)
    return played


def without_shuffle(instance: Instance) -> Instance:
    """The same, quicker to run maps on: these look at no reduce."""
    return replace(instance, workload=replace(instance.workload, shuffle=None))


def few_idle(number: int, chosen: Form, seed: int, divide: int) -> Played:
    """The maps, where a few of all slots are idle at a time, others in each wave."""
    instance = without_shuffle(batch(number, seed, divide))
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3,)))
    slots = instance.cluster.slots
    idle = rng.multivariate_hypergeometric(slots, max(1, round(IDLE_SHARE * int(slots.sum()))))
    played = Played(label(*chosen))
    first = instance.with_state(replace(instance.state, idle_slots=idle))
    after = play(played, TransmissionMaps.name, first, chosen, seed, idle="fresh")
    played.left = int(np.count_nonzero((after.state.status == PENDING) & (after.workload.kind == MAP)))
    return played


#: Ways to take turns: title and function.
ORDERS: dict[str, Callable[[int, Form, int, int], Played]] = {
    "together": together,
    "maps first": maps_first,
    f"maps, {IDLE_SHARE:.0%} of the slots idle": few_idle,
}


def shares(records: Sequence[Played], *kinds: str) -> list[list[float]]:
    """Percent of the tasks of these kinds in each class of locality, a value a record."""
    found = []
    for held in CLASSES:
        of_class = [sum(record.counts[kind][held] for kind in kinds) for record in records]
        everything = [sum(sum(record.counts[kind].values()) for kind in kinds) for record in records]
        found.append([100 * part / whole if whole else 0.0 for part, whole in zip(of_class, everything, strict=True)])
    return found


def around(values: Sequence[float], digits: int = 1) -> str:
    """The mean, and the least and the most where they differ from it."""
    middle, least, most = (f"{value:.{digits}f}" for value in (sum(values) / len(values), min(values), max(values)))
    return middle if least == most else f"{middle} ({least} to {most})"


def starvation(records: Sequence[Played]) -> str:
    """Waves in which the scheduler was given up, of all, the rounds of the longest, and the tasks that never ran."""
    rounds = [number for record in records for number in record.starved]
    stuck, left = sum(record.stuck for record in records), sum(record.left for record in records)
    told = []
    if rounds:
        told.append(f"{len(rounds)} of {sum(record.waves for record in records)} waves, {max(rounds)} rounds")
    if stuck:
        told.append(f"stuck in {stuck}")
    if left:
        told.append(f"{left} tasks left")
    return "; ".join(told) or "0"


def merged(rows: Iterator[list[str]]) -> list[list[str]]:
    """Rows that differ in their first cell alone become one."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, *cells in rows:
        names.setdefault(tuple(cells), []).append(name)
    return [[", ".join(same), *cells] for cells, same in names.items()]


def batch_table(records: dict[str, list[Played]]) -> str:
    """A row a scheduler of one batch."""

    def cells(name: str, held: list[Played]) -> list[str]:
        reduces = shares(held, "reduce")
        return [
            f"`{name}`",
            mean(shares(held, "map")[0], 2),
            mean(reduces[0], 2),
            mean(reduces[2], 2),
            around(shares(held, *KIND)[0]),
            mean([record.maps / 1e3 for record in held], 1),
            mean([record.each_wave / 1e3 for record in held], 1),
            mean([record.least / 1e3 for record in held], 1),
            mean([record.shuffle / 1e3 for record in held], 0),
            around([(record.maps + record.shuffle) / 1e3 for record in held]),
            mean([record.waves for record in held], 0),
            mean([record.rounds for record in held], 0) if held[0].rounds else "",
            starvation(held),
        ]

    header = ["scheduler", "maps on node %", "reduces on node %", "reduces remote %", "all on node %"]
    header += ["cost of maps", "least, each wave", "least, all waves", "cost of shuffle", "both", "waves", "rounds"]
    return table([*header, "starved"], merged(cells(name, held) for name, held in records.items()))


def paper_table(records: dict[str, dict[str, list[Played]]]) -> str:
    """Table III beside what was measured, over the three batches of each seed."""
    rows = []
    for title, by_scheduler in records.items():
        for name, held in by_scheduler.items():
            by_seed = [pooled(held[seed :: len(held) // len(BATCHES)]) for seed in range(len(held) // len(BATCHES))]
            both = any(held[0].counts["reduce"].values())
            paper = TABLE_3.get(name, ("", "")) if both else ("", "")
            node, rack, remote = shares(by_seed, *KIND)
            rows.append(
                [
                    title,
                    f"`{name}`",
                    paper[0],
                    around(node, 2),
                    paper[1],
                    mean(rack, 2),
                    mean(remote, 2),
                    mean(shares(by_seed, "map")[0], 2),
                    mean(shares(by_seed, "reduce")[0], 2) if both else "",
                    mean([record.maps / 1e3 for record in by_seed], 0),
                    mean([record.shuffle / 1e3 for record in by_seed], 0) if both else "",
                    starvation(held),
                ]
            )
    header = ["order", "scheduler", "node %, paper", "measured", "rack %, paper", "measured", "remote %"]
    header += ["maps on node %", "reduces on node %", "cost of maps", "cost of shuffle", "starved"]
    return table(header, rows, text_columns=2)


def pooled(records: Sequence[Played]) -> Played:
    """The sums of several batches."""
    whole = Played(records[0].scheduler)
    for record in records:
        for kind in KIND:
            for held in CLASSES:
                whole.counts[kind][held] += record.counts[kind][held]
        whole.maps += record.maps
        whole.shuffle += record.shuffle
        whole.least += record.least
        whole.least_shuffle = (whole.least_shuffle or 0.0) + (record.least_shuffle or 0.0)
    return whole


def stages_table(records: dict[str, list[Played]]) -> str:
    """Costs of maps first, then reduces, beside what is proved of each stage; all three batches of a seed."""
    rows = []
    for name, held in records.items():
        by_seed = [pooled(held[seed :: len(held) // len(BATCHES)]) for seed in range(len(held) // len(BATCHES))]
        beyond = [100 * (record.shuffle / (record.least_shuffle or 1.0) - 1) for record in by_seed]
        rows.append(
            [
                f"`{name}`",
                mean([record.maps / 1e3 for record in by_seed], 1),
                mean([record.least / 1e3 for record in by_seed], 1),
                mean([record.shuffle / 1e3 for record in by_seed], 1),
                mean([(record.least_shuffle or 0.0) / 1e3 for record in by_seed], 1),
                around(beyond, 2),
            ]
        )
    header = ["scheduler", "cost of maps", "least, proved", "cost of shuffle", "bound for these maps", "beyond it, %"]
    return table(header, rows)


def locality_cap(name: str) -> float:
    """The most that PNA's locality can save of a scheduler's task time, in percent: 1 - r/r' of the rack shares.

    A task takes a on its data and b >= a in the rack of them, whoever placed it. PNA's mean a + r (b - a) then is
    (r' - r)(b - a) below the other's a + r' (b - a), at most that share of it: where a is 0.
    """
    return 100 * (1 - TABLE_3["probabilistic"][1] / TABLE_3[name][1])


def arithmetic() -> str:
    """What Table III leaves open and what it rules out, from its shares and the numbers of tasks alone."""
    maps, reduces = sum(map(sum, MAPS)), sum(map(sum, REDUCES))
    rows = []
    for name, (_, rack) in TABLE_3.items():
        off = rack / 100 * (maps + reduces)
        rows.append(
            [
                f"`{name}`",
                rack,
                f"{off:.0f}",
                f"{100 - 100 * off / maps:.1f}",
                f"{100 - 100 * off / reduces:.1f}",
                f"{locality_cap(name):.1f}" if name != "probabilistic" else "",
            ]
        )
    told = f"{maps} maps and {reduces} reduces, which are {100 * reduces / (maps + reduces):.1f} % of the tasks."
    header = ["scheduler", "rack %, paper", "tasks", "maps on node %, if these are all maps"]
    header += ["reduces on node %, if these are all reduces", "PNA's locality saves at most, % of task time"]
    return told + "\n\n" + table(header, rows)


# Both stages at once ----------------------------------------------------------------------------------------------


def joint(number: int, seed: int, divide: int, nodes: int) -> Joint:
    """A batch whose tasks all start at once, and every scheduler on it."""
    problem = Transmission(generate("shen-table2", seed=seed, batch=number, divide=divide, nodes=nodes))
    assert (problem.map_count, problem.reduce_count) == (len(problem.maps), len(problem.reduces))
    best = solve(problem, replace(load_profile("exact"), node_limit=STATES))
    bound = best.bound[0]
    assert bound is not None
    value = None if best.objective is None or not best.optimal else float(best.objective[0])
    case = Joint(len(problem.maps), len(problem.reduces), float(bound), value, str(best.certificate))
    further: list[Form] = [("delay", {"form": "two-level"}), ("probabilistic", {"average": "eligible"})]
    for name, form in forms(Transmission.name, *further, COUPLING[1], FIRST_TIES):
        found = run(problem, name, seed, **form)
        placement = found.raise_if_failed()
        if problem.violations(placement):
            assert found.starved
            case.starved[label(name, form)] = found.rounds or 0
        else:
            case.cost[label(name, form)] = float(problem.evaluate(placement)[0])
    return case


def joint_table(cases: dict[str, list[Joint]]) -> str:
    """How far each scheduler is from the optimum; where that is not proved, from the bound."""
    names = dict.fromkeys(name for held in cases.values() for case in held for name in (*case.cost, *case.starved))
    rows = []
    for name in names:
        row = [f"`{name}`"]
        for held in cases.values():
            ran = [case for case in held if name in case.cost]
            starved = len(held) - len(ran)
            if ran:
                beyond = 100 * (sum(case.cost[name] for case in ran) / sum(case.bound for case in ran) - 1)
                attains = sum(case.cost[name] == case.optimum for case in ran)
                row.append(f"{beyond:.0f} ({attains})" + (f", starved {starved}" if starved else ""))
            else:
                row.append(f"starved {starved}")
        rows.append(row)
    return table(["scheduler", *cases], rows)


def proof_table(cases: dict[str, list[Joint]]) -> str:
    """What is known of the optimum of each set of small batches."""
    rows = []
    for title, held in cases.items():
        proofs = sorted({case.proof for case in held if case.optimum is not None})
        rounds = [number for case in held for number in case.starved.values()]
        rows.append(
            [
                title,
                held[0].maps,
                held[0].reduces,
                f"{sum(case.optimum is not None for case in held)} of {len(held)}",
                ", ".join(proofs),
                f"{min(case.bound for case in held):.0f} to {max(case.bound for case in held):.0f}",
                f"{len(rounds)}" + (f" ({max(rounds)} rounds at most)" if rounds else ""),
            ]
        )
    return table(["batch", "maps", "reduces", "proved", "proof", "optimum or bound", "runs that starved"], rows)


# P_min ------------------------------------------------------------------------------------------------------------


def tuned(seed: int, divide: int) -> Tuning:
    """Shen et al.'s rule on the first wave of Wordcount."""
    return tune_p_min(Transmission(batch(1, seed, divide)), seed)


def p_min_table(tunings: Sequence[Tuning]) -> str:
    """Waiting and starvation with each value that was tried; a row for values one after another that do the same."""
    found = []
    for trials in zip(*(tuning.trials for tuning in tunings), strict=True):
        starved = f"{sum(trial.starved for trial in trials)} of {len(trials)}"
        offers = f"{sum(trial.idle_slot_time for trial in trials) / len(trials):.0f}"
        found.append((f"{trials[0].p_min:.2f}", starved, max(trial.waiting for trial in trials), offers))
    rows = []
    for cells, alike in groupby(found, key=lambda row: row[1:]):
        values = [row[0] for row in alike]
        rows.append([values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}", *cells])
    header = ["P_min", "starved", "tasks that wait for ever, at most", "slots offered in vain, mean"]
    highest = ", ".join("none" if tuning.value is None else f"{tuning.value:.2f}" for tuning in tunings)
    return f"Highest with which nothing starved, by seed: {highest}.\n\n{table(header, rows)}"


# Command ----------------------------------------------------------------------------------------------------------


def each(workers: int, work: Callable[..., Any], arguments: list[tuple[Any, ...]]) -> list[Any]:
    """The results of calls in order; in processes of their own where there are several workers."""
    if workers == 1:
        return [work(*given) for given in arguments]
    with ProcessPoolExecutor(workers) as pool:
        return [future.result() for future in [pool.submit(work, *given) for given in arguments]]


def main() -> None:
    """Print the tables, or the records behind them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("batches", "orders", "joint", "p-min")
    parser.add_argument("--part", action="append", choices=parts, help="only this part")
    parser.add_argument("--divide", type=int, default=4, help="tasks, inputs and nodes of Table II over this; 1: as is")
    parser.add_argument("--repeats", type=int, default=3, help="instances a batch; of `joint` ten")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--quick", action="store_true", help="--divide 20 --repeats 2, and only the smaller of `joint`")
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown")
    chosen = parser.parse_args()
    divide, repeats = (20, 2) if chosen.quick else (chosen.divide, chosen.repeats)
    seeds, numbers, workers = range(repeats), range(1, len(BATCHES) + 1), chosen.workers
    text: list[str] = []
    kept: dict[str, Any] = {}

    def note(part: str) -> bool:
        wanted = part in (chosen.part or parts)
        if wanted:
            print(part, file=sys.stderr)
        return wanted

    if note("batches"):
        every = [form for form in forms(Transmission.name, COUPLING[1], FIRST_TIES) if form != ("sequential", {})]
        given = [(number, form, seed, divide) for number in numbers for form in every for seed in seeds]
        found = iter(each(workers, together, given))
        for number in numbers:
            played = {label(*form): [next(found) for _ in seeds] for form in every}
            kept[BATCHES[number - 1]] = {name: [asdict(record) for record in held] for name, held in played.items()}
            text.append(f"### {BATCHES[number - 1].capitalize()}\n\n{batch_table(played)}")
    if note("orders"):
        orders: dict[str, dict[str, list[Played]]] = {}
        for title, work in ORDERS.items():
            given = [(number, form, seed, divide) for form in OF_TABLE_3 for number in numbers for seed in seeds]
            found = iter(each(workers, work, given))
            orders[title] = {label(*form): [next(found) for _ in numbers for _ in seeds] for form in OF_TABLE_3}
        kept["orders"] = {
            title: {name: [asdict(record) for record in held] for name, held in by_scheduler.items()}
            for title, by_scheduler in orders.items()
        }
        text += [
            f"### Table III\n\n{paper_table(orders)}",
            f"### Maps first, then reduces\n\n{stages_table(orders['maps first'])}",
            f"### What Table III leaves open\n\n{arithmetic()}",
        ]
    if note("joint"):
        for size in JOINT[: 1 if chosen.quick else None]:
            many = range(SMALL)
            found = iter(each(workers, joint, [(number, seed, *size) for number in numbers for seed in many]))
            cases = {BATCHES[number - 1]: [next(found) for _ in many] for number in numbers}
            title = f"Table II over {size[0]}, {size[1]} nodes"
            kept[title] = {name: [asdict(case) for case in held] for name, held in cases.items()}
            text.append(f"### {title}\n\n{proof_table(cases)}\n\n{joint_table(cases)}")
    if note("p-min"):
        tunings = each(workers, tuned, [(seed, divide) for seed in seeds])
        kept["p-min"] = [asdict(tuning) for tuning in tunings]
        text.append(f"### P_min\n\n{p_min_table(tunings)}")
    print(json.dumps(kept, indent=1) if chosen.format == "json" else "\n\n".join(text))


if __name__ == "__main__":
    main()
