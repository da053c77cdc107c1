"""Full findings that are kept as data: the result of each check, its day, and the version that judged it.

Those of the shipped claims are in `instances/claims/judged.json`, one line per check. `optsched claims --judge --effort
full --keep FILE` writes such a file. Claims with a check in common share its finding.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from optsched.core.deprecated import former_names
from optsched.core.errors import Fault, InputError
from optsched.core.resources import code_version, folder
from optsched.measuring.judging.findings import Check, Finding

__all__ = ["Kept", "digest", "fields_of", "in_full", "kept_in", "shipped", "write_lines"]

__getattr__ = former_names(__name__, judged_in_full="optsched.measuring.judging:judged_in_full")

#: A finding with version and date.
Kept = Finding


def digest(check: Check) -> str:
    """The first digits of the SHA-256 of a check's statement, names and instances, and its draws."""
    own = {name: getattr(check, name) for name in check.__struct_fields__}
    usual = msgspec.structs.asdict(Check(says=""))
    changed = {name: value for name, value in own.items() if value != usual[name]}
    return hashlib.sha256(json.dumps(changed, sort_keys=True).encode()).hexdigest()[:12]


def fields_of(finding: Finding) -> dict[str, Any]:
    """The kept part of a new finding: everything except the check, numbers with six digits."""

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
    """The kept findings of the checks, in their order; nothing if one of them is missing. By default shipped ones."""
    findings = shipped() if findings is None else findings
    names = list(map(digest, checks))
    if not all(name in findings for name in names):
        return ()
    return tuple(Finding(check=check, **findings[name]) for name, check in zip(names, checks, strict=True))


def kept_in(file: Path) -> dict[str, dict[str, Any]]:
    """The fields of the findings of a file, by the digests of their checks; none if the file does not exist.

    Raises
    ------
    InputError
        If it is no file of findings.
    """
    return read_lines(file, Any, "judgements")


def read_lines(file: Path, kind: Any, what: str) -> dict[str, dict[str, Any]]:
    """A file of `write_lines`: an object with values of a `kind` by each key; nothing if it does not exist."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, kind]])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise InputError([Fault("", f"no file of {what}: {error}")], str(file)) from None


def write_lines(file: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON object with a line for each key, the keys in order."""
    from optsched.instances.documents.storing import write_whole  # listing claims does not need it

    lines = [f"{json.dumps(name)}: {msgspec.json.encode(content[name]).decode()}" for name in sorted(content)]
    write_whole(file, ("{\n" + ",\n".join(lines) + "\n}\n").encode())
