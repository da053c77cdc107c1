"""Full judgements that are kept as data: what each came to, when, and by which version.

Those of the shipped claims are in `instances/claims/judged.json`, one line a claim. `optsched claims --judge --effort
full --keep FILE` writes such a file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from optsched.core.errors import Fault, InputError, OutOfTime
from optsched.core.fingerprint import code_version
from optsched.core.resources import folder
from optsched.measuring.judging.findings import Check, Finding, Judgement

if TYPE_CHECKING:
    from optsched.measuring.judging import Claim

__all__ = ["Kept", "KeptFinding", "digest", "judged_in_full", "kept_in", "shipped"]


def digest(check: Check) -> str:
    """The first digits of the SHA-256 of what a check says, of what, and over how many draws."""
    own = {name: getattr(check, name) for name in check.__struct_fields__}
    usual = msgspec.structs.asdict(Check(says=""))
    changed = {name: value for name, value in own.items() if value != usual[name]}
    return hashlib.sha256(json.dumps(changed, sort_keys=True).encode()).hexdigest()[:12]


class KeptFinding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The result of one check of a full judgement; `check` names the check by its digest."""

    check: str
    true: bool
    numbers: dict[str, list[float]]
    draws: int
    witness: str = ""

    @classmethod
    def of(cls, finding: Finding) -> KeptFinding:
        """A finding, with numbers of six digits."""
        numbers = {name: [float(f"{value:.6g}") for value in row] for name, row in finding.numbers.items()}
        return cls(digest(finding.check), finding.true, numbers, finding.draws, finding.witness)


class Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A full judgement of a claim.

    Attributes
    ----------
    verdict
        The recorded verdict, or the one that the judgement came to instead.
    holds
        Whether the recorded verdict held.
    version, date, seconds
        Of optsched, of the judgement, and how long it took.
    findings
        Of each check in turn.
    """

    verdict: str
    holds: bool
    version: str
    date: str
    seconds: float
    findings: tuple[KeptFinding, ...]

    @classmethod
    def of(cls, done: Judgement) -> Kept:
        """A judgement of now."""
        today = datetime.now(UTC).date().isoformat()
        findings = tuple(map(KeptFinding.of, done.findings))
        return cls(done.verdict, done.holds, code_version(), today, round(done.seconds, 1), findings)

    def is_of(self, checks: Sequence[Check]) -> bool:
        """Whether these are the checks that were judged."""
        return [found.check for found in self.findings] == [digest(check) for check in checks]


@cache
def shipped() -> dict[str, Kept]:
    """The full judgements of the shipped claims, by their ids."""
    return kept_in(folder("instances") / "claims" / "judged.json")


def kept_in(file: Path) -> dict[str, Kept]:
    """The judgements of a file; none if it is not there.

    Raises
    ------
    InputError
        If it is no file of judgements.
    """
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Kept])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise InputError([Fault("", f"no file of judgements: {error}")], str(file)) from None


def judged_in_full(
    found: Iterable[Claim], seeds: int | None = None, time_limit: float | None = None, file: Path | None = None
) -> Iterator[tuple[Claim, Kept | None]]:
    """Judge claims in full, one after the other, and keep each judgement at once.

    Parameters
    ----------
    found
        Those without checks are passed over. Claims with the same checks are judged once.
    seeds, time_limit
        Of each claim, as `Claim.judge` takes them.
    file
        Where judgements are kept. What this version has judged there is not judged again.

    Yields
    ------
    tuple
        Each claim and its judgement; None if the time limit ended before a check had one draw.
    """
    held = {} if file is None else kept_in(file)
    own = {name: one for name, one in held.items() if one.version == code_version()}
    for one in found:
        if not one.checks:
            continue
        kept = next((known for known in own.values() if known.is_of(one.checks)), None)
        if kept is not None and kept.holds:  # perhaps that of another claim, with a verdict of its own
            kept = msgspec.structs.replace(kept, verdict=one.verdict)
        try:
            kept = kept or Kept.of(one.judge("full", seeds, time_limit))
        except OutOfTime:
            yield one, None
            continue
        held[one.id] = own[one.id] = kept
        if file is not None:
            _write(held, file)
        yield one, kept


def _write(kept: dict[str, Kept], file: Path) -> None:
    from optsched.instances.documents.writing import write_whole  # what listing claims does not need

    lines = [f"{json.dumps(name)}: {_line(kept[name])}" for name in sorted(kept)]
    write_whole(file, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def _line(kept: Kept) -> str:
    content: Any = msgspec.to_builtins(kept)
    return json.dumps(content)
