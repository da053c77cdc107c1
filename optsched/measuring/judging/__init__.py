"""The papers' claims: one record each, with a verdict, the reason, and how to judge it again.

The records are data: `instances/claims/PAPER.toml`, with the last full judgements in `judged.json`. Installed packages
add the claims of further papers by entry points of the group `optsched.claims`. `judges` judges a claim.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import msgspec

from optsched.core.errors import OutOfTime, UsageError, expect, nearest, unknown_id
from optsched.core.outside import Listed
from optsched.core.resources import code_version, folder
from optsched.measuring.judging.findings import (
    Check,
    Finding,
    Judgement,
    digest,
    fields_of,
    in_full,
    kept_in,
    write_lines,
)

__all__ = [
    "GROUP",
    "PAPERS",
    "VERDICTS",
    "WAYS",
    "Check",
    "Claim",
    "Finding",
    "Judgement",
    "Paper",
    "claim",
    "claims",
    "judged_in_full",
]

#: Entry points of this group are papers with their claims.
GROUP = "optsched.claims"

#: The shipped papers, in listed order. Only the last has no figures.
SHIPPED = ("shen-2016", "sharmilarani", "hsu-freeh", "guo-2012", "agosta", "fischer-2010")

Record = TypeVar("Record", bound=Any)

#: The meaning of each verdict.
VERDICTS: Mapping[str, str] = {
    "holds": "proved, or true wherever it was tried in its region; of a definition: numbers or schedulers follow it",
    "fails": "there is a counterexample",
    "depends": "true for some readings or some of the region; the reason says which",
    "ceiling": "the paper's own figures bound what is possible; the reason says whether the claim is within the bound",
    "not-judged": "no snapshot, run or arithmetic can judge it; the reason says why",
}

#: How a claim is judged.
WAYS: Mapping[str, str] = {
    "proof": "by an argument on paper",
    "enumeration": "by trying every case of small instances",
    "instances": "on instances made to show it",
    "sweep": "on drawn instances",
    "runs": "in runs over time",
    "arithmetic": "by arithmetic on the paper's own figures",
    "reading": "by reading the paper",
}


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A claim of a paper and its verdict.

    Attributes
    ----------
    id
        `PAPER/PLACE-TOPIC`, such as `guo-2012/3.3-more-idle`.
    paper
        The paper's authors and year.
    place
        Its place in the paper.
    claim
        Its statement, in our words.
    verdict
        One of `VERDICTS`.
    why
        The reason, in a sentence or two.
    way
        How it is judged, one of `WAYS`.
    region
        The instances and parameters that it is about; empty: all.
    evidence
        Instances of the library, pages, tests and commands that show it.
    checks
        What `judge` runs. Without any, the verdict rests on the evidence, or on a review.
    """

    id: str
    paper: str
    place: str
    claim: str
    verdict: str
    why: str
    way: str
    region: str = ""
    evidence: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()

    @property
    def judged_by(self) -> str:
        """`judge` if a judge runs, `evidence` if something in the project shows it, else `review`."""
        return "judge" if self.checks else "evidence" if self.evidence else "review"

    def judge(self, effort: str = "quick", seeds: int | None = None, time_limit: float | None = None) -> Judgement:
        """Judge the claim again.

        Parameters
        ----------
        effort
            `quick` (seconds) or `full` (as many draws as the record says).
        seeds
            This number of draws of each family, at any effort.
        time_limit
            Seconds; draws that do not fit are left out.

        Returns
        -------
        Judgement
            What each check found, and whether the verdict still holds.

        Raises
        ------
        UsageError
            For an unknown effort, or a claim without checks.
        OutOfTime
            If the time limit ends before a check has one draw.
        """
        if not self.checks:
            raise UsageError(f"{self.id}: no judge runs for this claim; its verdict is by {self.judged_by}")
        from optsched.measuring.judging.judges import judge_checks  # listing claims does not need it

        return judge_checks(self.checks, self.verdict, effort, seeds, time_limit)

    @property
    def in_full(self) -> tuple[Finding, ...]:
        """The shipped record of the last full judgement of each check; nothing unless all of them were judged."""
        return in_full(self.checks)

    def record(self) -> dict[str, Any]:
        """Everything about the claim, in JSON's types."""
        content: dict[str, Any] = msgspec.to_builtins(self)
        in_full = [{**msgspec.to_builtins(found), "check": found.check.says} for found in self.in_full]
        return {**content, "judged_by": self.judged_by, "in_full": in_full}


@dataclass(frozen=True)
class Paper:
    """A paper with its claims; `name` begins the ids of all of them."""

    name: str
    title: str
    claims: tuple[Claim, ...]


def read(kind: str, paper: str) -> dict[str, dict[str, Any]]:
    """The fields of a shipped paper's `claims` or `figures` by the name of each, with its id and its paper."""
    content = tomllib.loads((folder("instances") / kind / f"{paper}.toml").read_text(encoding="utf-8"))
    own = {"paper": content["paper"]}
    return {name: {**own, "id": f"{paper}/{name}", **fields} for name, fields in content[kind].items()}


