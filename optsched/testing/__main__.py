"""`python -m optsched.testing [PROBLEM ...]`: the contract suite's report, a line for each problem and check.

`--seeds N` tries the instances of the seeds 0 to N - 1; exit code 4 where something is broken, 2 for wrong usage.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from optsched.errors import UsageError
from optsched.registry import record, records
from optsched.testing import CHECKS, EXCLUSIONS, SEEDS, ContractBroken


@click.command(help="Hold problems against the contract that all of them keep; by default all that are registered.")
@click.argument("problems", nargs=-1, metavar="[PROBLEM]...")
@click.option("--seeds", default=len(SEEDS), show_default=True, type=click.IntRange(1), help="Number of seeds.")
def report(problems: Sequence[str], seeds: int) -> None:
    """Print `ok`, `-` where a check is not about the problem, or what is broken, once; then what is excluded."""
    try:
        chosen = [record(name) for name in problems or records()]
    except UsageError as error:
        raise click.UsageError(str(error)) from None
    width = max(map(len, CHECKS))
    broken = 0
    for entry in chosen:
        click.echo(entry.name)
        told: set[str] = set()
        for name, check in CHECKS.items():
            try:
                said = "ok" if check.applies(entry) else "-"
                if said == "ok":
                    check.function(entry, range(seeds))
            except ContractBroken as error:
                fault = str(error).removeprefix(f"{entry.name}, {name}: ")
                said, broken = f"BROKEN  {'as above' if fault in told else error}", broken + 1
                told.add(fault)
            click.echo(f"  {name:{width}}  {said}")
        for left in EXCLUSIONS:
            if left.problem == entry.name:
                narrowed = [f"{key}={value}" for key, value in (left.parameters or {}).items()]
                narrowed += [f"route {left.route}"] if left.route else []
                click.echo(f"  excluded: {left.check} of {', '.join(narrowed) or 'all'}: {left.reason}")
    sys.exit(4 if broken else 0)


if __name__ == "__main__":
    report()
