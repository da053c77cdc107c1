"""Full findings that are kept as data: what each check came to, when, and by which version.

Those of the shipped claims are in `instances/claims/judged.json`, one line a check. `optsched claims --judge --effort
full --keep FILE` writes such a file. Claims with a check in common share what is kept of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from optsched.core.errors import Fault, InputError, OutOfTime
from optsched.core.fingerprint import code_version
from optsched.core.resources import folder
from optsched.measuring.judging.findings import Check, Finding, Judgement

if TYPE_CHECKING:
    from optsched.measuring.judging import Claim

__all__ = ["Kept", "digest", "in_full", "judged_in_full", "kept_in", "shipped"]


def digest(check: Check) -> str:
    """The first digits of the SHA-256 of what a check says, of what, and over how many draws."""
    own = {name: getattr(check, name) for name in check.__struct_fields__}
    usual = msgspec.structs.asdict(Check(says=""))
    changed = {name: value for name, value in own.items() if value != usual[name]}
    return hashlib.sha256(json.dumps(changed, sort_keys=True).encode()).hexdigest()[:12]


class Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a check came to, with all of its draws: the fields of `Finding`, and those of the judgement.

    Attributes
    ----------
    true, numbers, draws, witness, differences
        Of the finding, numbers with six digits.
    version, date, seconds
        Of optsched, of the judgement, and how long it took.
    """

    true: bool
    numbers: dict[str, list[float]]
    draws: int
    version: str
    date: str
    seconds: float = 0.0
    witness: str = ""
    differences: list[list[float]] = []

    @classmethod
    def of(cls, finding: Finding, seconds: float) -> Kept:
        """A finding of now."""
        numbers = {name: _short(row) for name, row in finding.numbers.items()}
        differences = list(map(_short, finding.differences))
        today = datetime.now(UTC).date().isoformat()
        draws, witness = finding.draws, finding.witness
        return cls(finding.true, numbers, draws, code_version(), today, round(seconds, 1), witness, differences)

    def finding(self, check: Check) -> Finding:
        """What was found of the check."""
        return Finding(check, self.true, self.numbers, self.draws, self.witness, self.differences)


def _short(row: Sequence[float]) -> list[float]:
    return [float(f"{value:.6g}") for value in row]


@cache
def shipped() -> dict[str, Kept]:
    """The full findings of the shipped claims, by the digests of their checks."""
    return kept_in(folder("instances") / "claims" / "judged.json")


def in_full(checks: Sequence[Check]) -> tuple[Kept, ...]:
    """What is shipped of the checks, in their order; nothing if one of them is not in it."""
    found = [shipped().get(digest(check)) for check in checks]
    return tuple(one for one in found if one is not None) if None not in found else ()


def kept_in(file: Path) -> dict[str, Kept]:
    """The findings of a file, by the digests of their checks; none if it is not there.

    Raises
    ------
    InputError
        If it is no file of findings.
    """
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Kept])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise InputError([Fault("", f"no file of judgements: {error}")], str(file)) from None


def judged_in_full(
    found: Iterable[Claim], seeds: int | None = None, time_limit: float | None = None, file: Path | None = None
) -> Iterator[tuple[Claim, Judgement | None]]:
    """Judge claims in full, one check after the other, and keep each finding at once.

    Parameters
    ----------
    found
        Those without checks are passed over.
    seeds, time_limit
        Of each check, as `Claim.judge` takes them.
    file
        Where findings are kept. What this version has judged there is not judged again, of any claim. What no claim
        checks any more is dropped.

    Yields
    ------
    tuple
        Each claim and its judgement; None if the time limit ended before a check had one draw.
    """
    from optsched.measuring.judging import claims
    from optsched.measuring.judging.judges import judge_checks  # what listing claims does not need

    found = list(found)
    today = {digest(check) for one in (*claims(), *found) for check in one.checks}
    held = {} if file is None else {name: one for name, one in kept_in(file).items() if name in today}
    for one in found:
        if not one.checks:
            continue
        limit = None if time_limit is None else time_limit / len(one.checks)
        try:
            for check in one.checks:
                known = held.get(digest(check))
                if known is None or known.version != code_version():
                    done = judge_checks([check], one.verdict, "full", seeds, limit)
                    held[digest(check)] = Kept.of(done.findings[0], done.seconds)
                    if file is not None:
                        _write(held, file)
        except OutOfTime:
            yield one, None
            continue
        kept = [held[digest(check)] for check in one.checks]
        findings = [each.finding(check) for each, check in zip(kept, one.checks, strict=True)]
        yield one, Judgement(tuple(findings), one.verdict, sum(each.seconds for each in kept))


def _write(kept: dict[str, Kept], file: Path) -> None:
    from optsched.instances.documents.writing import write_whole  # what listing claims does not need

    lines = [f"{json.dumps(name)}: {msgspec.json.encode(kept[name]).decode()}" for name in sorted(kept)]
    write_whole(file, ("{\n" + ",\n".join(lines) + "\n}\n").encode())
