"""Guo et al.'s Figure 5 with the frontier: what lsap-fair-sched makes of locality and fairness, and what could be had.

    python benchmarks/fairness_study.py [--repeats 40] [--format markdown|json]

Every placement is judged by the problem `lsap-fairness`, every point of a frontier is proved. `docs/results-guo.md`
quotes the rows that matter. `--format json` gives the value of every instance.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from study_tables import count, mean, table

from optsched.core.placement import Placement
from optsched.heuristics import run
from optsched.instances.generate import generate
from optsched.problems import LsapFairness
from optsched.problems.fair_lsap import RationRuleWarning
from optsched.routes import Frontier, frontier

#: alpha of Figure 5 (the paper's DLC of non-local tasks); 0 leaves locality to chance.
ALPHAS = (0, 1, 10, 20, 50, 100, 200, 400, 1000, 3000, 10000)

#: Readings of GFC, the paper's lost equation (10), and of beta.
FORMS: dict[str, dict[str, Any]] = {
    "ratio": {"gfc": "ratio"},
    "difference": {"gfc": "difference"},
    "difference, beta 300": {"gfc": "difference", "beta": 300},
}

#: Schedulers without a price for fairness, and the paper's straw man.
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "dl-sched (sweep)": ("dl", {}),
    "lsap-sched": ("lsap-sched", {}),
    "rand-sched (1)": ("rand", {}),
    **{
        f"FC = GFC, {gfc}, alpha {alpha}": ("lsap-fair-sched", {"overflow": "naive", "gfc": gfc, "alpha": alpha})
        for gfc in ("ratio", "difference")
        for alpha in (1, 20, 50, 100)
    },
}


@dataclass(frozen=True)
class Setting:
    """One instance: its problem and frontier."""

    seed: int
    problem: LsapFairness
    front: Frontier

    def share(self, off_data: float) -> float:
        """Share of the placed tasks that run on their data."""
        return 1 - off_data / self.problem.count

    def gain(self, distance: Any) -> float:
        """d(0) - d(t)."""
        return float(self.problem.groups.distance() - distance)


@dataclass(frozen=True)
class Outcome:
    """One placement beside the frontier.

    Attributes
    ----------
    local
        Share of the placed tasks that run on their data.
    gain
        d(0) - d(t).
    gain_there
        The most d(0) - d(t) of any placement with no more tasks off their data.
    local_there
        The largest share on their data of any placement that is no farther from the groups' shares.
    on_frontier
        Whether nothing beats it in one without losing in the other.
    """

    local: float
    gain: float
    gain_there: float
    local_there: float
    on_frontier: bool


def setting(seed: int) -> Setting:
    """Guo et al. 2012, section IV.B: 60 one-slot nodes, 30 running and 90 pending tasks of five groups, one replica."""
    problem = LsapFairness(generate("guo-fairness", seed=seed))
    front = frontier(problem)
    assert front.complete
    return Setting(seed, problem, front)


def judged(one: Setting, placement: Placement | None) -> Outcome:
    """A placement beside the frontier of its instance."""
    assert placement is not None
    off_data, distance = one.problem.evaluate(placement)
    least = min(value[1] for value in one.front.values if value[0] <= off_data)
    fewest = min(value[0] for value in one.front.values if value[1] <= distance)
    return Outcome(
        one.share(float(off_data)),
        one.gain(distance),
        one.gain(least),
        one.share(float(fewest)),
        (off_data, distance) in one.front.values,
    )


def scheduled(one: Setting, name: str, **parameters: Any) -> Outcome:
    """What a scheduler makes of an instance."""
    return judged(one, run(one.problem, name, one.seed, **parameters).placement)


def row(label: object, held: Sequence[Outcome]) -> list[object]:
    """A row of the tables: means, and what is given away beside the frontier."""
    return [
        label,
        mean([entry.local for entry in held], 3),
        mean([entry.gain for entry in held], 4),
        mean([entry.gain_there for entry in held], 4),
        mean([entry.gain_there - entry.gain for entry in held], 4),
        mean([100 * (entry.local_there - entry.local) for entry in held], 1),
        count(entry.on_frontier for entry in held),
    ]


HEADER = [
    "local",
    "d(0) - d(t)",
    "most at that locality",
    "fairness given away",
    "locality given away, pp",
    "on the frontier",
]


def ends(settings: Sequence[Setting]) -> str:
    """The frontiers' ends, and how many points lie between."""
    rows = []
    for title, position in (("most local, then fairest", 0), ("fairest, then most local", -1)):
        values = [(one, one.front.values[position]) for one in settings]
        local = mean([one.share(float(value[0])) for one, value in values], 3)
        rows.append([title, local, mean([one.gain(value[1]) for one, value in values], 4)])
    points = [len(one.front) for one in settings]
    told = f"Points of a frontier: {min(points)} to {max(points)}, {mean(points, 1)} in the mean; each with its proof."
    before = mean([float(one.problem.groups.distance()) for one in settings], 4)
    return table(["end of the frontier", "local", "d(0) - d(t)"], rows) + f"\n\nd(0) is {before} in the mean. {told}"


def study(repeats: int) -> tuple[dict[str, Any], str]:
    """All records, and the tables."""
    settings = [setting(seed) for seed in range(repeats)]
    warnings.simplefilter("ignore", RationRuleWarning)  # of the beta by hand, which is here to be seen
    records: dict[str, Any] = {
        "frontiers": [[list(map(float, value)) for value in one.front.values] for one in settings]
    }
    parts = [ends(settings)]
    turns = []
    for form, parameters in FORMS.items():
        found = [[scheduled(one, "lsap-fair-sched", alpha=alpha, **parameters) for one in settings] for alpha in ALPHAS]
        records[form] = {
            str(alpha): [asdict(entry) for entry in held] for alpha, held in zip(ALPHAS, found, strict=True)
        }
        parts += [f"gfc={form}:", table(["alpha", *HEADER], [row(*pair) for pair in zip(ALPHAS, found, strict=True)])]
        curves = list(zip(*found, strict=True))  # one a seed, by alpha
        turns.append(
            [
                form,
                count(any(after.gain > before.gain + 1e-12 for before, after in pairwise(curve)) for curve in curves),
                count(any(after.local < before.local - 1e-12 for before, after in pairwise(curve)) for curve in curves),
            ]
        )
    others = {
        title: [scheduled(one, name, **parameters) for one in settings] for title, (name, parameters) in OTHERS.items()
    }
    records["others"] = {title: [asdict(entry) for entry in held] for title, held in others.items()}
    parts += ["Other schedulers:", table(["scheduler", *HEADER], [row(*pair) for pair in others.items()])]
    header = ["gfc", "instances where fairness rises somewhere with alpha", "where locality falls somewhere"]
    parts += ["Is the staircase monotone?", table(header, turns)]
    return records, "\n\n".join(parts)


def main() -> None:
    """Print the study."""
    parser = argparse.ArgumentParser(description="Guo et al.'s Figure 5 with the frontier of locality and fairness.")
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--format", choices=["markdown", "json"], default="markdown")
    options = parser.parse_args()
    records, text = study(options.repeats)
    if options.format == "json":
        json.dump(records, sys.stdout, indent=1)
    else:
        print(text)


if __name__ == "__main__":
    main()
