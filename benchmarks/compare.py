"""optsched and other tools on the same instances: SciPy, networkx, OR-Tools, POT, HiGHS, Pyomo and PuLP models.

    python benchmarks/compare.py [--problem NAME] [--sizes small,anchors] [--row PATTERN] [--json FILE] [--plot FILE]

Each way of each instance is measured in a process of its own, and killed at a limit on time or memory; the ways
alternate. A way reads the instance's file (another tool: arrays that optsched posed), poses the problem, and solves it;
the solution of the default route is then certified from its file, in a process in which no solver can be imported.
Seconds are of processor time, the least of all runs; `first` is the first time in a process, with what is imported and
compiled then. `default` is `optsched solve`; its models by Pyomo and PuLP, and arrays for HiGHS, are the other routes.
`shared program` is the way that all problems have in common: HiGHS by the exact program, then prices or a tree. The
ways `without STAGE` are the default without a stage of its search (`comparing/stages.py`).

The program fails, by name, where two ways have different optima, or a certificate does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatch
from itertools import groupby
from pathlib import Path
from typing import Any

import psutil
from comparing.peers import installed
from comparing.plot import write_plot
from comparing.rows import SETTINGS, Row, rows
from comparing.running import Comparison, Tools, compared, disagreements
from comparing.tables import growth_table, shipped_table, stages_table, standing_table, ways_table

from optsched.core.errors import UsageError
from optsched.core.processes import Limits
from optsched.core.registry import SHIPPED
from optsched.instances.claim_files import versions

FORMAT = "optsched-benchmark/1"


def _pythons(named: str | None) -> tuple[dict[str, str], dict[str, str]]:
    """The Python of each package of peers that is installed, and its version."""
    found = installed()
    pythons = dict.fromkeys(found, sys.executable)
    if named is not None:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent)}
        command = [named, "-m", "comparing.peers", "--installed"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        other = json.loads(done.stdout) if done.returncode == 0 else {}
        if "ortools" not in other:
            raise SystemExit(
                f"--ortools {named}: this Python has no OR-Tools: {done.stderr.strip() or 'not installed'}"
            )
        pythons["ortools"], found["ortools"] = named, other["ortools"]
    return pythons, found


def _surroundings(peers: dict[str, str]) -> dict[str, Any]:
    """What figures depend on: versions and machine."""
    machine = {
        "cores": os.cpu_count(),
        "memory_mb": psutil.virtual_memory().total // 2**20,
        "system": platform.system(),
        "processor": platform.machine(),
    }
    return {"versions": {**versions(), **peers}, "machine": machine}


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def _fits(name: str, patterns: Sequence[str] | None) -> bool:
    """Whether any of the patterns fits, or none is given."""
    return patterns is None or any(fnmatch(name, pattern) for pattern in patterns)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "compare.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = [record.name for record in SHIPPED]
    parser.add_argument("--problem", action="append", choices=known, default=[], help="only this one; may be repeated")
    parser.add_argument("--sizes", type=_listed, default=("small",), metavar="SETTINGS",
                        help=f"of {', '.join(SETTINGS)}, joined by commas (default: small)")  # fmt: skip
    parser.add_argument("--row", metavar="PATTERN", action="append",
                        help='only rows whose "problem / kind / series / label" fits; may be repeated')  # fmt: skip
    parser.add_argument("--way", metavar="PATTERN", action="append",
                        help="only these and the default; may be repeated")  # fmt: skip
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="processes of each way; the least counts")
    parser.add_argument("--limit", type=float, default=60, metavar="SECONDS", help="of one process (default: 60)")
    parser.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="of a solve; large problems then run in processes whose time is not counted",
    )
    parser.add_argument("--memory", type=int, default=8000, metavar="MB", help="of one process (default: 8000)")
    parser.add_argument("--ortools", metavar="PYTHON", help="the Python that has OR-Tools, if it is another one")
    parser.add_argument("--json", metavar="FILE", help="write the result there; rows that it has already are not run")
    parser.add_argument("--plot", metavar="FILE", help="draw it there (extra plots): .svg, .pdf or .png")
    arguments = parser.parse_args(given)
    wrong = [name for name in arguments.sizes if name not in SETTINGS]
    if wrong or not arguments.sizes:
        parser.error(f"--sizes {','.join(arguments.sizes)}: give some of {', '.join(SETTINGS)}")
    if arguments.repeats < 1:
        parser.error(f"--repeats {arguments.repeats}: give a whole number, 1 or more")
    try:
        arguments.limits = Limits(arguments.limit, arguments.memory)
    except UsageError as error:
        parser.error(str(error))
    return arguments


def _held(path: str | None, surroundings: dict[str, Any]) -> list[Comparison]:
    """What a result file holds already; it must be of the same versions and machine."""
    if path is None or not Path(path).exists():
        return []
    try:
        document = json.loads(Path(path).read_text())
        same = {name: document[name] for name in surroundings} if document["format"] == FORMAT else None
        held = [Comparison.from_json(entry) for entry in document["rows"]]
    except (ValueError, KeyError, TypeError):
        raise SystemExit(f"--json {path}: this file is not a result of this program; name another one") from None
    if same != surroundings:
        raise SystemExit(f"--json {path}: it was measured with other versions or on another machine; name another file")
    return held


def _measured(
    chosen: list[Row], arguments: argparse.Namespace, tools: Tools, held: list[Comparison]
) -> Iterator[Comparison]:
    """Each row, as it is measured; what is held already is not run again."""
    known = {comparison.row.key: comparison for comparison in held}
    for _, series in groupby(chosen, key=lambda row: (row.problem, row.series)):
        left_out: dict[str, str] = {}
        for row in series:
            if row.key in known:
                yield known[row.key]
            else:
                print(f"{row.key} ...", file=sys.stderr, flush=True)
                yield compared(row, tools, arguments.repeats, left_out, lambda way: _fits(way, arguments.way))


def _write(path: str, comparisons: Sequence[Comparison], surroundings: dict[str, Any], command: str) -> None:
    """The machine-readable result; whole or not at all."""
    document = {
        "format": FORMAT,
        "command": command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **surroundings,
        "rows": [comparison.as_json() for comparison in comparisons],
    }
    part = Path(f"{path}.part")
    part.write_text(json.dumps(document, indent=1) + "\n")
    part.replace(path)


def main(given: Sequence[str] | None = None) -> int:
    """Measure, write and print; 1 where optima differ."""
    arguments = _arguments(given)
    pythons, peers = _pythons(arguments.ortools)
    surroundings = _surroundings(peers)
    command = shlex.join(["python", "benchmarks/compare.py", *(sys.argv[1:] if given is None else given)])
    held = _held(arguments.json, surroundings)
    chosen = [row for row in rows(arguments.sizes, tuple(arguments.problem)) if _fits(row.key, arguments.row)]
    if not chosen:
        wanted = " or ".join(arguments.row or "*")
        raise SystemExit(f"no row fits --row {wanted}; they are called, for instance, {rows(arguments.sizes)[0].key}")
    tools = Tools(arguments.limits, pythons, arguments.time_limit)
    found: list[Comparison] = []
    wrong: list[str] = []
    for comparison in _measured(chosen, arguments, tools, held):
        found.append(comparison)
        wrong += disagreements(comparison)
        if arguments.json is not None:
            rest = [entry for entry in held if entry.row.key not in {each.row.key for each in found}]
            _write(arguments.json, [*found, *rest], surroundings, command)
    print(f"`{command}`, {', '.join(f'{name} {text}' for name, text in surroundings['versions'].items())}")
    for problem, entries in groupby(found, key=lambda entry: entry.row.problem):
        print(f"\n### {problem}\n\n{ways_table(entries)}")
    print(f"\n### Without a stage\n\n{stages_table(found)}")
    print(f"\n### The default against other tools\n\n{standing_table(found)}")
    print(f"\n### The default against every other way that is shipped\n\n{shipped_table(found)}")
    print(f"\n### Growth\n\n{growth_table(found)}")
    if arguments.plot is not None:
        write_plot(found, arguments.plot)
    for line in wrong:
        print(f"DIFFERENT: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