@cache
def _read(name: str) -> Paper:
    """A shipped paper. A claim with `judged_as` has the checks of that other claim of its file.

    Reasons quote the kept numbers: `{0.labl[1]:.1f}` is the number of `labl` on the second instance of the first check.
    """
    records = read("claims", name)
    found = list[Claim]()
    for fields in records.values():
        as_another = fields.pop("judged_as", None)
        one = msgspec.convert({**fields, "checks": records[as_another]["checks"]} if as_another else fields, Claim)
        if kept := one.in_full:
            quoted = [SimpleNamespace(**each.numbers, draws=each.draws, difference=each.differences) for each in kept]
            one = msgspec.structs.replace(one, why=one.why.format(*quoted))
        found.append(one)
    return Paper(name, found[0].paper, tuple(found))


def _fault(paper: Paper) -> str | None:
    """The fault of a paper of another package, if it has one."""
    for one in paper.claims:
        if not isinstance(one, Claim) or not one.id.startswith(f"{paper.name}/"):
            return f"it holds {one!r}, which is no claim whose id begins with {paper.name}/"
        if one.verdict not in VERDICTS or one.way not in WAYS:
            return f"the claim {one.id} has the verdict {one.verdict!r} and the way {one.way!r}; see VERDICTS and WAYS"
    return None


#: Every paper by its name.
PAPERS: Mapping[str, Paper] = Listed(GROUP, Paper, SHIPPED, _read, _fault)


def selected(
    papers: Mapping[str, Sequence[Record]], paper: str | None, words: Iterable[str], fields: Sequence[str]
) -> tuple[Record, ...]:
    """The records of one paper or of all, in whose fields each of these words occurs."""
    expect(paper, (str, type(None)), "a paper has a name, a text", "such as guo-2012")
    expect(words, Iterable, "words are texts", "a text or a list of them")
    if paper is not None and paper not in papers:
        raise UsageError(f'no paper "{paper}"; {nearest(paper, list(papers))}')
    wanted = [str(word).casefold() for word in ([words] if isinstance(words, str) else words)]

    def fits(one: Record) -> bool:
        text = " ".join(str(getattr(one, field)) for field in fields).casefold()
        return all(word in text for word in wanted)

    return tuple(one for name in ([paper] if paper else papers) for one in papers[name] if fits(one))


def named(kind: str, name: str, records: Iterable[Record], command: str) -> Record:
    """The record of an id; UsageError with the nearest ids if there is none."""
    expect(name, str, f"a {kind} has an id, a text", f"{command} lists them")
    known = {one.id: one for one in records}
    if name not in known:
        raise unknown_id(kind, name, list(known), command)
    return known[name]


def claims(paper: str | None = None, verdict: str | None = None, words: Iterable[str] = ()) -> tuple[Claim, ...]:
    """The claims of the papers, each with its verdict.

    Parameters
    ----------
    paper
        Only those of one paper, by its name, such as `guo-2012`.
    verdict
        Only those with this verdict.
    words
        Only those in whose text each of these words occurs.

    Returns
    -------
    tuple of Claim
        In the order of the papers and of their sections.

    Raises
    ------
    UsageError
        For an unknown paper or verdict, with the nearest one.

    Examples
    --------
    >>> claims("guo-2012", "fails", ["idle slots"])[0].id
    'guo-2012/3.3-more-idle'
    """
    expect(verdict, (str, type(None)), "a verdict is a text", f"one of {', '.join(VERDICTS)}")
    if verdict is not None and verdict not in VERDICTS:
        raise UsageError(f'no verdict "{verdict}"; {nearest(verdict, list(VERDICTS))}')
    texts = ("id", "paper", "place", "claim", "why", "region", "evidence")
    found = selected({name: each.claims for name, each in PAPERS.items()}, paper, words, texts)
    return tuple(one for one in found if verdict in (None, one.verdict))


def claim(name: str) -> Claim:
    """The claim of an id.

    Raises
    ------
    UsageError
        If there is none; names the nearest ids.

    Examples
    --------
    >>> claim("agosta/3.4-theorem-1").verdict
    'fails'
    """
    return named("claim", name, claims(), "optsched claims")


def judged_in_full(
    found: Iterable[Claim], seeds: int | None = None, time_limit: float | None = None, file: Path | None = None
) -> Iterator[tuple[Claim, Judgement | None]]:
    """Judge claims in full, one check after the other, and keep each finding at once.

    Parameters
    ----------
    found
        Those without checks are skipped.
    seeds, time_limit
        Seeds and seconds of each check, as for `Claim.judge`.
    file
        Where findings are kept. Checks that this version has judged there are not judged again, whatever their claim.
        Checks that no claim uses any more are dropped.

    Yields
    ------
    tuple
        Each claim and its judgement; None if the time limit ended before a check had one draw.
    """
    from optsched.measuring.judging.judges import judge_checks  # listing claims does not need it

    having = [one for one in found if one.checks]
    today = {digest(check) for one in (*claims(), *having) for check in one.checks}
    held = {} if file is None else {name: one for name, one in kept_in(file).items() if name in today}
    for one in having:
        limit = None if time_limit is None else time_limit / len(one.checks)
        try:
            for check in one.checks:
                if held.get(digest(check), {}).get("version") != code_version():
                    held[digest(check)] = fields_of(judge_checks([check], "", "full", seeds, limit).findings[0])
                    if file is not None:
                        write_lines(file, held)
        except OutOfTime:
            yield one, None
        else:
            yield one, Judgement(in_full(one.checks, held), one.verdict)
