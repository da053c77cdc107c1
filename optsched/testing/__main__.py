"""`python -m optsched.testing [PROBLEM ...]`: the contract suite's report, problem by problem.

A line for each problem and check, or with `--table` one Markdown table with a row for each check. `--seeds N` tries the
instances of the seeds 0 to N - 1. The exit code is 4 if something is broken, 2 for wrong usage.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

import click

from optsched.core.errors import ExitCode, UsageError
from optsched.core.registry import Record, record, records
from optsched.testing import CHECKS, SEEDS, ContractBroken


@click.command(help="Check problems against the contract that all of them keep; by default all registered ones.")
@click.argument("problems", nargs=-1, metavar="[PROBLEM]...")
@click.option("--seeds", default=len(SEEDS), show_default=True, type=click.IntRange(1), help="Number of seeds.")
@click.option("--table", is_flag=True, help="One Markdown table: each check, what it says and which problems keep it.")
def report(problems: Sequence[str], seeds: int, table: bool) -> None:
    """Print `ok`, `-` if a check does not apply to the problem, or what is broken."""
    try:
        chosen = [record(name) for name in problems or records()]
    except UsageError as error:
        raise click.UsageError(str(error)) from None
    width = max(map(len, CHECKS))
    rows: dict[str, dict[str, str]] = {}
    for entry in chosen:
        held = rows[entry.name] = {}
        if not table:
            click.echo(entry.name)
        for name, word in _verdicts(entry, range(seeds)):
            held[name] = word
            if not table:
                click.echo(f"  {name:{width}}  {word}")
    broken = [word for held in rows.values() for word in held.values() if word not in ("ok", "-")]
    if table:
        click.echo("| check | what it says | kept by |\n|---|---|---|")
        for name, check in CHECKS.items():
            click.echo(f"| `{name}` | {check.says} | {_kept_by({entry: held[name] for entry, held in rows.items()})} |")
        for word in dict.fromkeys(broken):
            click.echo(word)
    sys.exit(ExitCode.FAILED if broken else ExitCode.DONE)


def _kept_by(words: Mapping[str, str]) -> str:
    """Which problems keep a check, or to which it does not apply: the shorter of the two lists.

    >>> _kept_by({"lsap": "ok", "flow": "ok", "latency": "-"}), _kept_by({"lsap": "ok", "flow": "BROKEN  ..."})
    ('all but latency', '1; BROKEN by flow')
    """
    kept, other, broken = (
        [name for name, word in words.items() if (word if word in ("ok", "-") else "BROKEN") == which]
        for which in ("ok", "-", "BROKEN")
    )
    if broken:
        return f"{len(kept)}; BROKEN by {', '.join(broken)}"
    if not kept:
        return "none"
    if not other:
        return "all" if len(kept) > 1 else kept[0]
    return ", ".join(kept) if len(kept) <= len(other) else f"all but {', '.join(other)}"


def _verdicts(entry: Record, seeds: Sequence[int]) -> Iterator[tuple[str, str]]:
    """The verdict of each check on a problem. Each fault is printed once."""
    shown: set[str] = set()
    for name, check in CHECKS.items():
        try:
            applies = check.applies(entry)
            if applies:
                check.function(entry, seeds)
            yield name, "ok" if applies else "-"
        except ContractBroken as error:
            fault = str(error).removeprefix(f"{entry.name}, {name}: ")
            fault = fault.partition("the problem ")[2] or fault  # on any instance
            yield name, f"BROKEN  {'as above' if fault in shown else error}"
            shown.add(fault)


if __name__ == "__main__":
    report()
