"""Running the ways of a row: each in a process of its own, alternating, killed at a limit; and what disagrees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from comparing.peers import PEERS
from comparing.rows import Row
from comparing.stages import WITHOUT
from optsched.core.processes import Limits, run

#: A way that took so many times the default's processor time, and so many seconds, is left out at larger sizes.
HOPELESS, SECONDS = 20, 5.0

#: A way that takes longer than this is measured once.
ONCE = 20.0

Result = dict[str, Any]


def started(command: list[str]) -> Result:
    """What a command prints as JSON; what it wrote on stderr last where it fails."""
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode:
        lines = [line for line in ended.stderr.splitlines() if line.strip()]
        return {"ended": lines[-1] if lines else f"exit code {ended.returncode}"}
    result: Result = json.loads(ended.stdout.splitlines()[-1])
    return result


@dataclass(frozen=True)
class Tools:
    """Where the ways run.

    Attributes
    ----------
    limits
        Of each measurement.
    pythons
        The Python of each installed package of peers.
    time_limit
        Seconds of each solve of ours; then a way holds a value and a bound.
    """

    limits: Limits = field(default_factory=Limits)
    pythons: Mapping[str, str] = field(default_factory=dict)
    time_limit: float | None = None

    def ours(self, task: str, row: Row, folder: Path, **more: str) -> Result:
        """A job of `comparing.ours`."""
        given = {"task": task, "row": row.as_json(), "folder": str(folder), "time_limit": self.time_limit}
        job = json.dumps({**given, **more})
        limits = Limits() if task == "prepare" else self.limits
        return _contained([sys.executable, "-m", "comparing.ours", job], limits)

    def peer(self, way: str, folder: Path, given: str) -> Result:
        """A peer, by the Python that has it."""
        peer = PEERS[way]
        command = [self.pythons[peer.package], "-m", "comparing.peers", way, str(folder / f"{peer.form}.npz"), given]
        return _contained(command, self.limits)


def _contained(command: list[str], limits: Limits) -> Result:
    """Run a command within limits; what it takes apart from Python's start, it measures itself."""
    here = str(Path(__file__).resolve().parents[1])
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = here if before is None else os.pathsep.join([here, before])
    try:
        outcome = run(started, command, limits)
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    result: Result = outcome.value if outcome.done else {"ended": str(outcome)}
    return result


@dataclass
class Comparison:
    """The ways of one row by their names, each with what was measured."""

    row: Row
    ways: dict[str, Result]

    def as_json(self) -> dict[str, Any]:
        """As the result file has it."""
        return {**self.row.as_json(), "label": self.row.label, "ways": self.ways}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Comparison:
        """What `as_json` gave."""
        row = {name: value for name, value in given.items() if name not in ("label", "ways")}
        return cls(Row.from_json(row), dict(given["ways"]))


def compared(
    row: Row,
    tools: Tools,
    repeats: int,
    left_out: dict[str, str],
    only: Callable[[str], bool] = lambda way: True,
) -> Comparison:
    """Measure every way of a row, alternating: the first of each, then the second of each.

    `left_out` holds the ways that are hopeless in this series and why; those that prove to be so here are added.
    """
    with tempfile.TemporaryDirectory(prefix="optsched-compare-") as name:
        folder = Path(name)
        made = tools.ours("prepare", row, folder)
        if "ways" not in made:
            return Comparison(row, {"unprepared": made})
        peers = [way for way, peer in PEERS.items() if peer.package in tools.pythons and peer.form in made["forms"]]
        peers = [way for way in peers if made["forms"][PEERS[way].form] <= PEERS[way].most]
        ways = [way for way in (*made["ways"], *peers) if way == "default" or only(way)]
        found: dict[str, Result] = {way: {"ended": left_out[way]} for way in ways if way in left_out}
        runs: dict[str, list[Result]] = {way: [] for way in ways if way not in left_out}
        for _ in range(repeats):
            for way, before in runs.items():
                if not before or ("phases" in before[-1] and _spent(before[-1]) < ONCE):
                    before.append(_one(row, way, tools, folder, runs))
        if runs.get("default") and "write" in runs["default"][-1].get("phases", {}):
            checks = [tools.ours("certify", row, folder) for _ in range(min(repeats, len(runs["default"])))]
            runs["default"][-1]["certificate"] = _best(checks)
        found |= {way: _best(measured) for way, measured in runs.items()}
    _leave_out(found, left_out)
    return Comparison(row, {way: found[way] for way in ways})


