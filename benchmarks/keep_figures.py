"""Measure figures of the papers and keep the results, which `optsched figure --stored` shows.

    python benchmarks/keep_figures.py [ID...] [--paper PAPER] [--effort quick] [--jobs 2] [--into FOLDER]

Without an ID all that are measured. `--time-limit` is for each figure. The results are in
`instances/figures/PAPER.json`. The tests measure the quick ones again, and compare.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from optsched.measuring.reproducing import EFFORTS, figure, figures
from optsched.measuring.reproducing.results import keep


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and keep each figure as it comes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--paper", help="all figures of this paper")
    parser.add_argument("--effort", choices=EFFORTS, default="quick")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--time-limit", type=float, help="seconds for each figure")
    parser.add_argument("--store", help="keep each draw in this file, and go on from it")
    parser.add_argument("--into", metavar="FOLDER", help="another folder for the results")
    options = parser.parse_args(arguments)
    chosen = [figure(name) for name in options.ids] or figures(options.paper)
    for one in chosen:
        if one.measured:
            found = one.reproduce(options.effort, jobs=options.jobs, store=options.store, time_limit=options.time_limit)
            if found.missing():
                raise SystemExit(f"{one.id}: no draw of {', '.join(found.missing())} in the time")
            keep([found], options.into)
            print(f"{one.id}: {found.draws} draws, {found.seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
