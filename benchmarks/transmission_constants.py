"""What the tuned constants of the search of `transmission` trade, in counts: one table a constant.

    python benchmarks/transmission_constants.py [--large] [--instances N] [NAME ...]

Each constant takes a few values, its own among them, while the others stay as they are. The instances are generated
from seeds, so the counts are the same on every machine, and no time is measured. The comment at each constant names
counts of this program. With `--large` the instances are too large to be proved, and few states are expanded: the last
column then says what a constant means at a limit.
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any, NamedTuple
from unittest import mock

from study_tables import table

from optsched.core.instance import Ints
from optsched.instances.generate import generate
from optsched.problems import Transmission
from optsched.problems import transmission_bounds as bounds
from optsched.solvers.profiles import Profile
from optsched.solvers.searches import transmission as search

#: Maps, reduces and nodes, and what differs from the family's defaults; each with each and with every seed.
SIZES = ((12, 3, 10), (12, 4, 12), (8, 6, 8), (16, 4, 16))
LARGE_SIZES = ((24, 4, 24), (50, 5, 40))
VARIATIONS: tuple[dict[str, Any], ...] = ({}, {"spread": 10}, {"slots": 1})
SEEDS = range(2)

#: States after which a search ends without a proof, and the same for large instances.
MOST_STATES, MOST_OF_LARGE = 300, 10

#: The constants: where they are, and their values.
CONSTANTS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "_FIRST_ROUNDS": (search, (0, 10, 20, 40, 80)),
    "_ROUNDS": (search, ({1: 0, 2: 0}, {1: 3, 2: 4}, {1: 6, 2: 8}, {1: 12, 2: 16}, {1: 24, 2: 32})),
    "_MANY_ROUNDS": (search, (0, 6, 12, 24)),
    "_SHORTER": (search, (0.3, 0.5, 0.7, 0.85, 1.0)),
    "_MOST_WAITING": (search, (0, 10, 100, 100_000)),
    "_PAIRED": (bounds, (-1, 2**20, 2**24, 2**28)),
    "_PARTS": (bounds, (1, 8, 64, 512)),
}


class Counted(bounds.ReduceBounds):
    """Bounds that count how often they are asked for: of a state, and of a choice with each node of a pair's other."""

    asked = 0
    tried = 0

    def children(self, *given: Any, **named: Any) -> Ints:
        """As `ReduceBounds` has it."""
        self.asked += 1
        return super().children(*given, **named)

    def _together(self, fixed: Ints, group: list[int], costs: Ints, choices: Ints) -> Ints:
        self.tried += len(choices)
        return super()._together(fixed, group, costs, choices)


class Counts(NamedTuple):
    """What searches took together."""

    proved: int
    states: int
    asked: int
    tried: int
    apart: int

    def __add__(self, other: Any) -> Counts:
        """Entry by entry."""
        return Counts(*(mine + its for mine, its in zip(self, other, strict=True)))


def problems(sizes: tuple[tuple[int, int, int], ...]) -> list[Transmission]:
    """The instances, posed."""
    return [
        Transmission(generate("transmission", seed=seed, tasks=maps, reduces=reduces, nodes=nodes, **options))
        for (maps, reduces, nodes), options, seed in itertools.product(sizes, VARIATIONS, SEEDS)
    ]


def counted(problem: Transmission, most: int) -> Counts:
    """What one search takes, of at most so many states."""
    with mock.patch.object(search, "ReduceBounds", Counted):
        looked = search.TransmissionSearch(problem, Profile("exact", node_limit=most))
    found = looked.run()
    assert isinstance(looked.bounds, Counted)
    return Counts(
        int(found.limit is None),
        found.states,
        looked.bounds.asked,
        looked.bounds.tried,
        looked.best.value - found.bound,
    )


def total(given: list[Transmission], most: int) -> Counts:
    """What the searches of all instances take together."""
    return sum((counted(problem, most) for problem in given), Counts(0, 0, 0, 0, 0))


def rows(name: str, given: list[Transmission], most: int, in_use: Counts) -> list[list[object]]:
    """One row a value of a constant."""
    module, values = CONSTANTS[name]
    own, found = getattr(module, name), []
    for value in values:
        if value == own:
            text, counts = f"{value} (in use)", in_use
        else:
            with mock.patch.object(module, name, value):
                text, counts = str(value), total(given, most)
        found.append([text, *(f"{count:,}" for count in counts)])
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[[], *CONSTANTS], metavar="NAME")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--instances", type=int, metavar="N", help="only the first ones")
    parsed = parser.parse_args()
    names = parsed.names or list(CONSTANTS)
    given = problems(LARGE_SIZES if parsed.large else SIZES)[: parsed.instances]
    most = MOST_OF_LARGE if parsed.large else MOST_STATES
    head = ["value", "proved", "states", "bounds", "choices in pairs", "value less bound"]
    print(f"{len(given)} instances, at most {most} states each.", flush=True)
    in_use = total(given, most)
    for name in names:
        print(f"\n`{name}`\n\n" + table(head, rows(name, given, most, in_use), 1), flush=True)


if __name__ == "__main__":
    main()