def _one(row: Row, way: str, tools: Tools, folder: Path, runs: Mapping[str, list[Result]]) -> Result:
    """One measurement; a bound of `latency` gets the makespan that the default found."""
    if way not in PEERS:
        return tools.ours("measure", row, folder, way=way)
    answers = [result["answer"] for result in runs.get("default", []) if result.get("answer")]
    if PEERS[way].bound and not answers:
        return {"ended": "no makespan to be given"}
    return tools.peer(way, folder, answers[0][0] if PEERS[way].bound else "0")


def _spent(result: Result) -> float:
    """Processor seconds of posing and solving, or of reading where nothing is solved."""
    phases = result["phases"]
    names = ("pose", "solve") if "solve" in phases else ("load",)
    return float(sum(phases[name]["cpu"] for name in names if name in phases))


def _best(runs: list[Result]) -> Result:
    """The least of each phase over all runs, the most memory, and the rest as the last run has it."""
    measured = [result for result in runs if "phases" in result]
    if not measured:
        return runs[-1]
    phases = {
        name: min((result["phases"][name] for result in measured), key=lambda seconds: float(seconds["cpu"]))
        for name in measured[0]["phases"]
    }
    held = [result["memory_mb"] for result in measured if result["memory_mb"] is not None]
    answers = [result.get("answer") for result in measured]
    assert all(answer == answers[0] for answer in answers), f"a way's answers differ between its runs: {answers}"
    return {**measured[-1], "phases": phases, "memory_mb": max(held, default=None), "repeats": len(measured)}


def _leave_out(found: Mapping[str, Result], left_out: dict[str, str]) -> None:
    """Note what need not be run at larger sizes of the series."""
    default = found.get("default", {})
    least = _spent(default) if "phases" in default else float("inf")
    for way, result in found.items():
        if way in left_out or way.startswith(WITHOUT):
            continue
        if "phases" not in result:
            left_out[way] = f"left out: at a smaller size {result.get('ended', 'failed')}".replace(
                "at a smaller size left out: ", ""
            )
        elif way != "default" and _spent(result) > max(SECONDS, HOPELESS * least):
            left_out[way] = f"left out: {_spent(result) / least:,.0f} times the default at a smaller size"


def disagreements(comparison: Comparison) -> Iterator[str]:
    """Each way whose optimum is not the default's, and each certificate that does not hold, by name."""
    row, ways = comparison.row, comparison.ways
    if row.kind == "heuristics":
        return
    result = {way: found["answer"] for way, found in ways.items() if found.get("answer") is not None}
    exact = {way: answer for way, answer in result.items() if way not in PEERS or not PEERS[way].bound}
    first = next(iter(exact), None)
    for way, answer in result.items():
        if first is None:
            break
        if way in exact and answer != exact[first]:
            yield f"{row.key}: {way} has the optimum {', '.join(answer)}, {first} has {', '.join(exact[first])}"
        if way not in exact and not _below(answer, exact[first]):
            yield f"{row.key}: {way} is {', '.join(answer)}, above the optimum {', '.join(exact[first])} of {first}"
    if "unprepared" in ways:
        yield f"{row.key}: it could not be posed: {ways['unprepared']['ended']}"
    checked = ways.get("default", {}).get("certificate", {})
    if "ended" in checked:
        yield f"{row.key}: the certificate was not checked: {checked['ended']}"


def _below(bound: list[str], optimum: list[str]) -> bool:
    """Whether a bound of the last component, the others given, is no more than the optimum."""
    return bound[:-1] == optimum[:-1] and int(bound[-1]) <= int(optimum[-1])
