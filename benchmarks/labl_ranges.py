"""Agosta et al.'s sections 4.1 to 4.3 over all that each figure varies, and what becomes of each sentence there.

    python benchmarks/labl_ranges.py [--part PART]... [--seeds 15] [--format markdown|json]

Parts: `performance` (Figure 5, tasks), `scalability` (Figure 6, servers), `tasks` (Figure 7, servers and tasks) and
`replicas` (the figure after it, servers and the most replicas of a block). The flow-based algorithm runs with both
rules for ties between thresholds. "Available servers" has two readings: `of 2000`, where a placement on 2000 servers is
kept and only the first ones take part, and `own`, where the placement is drawn on those that there are. The tables are
those of `docs/results-agosta.md`; the readings of LABL are compared by `labl_study`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from study_tables import mean, spread, table

from optsched.heuristics import run
from optsched.instances.generate import generate
from optsched.problems import Latency
from optsched.routes import latency_search

Point = tuple[int, int]

SERVERS, TASKS = (1600, 1700, 1800, 1900, 2000), (3200, 3300, 3400, 3500)
MOST_SERVERS, MOST_REPLICAS = 2000, range(2, 8)

ROUND_ROBIN, LABL, LABL_1 = "round robin", "LABL l**", "LABL l**+1"
FIRST, WORK = "flow-based, first", "flow-based, least work"
FRESH_FIRST, FRESH_WORK = "fresh covers, first", "fresh covers, least work"

#: Title of each scheduler, its name and its parameters.
SCHEDULERS: dict[str, tuple[str, dict[str, Any]]] = {
    ROUND_ROBIN: ("round-robin", {}),
    FIRST: ("flow-based", {"ties": "first"}),
    WORK: ("flow-based", {"ties": "work"}),
    FRESH_FIRST: ("flow-based", {"ties": "first", "covers": "fresh"}),
    FRESH_WORK: ("flow-based", {"ties": "work", "covers": "fresh"}),
    LABL: ("labl", {"lbar": "l**"}),
    LABL_1: ("labl", {"lbar": "l**+1"}),
}
FLOWS = (FIRST, WORK, FRESH_FIRST, FRESH_WORK)
SENSITIVITY = (FIRST, WORK, LABL_1)


@dataclass(frozen=True)
class Setting:
    """One point of a figure. Without `own` the servers are the first of `MOST_SERVERS`, which hold the blocks."""

    servers: int = MOST_SERVERS
    tasks: int = 3450
    replicas: int = 4
    own: bool = False

    def instance(self, seed: int) -> Any:
        """The family `labl` at this point."""
        sizes = {"nodes": self.servers} if self.own else {"available": self.servers}
        return generate("labl", seed=seed, tasks=self.tasks, replicas=self.replicas, **sizes)

    @property
    def reading(self) -> str:
        """Name of the reading of "available servers"."""
        return "own" if self.own else f"of {MOST_SERVERS}"


@dataclass
class Cell:
    """What came out at one setting, seed by seed; frontiers only where they were asked for."""

    setting: Setting
    points: dict[str, list[Point]]
    frontiers: list[list[Point]] = field(default_factory=list)

    def works(self, scheduler: str) -> list[int]:
        """Work on each instance."""
        return [work for _, work in self.points[scheduler]]

    def latencies(self, scheduler: str) -> list[int]:
        """Latency on each instance."""
        return [latency for latency, _ in self.points[scheduler]]

    def mean_work(self, scheduler: str) -> float:
        """Mean work over the instances."""
        return sum(self.works(scheduler)) / len(self.works(scheduler))

    def fewer(self, one: str, other: str) -> int:
        """On how many instances `one` works less than `other`."""
        return sum(mine < theirs for mine, theirs in zip(self.works(one), self.works(other), strict=True))

    def optimal(self, scheduler: str) -> int:
        """On how many instances the result is on the frontier."""
        pairs = zip(self.points[scheduler], self.frontiers, strict=True)
        return sum(point in frontier for point, frontier in pairs)


def measured(setting: Setting, seeds: int, schedulers: Sequence[str], frontiers: bool) -> Cell:
    """Run the schedulers on the instances of a setting."""
    print(setting, file=sys.stderr)
    cell = Cell(setting, {title: [] for title in schedulers})
    for seed in range(seeds):
        problem = Latency(setting.instance(seed))
        for title in schedulers:
            name, parameters = SCHEDULERS[title]
            value = problem.evaluate(run(problem, name, **parameters).raise_if_failed())
            cell.points[title].append((int(value[0]), int(value[1])))
        if frontiers:
            points, stopped = latency_search(problem).frontier()
            assert stopped is None
            cell.frontiers.append([(int(point.objective[0]), int(point.objective[1])) for point in points])
    return cell


def performance(seeds: int) -> list[Cell]:
    """Figure 5: 2000 servers, all numbers of tasks."""
    return [measured(Setting(tasks=tasks), seeds, list(SCHEDULERS), True) for tasks in range(3200, 3501, 50)]


def scalability(seeds: int) -> list[Cell]:
    """Figure 6: 3450 tasks, all numbers of servers, in both readings."""
    settings = [Setting(servers, own=own) for own in (False, True) for servers in SERVERS if not own or servers < 2000]
    return [measured(setting, seeds, list(SCHEDULERS), not setting.own) for setting in settings]


def tasks(seeds: int) -> list[Cell]:
    """Figure 7: servers and tasks, in both readings."""
    return [
        measured(Setting(servers, tasks, own=own), seeds, SENSITIVITY, False)
        for own in (False, True)
        for tasks in TASKS
        for servers in SERVERS
    ]


def replicas(seeds: int) -> list[Cell]:
    """The figure after it: servers and the most replicas of a block, in both readings."""
    return [
        measured(Setting(servers, replicas=most, own=own), seeds, SENSITIVITY, False)
        for own in (False, True)
        for servers in SERVERS
        for most in MOST_REPLICAS
    ]


PARTS: dict[str, Callable[[int], list[Cell]]] = {
    "performance": performance,
    "scalability": scalability,
    "tasks": tasks,
    "replicas": replicas,
}


def latencies(cells: list[Cell], head: str, shown: Callable[[Setting], object]) -> str:
    """Mean (worst) latency of each scheduler, a row a setting; the least possible where it was proved."""
    rows = []
    for cell in cells:
        least = mean([frontier[0][0] for frontier in cell.frontiers]) if cell.frontiers else ""
        found = [cell.latencies(title) for title in SCHEDULERS]
        rows.append([shown(cell.setting), least, *(f"{mean(values)} ({max(values)})" for values in found)])
    return table([head, "least possible", *SCHEDULERS], rows)


def works(cells: list[Cell], head: str, shown: Callable[[Setting], object]) -> str:
    """Mean work of each scheduler with the half width of its 95 % interval, a row a setting."""
    rows = [[shown(cell.setting), *(spread(cell.works(title), 0) for title in cell.points)] for cell in cells]
    return table([head, *cells[0].points], rows)


def comparisons(cells: list[Cell], head: str, shown: Callable[[Setting], object]) -> str:
    """On how many instances LABL works less than each flow-based algorithm, a row a setting."""
    pairs = [(labl, flow) for labl in (LABL, LABL_1) for flow in FLOWS if {labl, flow} <= set(cells[0].points)]
    rows = [[shown(cell.setting), *(cell.fewer(labl, flow) for labl, flow in pairs)] for cell in cells]
    return table([head, *(f"{labl} below {flow}" for labl, flow in pairs)], rows)


def optima(cells: list[Cell], head: str, shown: Callable[[Setting], object]) -> str:
    """On how many instances each scheduler is on the frontier, a row a setting; settings without frontiers are left."""
    rows = [[shown(cell.setting), *(cell.optimal(title) for title in SCHEDULERS)] for cell in cells if cell.frontiers]
    return table([head, *SCHEDULERS], rows)


def grid(cells: list[Cell], title: str, column: Callable[[Setting], int], row: Callable[[Setting], int]) -> str:
    """Mean work of one scheduler, a row and a column a number, with the spread of each row and column."""
    found = {(row(cell.setting), column(cell.setting)): cell.mean_work(title) for cell in cells}
    heads, columns = sorted({head for head, _ in found}), sorted({number for _, number in found})
    rows: list[list[object]] = []
    for head in heads:
        held = [found[head, number] for number in columns]
        rows.append([head, *(f"{value:.0f}" for value in held), f"{max(held) - min(held):.0f}"])
    spreads = [[found[head, number] for head in heads] for number in columns]
    rows.append(["range", *(f"{max(held) - min(held):.0f}" for held in spreads), ""])
    return table([title, *map(str, columns), "range"], rows)


def fewest(cells: list[Cell], flow: str, column: Callable[[Setting], int], row: Callable[[Setting], int]) -> str:
    """On how many instances LABL l**+1 works less than a flow-based algorithm, a row and a column a number."""
    found = {(row(cell.setting), column(cell.setting)): cell.fewer(LABL_1, flow) for cell in cells}
    heads, columns = sorted({head for head, _ in found}), sorted({number for _, number in found})
    rows = [[head, *(found[head, number] for number in columns)] for head in heads]
    return table([f"{LABL_1} below {flow}", *map(str, columns)], rows)


def falls(cells: list[Cell]) -> str:
    """What more replicas save: mean work at the fewest less that at the most, and where it rises between two."""
    rows = []
    for servers in SERVERS:
        held = sorted(
            (cell for cell in cells if cell.setting.servers == servers), key=lambda cell: cell.setting.replicas
        )
        row: list[object] = [servers]
        for title in SENSITIVITY:
            means = [cell.mean_work(title) for cell in held]
            rises = [
                f"{one.setting.replicas} to {other.setting.replicas}"
                for (one, other), (before, after) in zip(pairwise(held), pairwise(means), strict=True)
                if after > before
            ]
            row += [f"{means[0] - means[-1]:.0f}", ", ".join(rises) or "never"]
        rows.append(row)
    heads = [head for title in SENSITIVITY for head in (f"{title}: saved from 2 to 7", "rises from")]
    return table(["servers", *heads], rows)


def printed(part: str, cells: list[Cell]) -> str:
    """The tables of a part."""
    if part == "performance":
        arguments = cells, "tasks", lambda setting: setting.tasks
        return "\n\n".join(each(*arguments) for each in (latencies, works, optima, comparisons))
    readings = [[cell for cell in cells if cell.setting.own == own] for own in (False, True)]
    blocks = []
    for held in readings:
        blocks.append(f"### {part}, servers {held[0].setting.reading}")
        if part == "scalability":
            arguments = held, "servers", lambda setting: setting.servers
            blocks += [each(*arguments) for each in (latencies, works, comparisons)]
            if held[0].frontiers:
                blocks.append(optima(*arguments))
            continue
        row: Callable[[Setting], int] = (
            (lambda setting: setting.tasks) if part == "tasks" else (lambda setting: setting.replicas)
        )
        blocks += [grid(held, title, lambda setting: setting.servers, row) for title in SENSITIVITY]
        blocks += [fewest(held, flow, lambda setting: setting.servers, row) for flow in (FIRST, WORK)]
        if part == "replicas":
            blocks.append(falls(held))
    return "\n\n".join(blocks)


def main() -> None:
    """Print the tables, or the points behind them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part; all by default")
    parser.add_argument("--seeds", type=int, default=15, help="instances of each setting; Agosta et al. have 30")
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown")
    chosen = parser.parse_args()
    found = {part: PARTS[part](chosen.seeds) for part in chosen.part or PARTS}
    if chosen.format == "json":
        held = {
            part: [{**vars(cell.setting), "points": cell.points, "frontiers": cell.frontiers} for cell in cells]
            for part, cells in found.items()
        }
        print(json.dumps(held, indent=1))
        return
    for part, cells in found.items():
        print(f"## {part}: {chosen.seeds} instances a setting\n\n{printed(part, cells)}\n", flush=True)


if __name__ == "__main__":
    main()
