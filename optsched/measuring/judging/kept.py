"""Full findings that are kept as data: what each check came to, when, and by which version.

Those of the shipped claims are in `instances/claims/judged.json`, one line a check. `optsched claims --judge --effort
full --keep FILE` writes such a file. Claims with a check in common share what is kept of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from optsched.core.errors import Fault, InputError, OutOfTime
from optsched.core.resources import code_version, folder
from optsched.measuring.judging.findings import Check, Finding, Judgement

if TYPE_CHECKING:
    from optsched.measuring.judging import Claim

__all__ = ["Kept", "digest", "in_full", "judged_in_full", "kept_in", "shipped", "write_lines"]


#: A finding with version and date.
Kept = Finding


def digest(check: Check) -> str:
    """The first digits of the SHA-256 of what a check says, of what, and over how many draws."""
    own = {name: getattr(check, name) for name in check.__struct_fields__}
    usual = msgspec.structs.asdict(Check(says=""))
    changed = {name: value for name, value in own.items() if value != usual[name]}
    return hashlib.sha256(json.dumps(changed, sort_keys=True).encode()).hexdigest()[:12]


def _fields(finding: Finding) -> dict[str, Any]:
    """What is kept of a finding of now: all but the check, numbers with six digits."""

    def short(row: Sequence[float]) -> list[float]:
        return [float(f"{value:.6g}") for value in row]

    kept = replace(
        finding,
        numbers={name: short(row) for name, row in finding.numbers.items()},
        differences=list(map(short, finding.differences)),
        seconds=round(finding.seconds, 1),
        version=code_version(),
        date=datetime.now(UTC).date().isoformat(),
    )
    return {name: value for name, value in msgspec.to_builtins(kept).items() if name != "check"}


@cache
def shipped() -> dict[str, dict[str, Any]]:
    """The full findings of the shipped claims."""
    return kept_in(folder("instances") / "claims" / "judged.json")


def in_full(checks: Sequence[Check], findings: Mapping[str, dict[str, Any]] | None = None) -> tuple[Finding, ...]:
    """What is kept of the checks, in their order; nothing if one of them is not kept. By default what is shipped."""
    findings = shipped() if findings is None else findings
    names = list(map(digest, checks))
    if not all(name in findings for name in names):
        return ()
    return tuple(Finding(check=check, **findings[name]) for name, check in zip(names, checks, strict=True))


def kept_in(file: Path) -> dict[str, dict[str, Any]]:
    """The fields of the findings of a file, by the digests of their checks; none if it is not there.

    Raises
    ------
    InputError
        If it is no file of findings.
    """
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, Any]])
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
        Seeds and seconds of each check, as `Claim.judge` takes them.
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

    having = [one for one in found if one.checks]
    today = {digest(check) for one in (*claims(), *having) for check in one.checks}
    held = {} if file is None else {name: one for name, one in kept_in(file).items() if name in today}
    for one in having:
        limit = None if time_limit is None else time_limit / len(one.checks)
        try:
            for check in one.checks:
                if held.get(digest(check), {}).get("version") != code_version():
                    held[digest(check)] = _fields(judge_checks([check], "", "full", seeds, limit).findings[0])
                    if file is not None:
                        write_lines(file, held)
        except OutOfTime:
            yield one, None
        else:
            yield one, Judgement(in_full(one.checks, held), one.verdict)


def write_lines(file: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON object with a line for each key, the keys in order."""
    from optsched.instances.documents.storing import write_whole  # what listing claims does not need

    lines = [f"{json.dumps(name)}: {msgspec.json.encode(content[name]).decode()}" for name in sorted(content)]
    write_whole(file, ("{\n" + ",\n".join(lines) + "\n}\n").encode())
