"""000's experiment: the batches of its Table II through every scheduler, locality beside its Table III, and costs.

    python benchmarks/placement_study.py [--divide 10] [--repeats 3] [--batch 1]... [--format markdown|json]

Wave after wave (`optsched.heuristics.waves`) until every map and reduce ran: what a wave placed is finished before the
next. The tables are those of `docs/results-000.md`. `--format json` gives the records behind them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from study_tables import spread, table

from optsched.heuristics import HEURISTICS
from optsched.heuristics.waves import waves
from optsched.instance import Instance
from optsched.instances.families.shen import BATCHES
from optsched.instances.generate import generate
from optsched.problems import Transmission, TransmissionMaps
from optsched.problems.data_locality import CLASSES, locality_counts
from optsched.routes import solve

Record = dict[str, Any]

#: 000, Table III: % of local node and of local rack tasks.
TABLE_3 = {"probabilistic": (89.84, 10.16), "coupling": (88.30, 11.70), "fair": (85.59, 14.41)}

#: Heuristics in more than one form.
FORMS: dict[str, list[dict[str, Any]]] = {
    "probabilistic": [{}, {"average": "eligible"}],
    "delay": [{}, {"form": "two-level"}],
}


def schedulers() -> list[tuple[str, dict[str, Any]]]:
    """Every scheduler of the list that places maps and reduces, in each of its forms."""
    serving = [name for name, entry in HEURISTICS.items() if Transmission.name in entry.problems]
    return [(name, form) for name in serving if name != "observed" for form in FORMS.get(name, [{}])]


def label(name: str, form: dict[str, Any]) -> str:
    """As on the command line."""
    return ",".join([name, *(f"{key}={value}" for key, value in form.items())])


def played(instance: Instance, name: str, form: dict[str, Any], seed: int) -> Record:
    """All waves of one scheduler on one instance."""
    counts: dict[str, dict[str, int]] = {kind: dict.fromkeys(CLASSES, 0) for kind in ("map", "reduce")}
    cost = fetched = best = 0.0
    rounds = idle = number = 0
    finished = True
    began = time.perf_counter()
    for wave in waves(Transmission.name, instance, name, seed, **form):
        placement = wave.run.placement
        assert placement is not None, wave.run.error
        for kind, classes in locality_counts(wave.problem, placement).items():
            for held, times in classes.items():
                counts[kind][held] += times
        if wave.problem.violations(placement):
            finished = False  # starved: what was placed counts, the rest never ran
            break
        cost += float(wave.problem.evaluate(placement)[0])
        if len(maps := TransmissionMaps(wave.snapshot).tasks):
            stage = TransmissionMaps(wave.snapshot)
            fetched += float(stage.evaluate(stage.placement(placement.nodes[maps]))[0])
            optimum = solve(stage)
            assert optimum.optimal
            assert optimum.objective is not None
            best += float(optimum.objective[0])
        rounds += wave.run.rounds or 0
        idle += wave.run.idle_slot_time or 0
        number = wave.index + 1
    return {
        "scheduler": label(name, form),
        "counts": counts,
        "cost": cost,
        "maps": fetched,
        "maps_optimum": best,
        "waves": number,
        "rounds": rounds,
        "idle_slot_time": idle,
        "finished": finished,
        "seconds": time.perf_counter() - began,
    }


def shares(records: Sequence[Record], *kinds: str) -> list[list[float]]:
    """Percent of the tasks of these kinds in each class of locality, a value a record."""
    found = []
    for held in CLASSES:
        of_class = [sum(record["counts"][kind][held] for kind in kinds) for record in records]
        all_ = [sum(sum(record["counts"][kind].values()) for kind in kinds) for record in records]
        found.append([100 * part / whole for part, whole in zip(of_class, all_, strict=True)])
    return found


def batch_table(records: dict[str, list[Record]]) -> str:
    """A row a scheduler of one batch."""
    rows = []
    for name, held in records.items():
        node, _, remote = shares(held, "map", "reduce")
        assert not any(remote)  # one rack
        beyond = [
            100 * (record["maps"] / record["maps_optimum"] - 1) if record["maps_optimum"] else 0 for record in held
        ]
        unfinished = sum(not record["finished"] for record in held)
        rows.append(
            [
                f"`{name}`" + (f" (starved in {unfinished} of {len(held)})" if unfinished else ""),
                spread(node, 2),
                spread(shares(held, "map")[0], 2),
                spread(shares(held, "reduce")[0], 2),
                spread([record["cost"] / 1e3 for record in held], 1),
                spread([record["maps"] / 1e3 for record in held], 1),
                spread([record["maps_optimum"] / 1e3 for record in held], 1),
                spread(beyond, 0),
                spread([record["waves"] for record in held], 1),
                spread([record["idle_slot_time"] for record in held], 0),
            ]
        )
    header = ["scheduler", "node %", "maps", "reduces", "cost", "of maps", "least of maps", "beyond %", "waves", "idle"]
    return table(header, rows)


def paper_table(records: dict[str, dict[str, list[Record]]]) -> str:
    """Table III beside what was measured over all batches."""
    rows = []
    for name, (node, rack) in TABLE_3.items():
        held = [record for batch in records.values() for record in batch[name]]
        measured = shares(held, "map", "reduce")
        rows.append([f"`{name}`", node, spread(measured[0], 2), rack, spread(measured[1], 2), 0, 0])
    header = ["scheduler", "node %, paper", "measured", "rack %, paper", "measured", "remote %, paper", "measured"]
    return table(header, rows)


def main() -> None:
    """Print the tables, or the records behind them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--divide", type=int, default=10, help="tasks and nodes of Table II are divided by this")
    parser.add_argument("--repeats", type=int, default=3, help="instances a batch")
    parser.add_argument("--batch", action="append", type=int, choices=(1, 2, 3), help="only this batch")
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown")
    chosen = parser.parse_args()
    nodes = max(2, round(60 / chosen.divide))
    records: dict[str, dict[str, list[Record]]] = {}
    for batch in chosen.batch or (1, 2, 3):
        held = records.setdefault(BATCHES[batch - 1], {})
        for name, form in schedulers():
            print(BATCHES[batch - 1], label(name, form), file=sys.stderr)
            for seed in range(chosen.repeats):
                instance = generate("shen-table2", seed=seed, batch=batch, divide=chosen.divide, nodes=nodes)
                held.setdefault(label(name, form), []).append(played(instance, name, form, seed))
    if chosen.format == "json":
        print(json.dumps(records, indent=1))
        return
    for name, by_scheduler in records.items():
        print(f"### {name}\n\n{batch_table(by_scheduler)}\n")
    if len(records) == len(BATCHES):
        print(f"### Table III\n\n{paper_table(records)}")


if __name__ == "__main__":
    main()
