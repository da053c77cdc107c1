"""The papers' claims: one record each, with a verdict, the reason, and how to judge it again.

The records are data: `instances/claims/PAPER.toml`, with the last full judgements in `judged.json`. Installed packages
bring the claims of further papers as entry points of the group `optsched.claims`. How a claim is judged is in `judges`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import msgspec

from optsched.core.errors import UsageError, expect, nearest, unknown_id
from optsched.core.outside import Listed
from optsched.core.resources import folder
from optsched.measuring.judging.findings import Check, Finding, Judgement
from optsched.measuring.judging.kept import Kept, in_full

__all__ = ["GROUP", "PAPERS", "VERDICTS", "WAYS", "Check", "Claim", "Finding", "Judgement", "Paper", "claim", "claims"]

#: Entry points of this group are papers with their claims.
GROUP = "optsched.claims"

#: The meaning of each verdict.
VERDICTS: Mapping[str, str] = {
    "holds": "proved, or true wherever it was tried in its region",
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


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of a paper and its verdict.

    Attributes
    ----------
    id
        `PAPER/PLACE-TOPIC`, such as `guo-2012/3.3-more-idle`.
    paper
        The paper's authors and year.
    place
        Where in the paper it stands.
    claim
        What it says, in words of ours.
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
        """`judge` where a judge runs, `evidence` where something of the project shows it, else `review`."""
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
        from optsched.measuring.judging.judges import judge_checks  # what listing claims does not need

        return judge_checks(self.checks, self.verdict, effort, seeds, time_limit)

    @property
    def in_full(self) -> tuple[Kept, ...]:
        """What is shipped of the last full judgement of each check; nothing unless all of them were judged."""
        return in_full(self.checks)

    def record(self) -> dict[str, Any]:
        """Everything about the claim, as JSON has it."""
        content: dict[str, Any] = msgspec.to_builtins(self)
        return {**content, "judged_by": self.judged_by, "in_full": msgspec.to_builtins(self.in_full)}


@dataclass(frozen=True)
class Paper:
    """A paper with its claims; `name` begins the ids of all of them."""

    name: str
    title: str
    claims: tuple[Claim, ...]


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    place: str
    claim: str
    verdict: str
    #: `{0.labl[1]:.1f}` stands for what is kept of the first check: the number of `labl` on its second instance.
    why: str
    way: str
    region: str = ""
    evidence: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    #: The claim of the same file that says as much, whose checks are this one's, too.
    judged_as: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    paper: str
    claims: dict[str, _Record]


#: The shipped papers, in the order in which they are listed.
_SHIPPED = ("shen-2016", "sharmilarani", "hsu-freeh", "guo-2012", "agosta", "fischer-2010")


@cache
def _read(name: str) -> Paper:
    """A shipped paper."""
    text = (folder("instances") / "claims" / f"{name}.toml").read_text(encoding="utf-8")
    file = msgspec.convert(tomllib.loads(text), _File)
    found = list[Claim]()
    for key, record in file.claims.items():
        fields = msgspec.structs.asdict(record)
        checks = fields["checks"] = file.claims[fields.pop("judged_as") or key].checks
        fields["why"] = _quoting(record.why, in_full(checks))
        found.append(Claim(id=f"{name}/{key}", paper=file.paper, **fields))
    return Paper(name, file.paper, tuple(found))


def _quoting(why: str, kept: Sequence[Kept]) -> str:
    """A reason with its numbers, as they are kept; as it is written where something is not kept yet."""
    findings = [SimpleNamespace(**one.numbers, draws=one.draws, difference=one.differences) for one in kept]
    return why.format(*findings) if findings else why


def _fault(paper: Paper) -> str | None:
    """The fault of a paper of another package, if it has one."""
    for one in paper.claims:
        if not isinstance(one, Claim) or not one.id.startswith(f"{paper.name}/"):
            return f"it holds {one!r}, which is no claim whose id begins with {paper.name}/"
        if one.verdict not in VERDICTS or one.way not in WAYS:
            return f"the claim {one.id} has the verdict {one.verdict!r} and the way {one.way!r}; see VERDICTS and WAYS"
    return None


#: Every paper by its name.
PAPERS: Mapping[str, Paper] = Listed(GROUP, Paper, _SHIPPED, _read, _fault)


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
    expect(paper, (str, type(None)), "a paper has a name, a text", "such as guo-2012")
    expect(verdict, (str, type(None)), "a verdict is a text", f"one of {', '.join(VERDICTS)}")
    expect(words, Iterable, "words are texts", "a text or a list of them")
    if paper is not None and paper not in PAPERS:
        raise UsageError(f'no paper "{paper}"; {nearest(paper, list(PAPERS))}')
    if verdict is not None and verdict not in VERDICTS:
        raise UsageError(f'no verdict "{verdict}"; {nearest(verdict, list(VERDICTS))}')
    wanted = [str(word).casefold() for word in ([words] if isinstance(words, str) else words)]
    papers: Sequence[Paper] = list(PAPERS.values()) if paper is None else [PAPERS[paper]]
    return tuple(
        one
        for each in papers
        for one in each.claims
        if (verdict is None or one.verdict == verdict) and all(word in _text(one) for word in wanted)
    )


def _text(one: Claim) -> str:
    return " ".join((one.id, one.paper, one.place, one.claim, one.why, one.region, *one.evidence)).casefold()


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
    expect(name, str, "a claim has an id, a text", "optsched claims lists them")
    found = {one.id: one for one in claims()}
    if name not in found:
        raise unknown_id("claim", name, list(found), "optsched claims")
    return found[name]
