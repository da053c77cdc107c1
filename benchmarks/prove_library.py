"""Prove the instance library again and write `instances/optima.json`, the index with every optimum.

    python benchmarks/prove_library.py [NAME ...] [--output FILE]

Solves each problem that an instance has the fields for, by the default route and parameters, and lets the checker of
`optsched.certificates` look at the answer before it is written. Without names it goes through every file of the
library. Tags are kept from the index as it is; a new file gets its folder as its only tag, to be added to by hand. Each
entry says when it was proved last, and by which code; one that was proved by 0.1.0 names no more than the version.
"""

from __future__ import annotations

import argparse
import datetime
import json
from pathlib import Path
from typing import Any

from optsched.certificates import certify
from optsched.core.network import FlowNetwork
from optsched.core.resources import code_version, folder
from optsched.core.results import Value
from optsched.instances.files import SUFFIXES, load
from optsched.instances.library import NETWORK
from optsched.problems import PROBLEMS, AnyProblem
from optsched.routes import frontier, has_frontier, solve

FORMAT = "optsched-optima/1"

#: Folders of the library that hold no instances.
OTHERS = ("claims", "figures")


def names(library: Path) -> dict[str, str]:
    """File of each instance by its name, which is the path without its suffix; sorted."""
    paths = [path for path in library.glob("*/*") if path.name.endswith(SUFFIXES) and path.parent.name not in OTHERS]
    files = [path.relative_to(library).as_posix() for path in paths]
    return {file.removesuffix(".gz").removesuffix(".json").removesuffix(".npz"): file for file in sorted(files)}


def entries(value: Value) -> list[int | str]:
    """Integers as they are, other rationals as "p/q"."""
    return [entry if isinstance(entry, int) else str(entry) for entry in value]


def proved(name: str, problem: AnyProblem) -> dict[str, Any]:
    """What the index says of one problem."""
    solution = solve(problem)
    certify(problem, solution).raise_if_invalid()
    assert solution.objective is not None
    assert solution.optimal, f"{name}: {problem.name} is not closed: {solution}"
    parameters = {key: list(value) if isinstance(value, tuple) else value for key, value in problem.parameters.items()}
    entry: dict[str, Any] = {
        "parameters": parameters,
        "value": entries(solution.objective),
        "certificate": str(solution.certificate),
    }
    if has_frontier(problem):
        front = frontier(problem)
        assert front.complete, f"{name}: the frontier is not complete"
        entry["frontier"] = [entries(value) for value in front.values]
    entry["reproduce"] = f"optsched solve {name} --problem {problem.name}"
    entry["proved"] = f"{datetime.date.today()}, optsched {code_version()}"
    return entry


def layout(index: dict[str, Any]) -> str:
    """JSON with one line for each instance's head and for each of its problems."""
    blocks = []
    for name, entry in index.items():
        head = ", ".join(f"{json.dumps(key)}: {json.dumps(entry[key])}" for key in ("file", "tags", "source"))
        optima = ",\n".join(f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in entry["optima"].items())
        blocks.append(f'  {json.dumps(name)}: {{{head}, "optima": {{\n{optima}}}}}')
    return f'{{"format": "{FORMAT}",\n"instances": {{\n' + ",\n".join(blocks) + "}}\n"


def main() -> None:
    """Prove what is named and write the index."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="instances to prove again; all of them by default")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write there; the library's index stays as it is")
    given = parser.parse_args()
    chosen = given.names
    library = folder("instances")
    path = library / "optima.json"
    before = json.loads(path.read_text(encoding="utf-8"))["instances"] if path.exists() else {}
    index: dict[str, Any] = {}
    for name, file in names(library).items():
        known = before.get(name, {})
        if known and chosen and name not in chosen:
            index[name] = known
            continue
        instance = load(library / file)
        optima = {
            problem: proved(name, kind(instance)) for problem, kind in PROBLEMS.items() if not kind.applies(instance)
        }
        tags = known.get(
            "tags", [name.partition("/")[0].removesuffix("s"), NETWORK][: 1 + isinstance(instance, FlowNetwork)]
        )
        index[name] = {"file": file, "tags": tags, "source": instance.source, "optima": optima}
        print(name, *(f"{problem} {entry['value']} {entry['certificate']}" for problem, entry in optima.items()))
    (given.output or path).write_text(layout(index), encoding="utf-8")


if __name__ == "__main__":
    main()
