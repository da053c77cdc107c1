"""`optsched claims` and `figure`: what the papers claim, with the verdict on each, and their figures measured again."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from optsched.cli import arguments
from optsched.cli.arguments import Argument, Option
from optsched.cli.output import picturing, progress, replacing
from optsched.core.brief import counted
from optsched.core.errors import ExitCode, OutOfTime, UsageError, printable
from optsched.measuring.printing import Table, counts, escaped, folded, on_page, page_width, render, to_csv

if TYPE_CHECKING:
    from optsched.measuring.judging import Claim, Judgement
    from optsched.measuring.reproducing import PaperFigure
    from optsched.measuring.reproducing.results import Reproduction

Words = Annotated[tuple[str, ...], Argument(metavar="[ID | WORD...]")]

#: The heading of the page that is printed from the records.
_HEAD = """# Claims of the papers

What the papers claim, and whether it holds: {count} claims, {judged} of them judged by a program. `optsched claims ID`
gives the reason and the evidence of one, `optsched claims ID --judge` judges it again.
{in_full}
"""

#: Characters of a line of that page.
_WIDTH = 120


@arguments.command
def claims(
    *,
    words: Words = (),
    paper: Annotated[str | None, Option("Only claims of this paper, such as guo-2012.", metavar="PAPER")] = None,
    verdict: Annotated[
        str | None, Option("Only those: holds, fails, depends, ceiling or not-judged.", metavar="VERDICT")
    ] = None,
    judge: Annotated[bool, Option("Judge the claim ID again; exits with 4 if its verdict no longer holds.")] = False,
    effort: Annotated[
        str | None, Option("Seconds (the default), or all of its draws.", choices=("quick", "full"))
    ] = None,
    seeds: Annotated[int | None, Option("Draws of each family, at any effort.", least=1, metavar="N")] = None,
    time_limit: Annotated[
        float | None, Option("Seconds to judge a claim in.", kind=arguments.Seconds(min_open=True), metavar="S")
    ] = None,
    keep: Annotated[
        str | None,
        Option(
            "Judge all claims that are selected in full, and keep each judgement in FILE. Goes on where it stopped.",
            kind=arguments.FILE,
        ),
    ] = None,
    out: Annotated[arguments.Out, arguments.formats("table", "markdown", "json")],
) -> ExitCode:
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
        if effort != "full" or out.form != "table":
            raise UsageError("--keep is for --effort full, and writes JSON itself")
        return _keep([claim(named[0])] if named else find(paper, verdict, words), seeds, time_limit, Path(keep))
    if not named:
        _list_claims(find(paper, verdict, words), out)
        return ExitCode.DONE
    one = claim(named[0])
    done = one.judge(effort or "quick", seeds, time_limit) if judge else None
    if out.form == "json":
        out.json(one.record() | ({} if done is None else {"judgement": done.record()}))
    else:
        said = _described(one) if done is None else _judged(one, done)
        out.lines(f"{name}: {text}" if name else text for name, text in said)
    return ExitCode.DONE if done is None or done.holds else ExitCode.FAILED


def _keep(claims: Sequence[Claim], seeds: int | None, time_limit: float | None, file: Path) -> ExitCode:
    """Judge claims in full and store the judgements; returns the exit code."""
    from optsched.measuring.judging import judged_in_full

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
                arguments.STDOUT.text(f"{one.id}: {one.verdict}, but judged now: {kept.verdict}\n")
                code = ExitCode.FAILED
    arguments.note(f"{counted(len(having), 'claim')} judged in full; see {file}")
    return code


def _list_claims(claims: Sequence[Claim], out: arguments.Out) -> None:
    if out.form == "json":
        out.json([one.record() for one in claims])
        return
    if not claims:
        raise UsageError("no claim fits; optsched claims lists all, with the words that occur in them")
    if out.form == "markdown":
        out.text("".join(_claims_page(claims)))
        return
    out.lines(f"{one.id} ({one.verdict}): {one.claim}" for one in claims)
    out.text("\n")
    out.table(_counted(claims))


def _counted(claims: Sequence[Claim]) -> Table:
    """The number of claims of each paper with each verdict."""
    from optsched.measuring.judging import VERDICTS

    each = Counter((one.paper, one.verdict) for one in claims)
    papers = list(dict.fromkeys(one.paper for one in claims))
    numbers = {paper: [each[paper, verdict] for verdict in VERDICTS] for paper in papers}
    if len(papers) > 1:
        numbers["all"] = [sum(column) for column in zip(*numbers.values(), strict=True)]
    rows = [[paper, *counts(*row, sum(row))] for paper, row in numbers.items()]
    return Table(("paper", *VERDICTS, "claims"), rows)


def _claims_page(claims: Sequence[Claim]) -> Iterator[str]:
    """The page of the documentation: the claims of each paper by verdict."""
    from optsched.measuring.judging import VERDICTS

    having = [one for one in claims if one.checks]
    days = sorted({each.date for one in having for each in one.in_full})
    when = f" ({' to '.join(dict.fromkeys((days[0], days[-1])))})" if days else ""
    held = sum(bool(one.in_full) and all(found.kept for found in one.in_full) for one in having)
    in_full = f"The last full judgements{when} confirm {held} of {len(having)} verdicts."
    yield _HEAD.format(count=len(claims), judged=len(having), in_full=in_full) + "\n"
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
    """When the claim was last judged in full, and the result."""
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


# Figures -----------------------------------------------------------------------------------------------------------

#: Seconds between tables of the results so far.
_BETWEEN_TABLES = 10


@arguments.command
def figure(
    *,
    words: Words = (),
    paper: Annotated[str | None, Option("List only figures of this paper, such as guo-2012.", metavar="PAPER")] = None,
    effort: Annotated[str, Option("Seconds, or what the paper has.", choices=("quick", "full"), shown=False)] = "quick",
    stored: Annotated[bool, Option("Show what is kept of the project's own measurement.")] = False,
    seeds: Annotated[int | None, Option("Draws of each point, at any effort.", least=1, metavar="N")] = None,
    jobs: Annotated[int, Option("Processes that work at once.", least=1, metavar="N", shown=False)] = 1,
    store: Annotated[str | None, Option("Keep each draw in this file (SQLite), and go on from it.")] = None,
    time_limit: Annotated[
        float | None, Option("Seconds to measure in.", kind=arguments.Seconds(min_open=True), metavar="S")
    ] = None,
    plot: Annotated[
        str | None,
        Option(
            "Draw it, too: .svg, .png or .pdf (needs matplotlib), or .pgf for LaTeX's pgfplots.",
            kind=arguments.Picture(".pgf"),
        ),
    ] = None,
    out: Annotated[arguments.Out, arguments.formats("table", "markdown", "latex", "csv", "json", file=True)],
) -> None:
    """Measure a figure or a table of a paper again, with the optimum in it, or list the figures.

    An ID has a slash (guo-2012/4a). Words select the figures in which all of them occur. Each number is the mean over
    draws, with its 95 % interval; csv and json also have the median and both ends. While it is measured, the numbers so
    far come to stderr. With a time limit, a table may lack points; the exit code is then 5.
    """
    from optsched.measuring.reproducing import figure as find
    from optsched.measuring.reproducing import figures

    named = [word for word in words if "/" in word]
    if named and (len(words) > 1 or paper):
        raise UsageError(f'"{named[0]}" is the id of one figure: give it alone, or select by other words')
    if not named:
        if plot or stored or seeds or store or time_limit:
            raise UsageError("these options take the id of one figure; optsched figure lists them")
        _list_figures(figures(paper, words), out)
        return
    if stored and (seeds or store or time_limit or jobs > 1):
        raise UsageError("--stored shows what is kept: --seeds, --jobs, --store and --time-limit do not apply to it")
    source = plot if plot and plot.lower().endswith(".pgf") else None
    with picturing(None if source else plot) as draw, nullcontext() if source is None else replacing(source) as text:
        found = find(named[0])
        shown = found.stored(effort) if stored else _measured(found, effort, seeds, jobs, store, time_limit)
        draw("reproduced_picture", shown)
        if text is not None:
            from optsched.showing import reproduced_pgf

            text.write(reproduced_pgf(shown).encode())
        if out.form == "json":
            out.json(shown.record())
        elif out.form == "csv":
            out.text(to_csv(shown.rows()))
        elif out.form == "table":
            out.text(_figure_page(shown))
        else:
            out.table(shown.table(), remarks=[shown.caption()])
    if not stored and (missing := shown.missing()):
        raise OutOfTime(
            f"{counted(len(missing), 'point')} without a draw: give more seconds, or go on with --store FILE"
        )


def _measured(
    figure: PaperFigure, effort: str, seeds: int | None, jobs: int, store: str | None, time_limit: float | None
) -> Reproduction:
    with progress(sys.stderr, (seeds or figure.draws_of(effort)) * len(figure.points(effort))) as step:
        last = time.monotonic()

        def so_far(shown: Reproduction) -> None:
            nonlocal last
            if time.monotonic() - last >= _BETWEEN_TABLES:
                last = time.monotonic()
                with step.aside():
                    print(f"{_figure_page(shown)}\n", file=sys.stderr)

        return figure.reproduce(
            effort, seeds=seeds, jobs=jobs, store=store, time_limit=time_limit, notify=step, partial=so_far
        )


def _figure_page(shown: Reproduction) -> str:
    width = page_width()
    return on_page(shown.table(), width) + "\n" + folded(printable(shown.caption()), width)


def _list_figures(figures: Sequence[PaperFigure], out: arguments.Out) -> None:
    if not figures:
        raise UsageError("no figure fits; optsched figure lists all, with the words that occur in them")
    if out.form == "json":
        out.json([one.record() for one in figures])
    elif out.form == "table":
        lines = (f"{one.id}: {one.title}" + (f" ({_instead(one)})" if _instead(one) else "") for one in figures)
        out.lines(lines)
    else:
        rows = [[one.id, one.place, one.title, _instead(one)] for one in figures]
        out.table(Table(("figure", "place", "shows", "instead"), rows))


def _instead(one: PaperFigure) -> str:
    """What shows a figure that cannot be measured, or why nothing does."""
    return one.shown_by or one.left_out
