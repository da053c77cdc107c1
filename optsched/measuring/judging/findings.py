"""Checks of claims: what a record wants tested, what a judge found, and full findings that are kept as data.

Those of the shipped claims are in `instances/claims/judged.json`, one line per check. `optsched claims --judge --effort
full --keep FILE` writes such a file. Claims with a check in common share its finding.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from optsched.core.deprecated import former_names
from optsched.core.errors import Fault, InputError, UsageError, expect_known
from optsched.core.resources import code_version, folder

__all__ = ["EFFORTS", "Check", "Finding", "Judgement", "Kept", "kept_in"]

__getattr__ = former_names(__name__, judged_in_full="optsched.measuring.judging:judged_in_full")

#: How much a judge tries: seconds, or as many draws as the record says.
EFFORTS = ("quick", "full")


def check_asked(effort: str, seeds: int | None = None, most: int | None = None) -> None:
    """Raise UsageError for an unknown effort, and for seeds that are no number of draws, up to `most`."""
    expect_known(effort, EFFORTS, f"no effort {effort!r}")
    counts = isinstance(seeds, Integral) and not isinstance(seeds, bool)
    if seeds is not None and not (counts and 1 <= seeds <= (most or seeds)):
        raise UsageError(f"seeds {seeds!r}: give how many draws, {f'from 1 to {most}' if most else '1 or more'}")


class Check(Struct, forbid_unknown_fields=True, frozen=True):
    """One statement of a claim that a judge can test.

    Attributes
    ----------
    says
        The paper's statement, as an expression over measured names (`optsched.measuring.judging.expressions`).
    holds
        Whether it was true when the verdict was given.
    judge
        `snapshots`, `runs`, `arithmetic`, or your own callable `package.module:function`, called only with the check
        and the number of draws; it returns a `Finding`.
    on
        Instances of the library (`papers/guo-fig2`), families with parameters (`lsap,tasks=30`), or callables
        `package.module:function,K=V` that make an instance from a seed. Each is a row of the measured tables.
    problem
        With parameters: `latency` or `lsap,levels=0:1:2`.
    measure
        The meaning of each name: `optimum`, a heuristic with parameters, or `WHAT of` either; see `quantities`.
    quotes
        Further numbers that the reason quotes: expressions over measured names.
    service
        How long tasks take, in runs.
    draws, full
        Seeds of quick and of full judgements; without `full` the same.
    """

    says: str
    holds: bool = True
    judge: str = "snapshots"
    on: tuple[str, ...] = ()
    problem: str = ""
    measure: dict[str, str] = {}
    quotes: dict[str, str] = {}
    service: str = ""
    draws: int = 1
    full: int = 0


class Finding(Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """The result of judging a check.

    Attributes
    ----------
    check
        The check.
    true
        Whether its statement is true.
    numbers
        The mean of each measured name, for each instance or family, and the numbers that the reason quotes.
    draws
        The number of seeds.
    witness
        Where it is false, or a draw that shows what `any` says: the instance and its seed; empty: there is none.
    differences
        If the check compares numbers over draws: by how much the left side exceeds the right one, with the ends of the
        95 % interval, for each instance or family. Both sides are measured on the same seeds, so the interval is that
        of the paired differences (Student's t).
    seconds
        How long it took.
    version, date
        Of optsched, and the day (UTC), for kept findings.
    """

    check: Check
    true: bool
    numbers: Mapping[str, Sequence[float]]
    draws: int
    witness: str = ""
    differences: Sequence[Sequence[float]] = ()
    seconds: float = 0.0
    version: str = ""
    date: str = ""

    @property
    def kept(self) -> bool:
        """Whether the result is the same as when the verdict was given."""
        return self.true == self.check.holds

    def __str__(self) -> str:
        numbers = "; ".join(
            f"{name} {', '.join(f'{value:.6g}' for value in row)}" for name, row in self.numbers.items()
        )
        parts = [f"{self.check.says}: {'true' if self.true else 'false'}"]
        parts += [numbers] * bool(numbers)
        differences = ", ".join(f"{mean:.4g} [{low:.4g}, {high:.4g}]" for mean, low, high in self.differences)
        parts += [f"difference {differences}"] * bool(differences)
        parts += [f"{self.draws} draws"] * (self.draws > 1)
        return "; ".join(parts) + (f"; {'see' if self.true else 'not on'} {self.witness}" if self.witness else "")


@dataclass(frozen=True)
class Judgement:
    """The result of judging a claim again: what each check found, and the recorded verdict."""

    findings: tuple[Finding, ...]
    recorded: str

    @property
    def seconds(self) -> float:
        """How long it took."""
        return sum(finding.seconds for finding in self.findings)

    @property
    def holds(self) -> bool:
        """Whether the recorded verdict holds: every check has the same result as then."""
        return all(finding.kept for finding in self.findings)

    @property
    def verdict(self) -> str:
        """The recorded verdict if it holds, else the one that follows from the checks now."""
        truths = {finding.true for finding in self.findings}
        now = "depends" if len(truths) > 1 else "holds" if True in truths else "fails"
        return self.recorded if self.holds else now

    def record(self) -> dict[str, Any]:
        """The judgement, in JSON's types."""
        fields = ("true", "kept", "numbers", "draws", "witness", "differences")
        found = [{"says": one.check.says} | {name: getattr(one, name) for name in fields} for one in self.findings]
        return {"verdict": self.verdict, "holds": self.holds, "seconds": self.seconds, "findings": found}


# Full findings, as they are kept -----------------------------------------------------------------------------------


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
