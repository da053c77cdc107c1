"""The papers' experiments run over time: their figures beside ours.

    python benchmarks/paper_runs.py [shen] [--divide 1] [--seeds 10]
                                    [--hop 0.004] [--format markdown|json]

`shen`: the batches of Table II of Shen et al. 2016 under the paper's schedulers: Figures 4 to 7 and Table III.

`--hop` is how many seconds a MB takes over one of the two hops between nodes. `--divide` makes it smaller. It is run
with `--seeds` seeds, which draw instances and runs; a figure is the mean over them, ± half its 95 % interval.
`docs/results-runs.md` quotes the rows that matter; what the papers' own figures allow is in `paper_ceilings.py`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

from rerunning.base import Table
from rerunning.shen import HOP, shen

__all__ = ["PARTS", "main"]

#: The papers, by name, and how each is called in the titles.
PARTS: dict[str, tuple[str, Callable[..., Iterator[Table]]]] = {
    "shen": ("Shen et al. 2016", shen),
}


def _number(text: str) -> int:
    """A whole number from 1 on."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, or the records behind them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("papers", nargs="*", metavar="paper", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--divide", type=_number, default=1, help="tasks, inputs and nodes divided by this")
    parser.add_argument("--seeds", type=_number, default=10, help="how many seeds, from 0 on, of instances and runs")
    parser.add_argument("--hop", type=float, default=HOP, help="seconds that a MB takes over a hop in shen")
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.papers if name not in PARTS]:
        parser.error(f"no paper is called {unknown[0]}; known: {', '.join(PARTS)}")
    records: dict[str, list[dict[str, object]]] = {}
    for name in options.papers or PARTS:
        title, part = PARTS[name]
        if options.format == "markdown":
            print(f"## {title}\n")
        for table in part(divide=options.divide, seeds=options.seeds, hop=options.hop):
            records.setdefault(name, []).append(asdict(table))
            if options.format == "markdown":
                print(table, flush=True)
    if options.format == "json":
        print(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
