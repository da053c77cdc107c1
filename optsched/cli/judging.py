"""`optsched claims`: what the papers claim, the verdict on each, and judging one again."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from optsched.cli import arguments
from optsched.core.errors import ExitCode, UsageError, printable

if TYPE_CHECKING:
    from optsched.measuring.judging import Claim, Judgement
    from optsched.measuring.printing import Table

#: The head of the page that is printed from the records.
_HEAD = """# Claims of the papers

What the papers claim, and whether it holds: {count} claims, {judged} of them judged by a program. `optsched claims ID`
gives the reason and the evidence of one, `optsched claims ID --judge` judges it again.
{in_full}
"""

#: Characters of a line of that page.
_WIDTH = 120


@click.command()
@click.argument("words", nargs=-1, metavar="[ID | WORD...]")
@click.option("--paper", metavar="PAPER", help="Only claims of this paper, such as guo-2012.")
@click.option("--verdict", metavar="VERDICT", help="Only those: holds, fails, depends, ceiling or not-judged.")
@click.option("--judge", is_flag=True, help="Judge the claim ID again; exits with 4 if its verdict no longer holds.")
@click.option("--effort", type=click.Choice(["quick", "full"]), help="Seconds (the default), or all of its draws.")
@click.option("--seeds", type=click.IntRange(1), metavar="N", help="Draws of each family, at any effort.")
@click.option("--time-limit", type=arguments.Seconds(min_open=True), metavar="S", help="Seconds to judge a claim in.")
@click.option(
    "--keep",
    type=arguments.FILE,
    help="Judge all claims that are selected in full, and keep each judgement in FILE. Goes on where it stopped.",
)
@arguments.format_option("table", "markdown", "json")
@click.pass_context
def claims(
    ctx: click.Context,
    words: Sequence[str],
    paper: str | None,
    verdict: str | None,
    judge: bool,
    effort: str | None,
    seeds: int | None,
    time_limit: float | None,
    keep: str | None,
    form: str,
) -> None:
    """List the papers' claims with their verdicts, show one with the reason, or judge it again.

    An ID has a slash (guo-2012/3.3-more-idle). Words select the claims in which all of them occur.
    """
    from optsched.measuring.judging import claim
    from optsched.measuring.judging import claims as find

    named = [word for word in words if "/" in word]
    if named and (len(words) > 1 or paper or verdict):
        raise UsageError(f'"{named[0]}" is the id of one claim: give it alone, or select by other words')
    if judge and not named and keep is None:
        raise UsageError("--judge takes the id of one claim; with --effort full --keep FILE it takes all that fit")
    if not judge and (effort or seeds or time_limit or keep):
        raise UsageError("--effort, --seeds, --time-limit and --keep are for --judge")
    if keep is not None:
        if effort != "full" or form != "table":
            raise UsageError("--keep is for --effort full, and writes JSON itself")
        ctx.exit(_keep([claim(named[0])] if named else find(paper, verdict, words), seeds, time_limit, Path(keep)))
    if not named:
        _list(find(paper, verdict, words), form)
        return
    one = claim(named[0])
    done = one.judge(effort or "quick", seeds, time_limit) if judge else None
    if form == "json":
        arguments.emit_json(one.record() | ({} if done is None else {"judgement": done.record()}))
    else:
        _show(_described(one) if done is None else _judged(one, done))
    ctx.exit(ExitCode.DONE if done is None or done.holds else ExitCode.FAILED)


def _keep(claims: Sequence[Claim], seeds: int | None, time_limit: float | None, file: Path) -> ExitCode:
    """Judge claims in full and keep the judgements; what the command exits with."""
    from optsched.core.brief import counted
    from optsched.measuring.judging import judged_in_full
    from optsched.measuring.printing import progress

    having = [one for one in claims if one.checks]
    if not having:
        raise UsageError("no claim with a check fits; optsched claims lists all claims")
    code = ExitCode.DONE
    with progress(sys.stderr, len(having)) as step:
        for one, kept in judged_in_full(having, seeds, time_limit, file):
            step(one.id)
            if kept is None:
                arguments.note(f"{one.id}: no draw was measured within the time limit; give more seconds")
                code = code or ExitCode.NO_SOLUTION
            elif not kept.holds:
                arguments.emit(f"{one.id}: {one.verdict}, but judged now: {kept.verdict}\n")
                code = ExitCode.FAILED
    arguments.note(f"{counted(len(having), 'claim')} judged in full; see {file}")
    return code


def _list(claims: Sequence[Claim], form: str) -> None:
    from optsched.measuring.printing import folded, page_width

    if form == "json":
        arguments.emit_json([one.record() for one in claims])
        return
    if not claims:
        raise UsageError("no claim fits; optsched claims lists all, with the words that occur in them")
    if form == "markdown":
        arguments.emit("".join(_page(claims)))
        return
    for one in claims:
        arguments.emit(folded(printable(f"{one.id} ({one.verdict}): {one.claim}"), page_width(), "  "))
    arguments.emit("\n")
    arguments.emit_table(_counted(claims))


def _counted(claims: Sequence[Claim]) -> Table:
    """How many claims of each paper have each verdict."""
    from optsched.measuring.judging import VERDICTS
    from optsched.measuring.printing import Table, counts

    each = Counter((one.paper, one.verdict) for one in claims)
    papers = list(dict.fromkeys(one.paper for one in claims))
    numbers = {paper: [each[paper, verdict] for verdict in VERDICTS] for paper in papers}
    if len(papers) > 1:
        numbers["all"] = [sum(column) for column in zip(*numbers.values(), strict=True)]
    rows = [[paper, *counts(*row, sum(row))] for paper, row in numbers.items()]
    return Table(("paper", *VERDICTS, "claims"), rows)


def _page(claims: Sequence[Claim]) -> Iterator[str]:
    """The page of the documentation: the claims of each paper by verdict."""
    from optsched.measuring.judging import VERDICTS
    from optsched.measuring.printing import escaped, folded, render

    judged = sum(bool(one.checks) for one in claims)
    yield _HEAD.format(count=len(claims), judged=judged, in_full=_all_in_full(claims)) + "\n"
    yield render(_counted(claims), form="markdown") + "\n"
    yield "".join(f"- *{name}*: {meaning}.\n" for name, meaning in VERDICTS.items())
    for paper in dict.fromkeys(one.paper for one in claims):
        own = [one for one in claims if one.paper == paper]
        yield f"\n## {paper}: `{own[0].id.partition('/')[0]}/...`\n"
        for verdict in VERDICTS:
            alike = [one for one in own if one.verdict == verdict]
            yield f"\n*{verdict}*\n\n" if alike else ""
            for one in alike:
                claim = f"({one.place}) {one.claim}"
                yield folded(f"- `{one.id.partition('/')[2]}` {escaped(claim, 'markdown')}", _WIDTH, "  ")


def _all_in_full(claims: Sequence[Claim]) -> str:
    """When claims were last judged in full, and how many verdicts held."""
    having = [one for one in claims if one.checks]
    days = sorted({each.date for one in having for each in one.in_full})
    when = f" ({' to '.join(dict.fromkeys((days[0], days[-1])))})" if days else ""
    held = sum(bool(one.in_full) and all(found.kept for found in one.in_full) for one in having)
    return f"The last full judgements{when} confirm {held} of {len(having)} verdicts."


def _described(one: Claim) -> Iterator[tuple[str, str]]:
    from optsched.measuring.judging import WAYS

    yield "", f"{one.id} ({one.paper}, {one.place}): {one.verdict}"
    yield "claim", one.claim
    yield "why", one.why
    yield "judged", f"{WAYS[one.way]}; by {one.judged_by}" + (f"; region: {one.region}" if one.region else "")
    if one.evidence:
        yield "see", ", ".join(one.evidence)
    if one.checks:
        yield "in full", _in_full(one)
        yield "again", f"optsched claims {one.id} --judge"


def _in_full(one: Claim) -> str:
    """When the claim was last judged in full, and what that came to."""
    if not one.in_full:
        return "not judged in full with its present checks"
    last = max(one.in_full, key=lambda found: found.date)
    draws = max(found.draws for found in one.in_full)
    over = f" over {draws} draws" if draws > 1 else ""
    changed = [f"{found.check.says} came out otherwise" for found in one.in_full if not found.kept]
    came = "; ".join(changed) or "as recorded"
    return f"judged on {last.date} with {last.version}{over}: {came}"


def _judged(one: Claim, done: Judgement) -> Iterator[tuple[str, str]]:
    yield "", f"{one.id}: {one.verdict}, " + ("as recorded" if done.holds else f"but judged now: {done.verdict}")
    for finding in done.findings:
        yield "found" if finding.kept else "CHANGED", str(finding)


def _show(lines: Iterator[tuple[str, str]]) -> None:
    from optsched.measuring.printing import folded, page_width

    for name, text in lines:
        arguments.emit(folded(printable(f"{name}: {text}" if name else text), page_width(), "  "))
