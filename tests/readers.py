"""Programs in files as others read them: HiGHS, CBC (which PuLP 3 brings along) and PuLP's own reader of MPS."""

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import highspy
import pulp

#: PuLP 4 names rows itself, lists variables in the order in which they were made, and keeps none without its problem.
PULP_3 = pulp.__version__.startswith("3.")

#: The solver inside the distribution of PuLP 3, whose class would warn; PuLP 4 brings none: then one that is installed.
CBC = pulp.apis.coin_api.pulp_cbc_path if PULP_3 else shutil.which("cbc")


def add_sos(problem: Any, members: dict[Any, float]) -> None:
    """An SOS constraint of type 1 added to a PuLP problem."""
    if PULP_3:
        problem.sos1["set"] = members
    else:
        problem.add_sos_group(pulp._rustcore.SosKind.Sos1, "set", members)


def by_highs(path: Path, relaxed: bool = False) -> float | None:
    """Optimum of a file as HiGHS reads it, or without its integers; None where it is infeasible."""
    highs = highspy.Highs()
    highs.silent()
    highs.setOptionValue("solve_relaxation", relaxed)
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_abs_gap", 0.0)
    assert highs.readModel(str(path)) != highspy.HighsStatus.kError
    highs.run()
    if highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        return None
    if highs.getModelStatus() == highspy.HighsModelStatus.kModelEmpty:
        return float(highs.getObjectiveOffset()[1])
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(highs.getInfo().objective_function_value)


def by_cbc(path: Path, relaxed: bool = False) -> float | None:
    """Optimum of a file as CBC reads it, or without its integers; None where it is infeasible."""
    assert CBC is not None
    answer = path.with_name("cbc.solution")
    solve = "-initialSolve" if relaxed else "-solve"
    command = [CBC, str(path), "-ratio", "0", "-allow", "0", solve, "-solution", str(answer)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert "default column names" not in done.stdout, done.stdout
    shown = answer.read_text().partition("\n")[0]
    answer.unlink()
    if shown.startswith(("Infeasible", "Integer infeasible")):
        return None
    found = re.fullmatch(r"Optimal - objective value (\S+)", shown.strip())
    assert found is not None, shown
    return float(found[1])


def by_pulp(path: Path, relaxed: bool = False) -> float | None:
    """Optimum of an MPS file as PuLP reads it, solved with HiGHS, or without its integers; None where infeasible."""
    _, model = pulp.LpProblem.fromMPS(str(path))
    model.solve(pulp.HiGHS(msg=False, gapRel=0.0, mip=not relaxed))
    if model.status == pulp.LpStatusInfeasible:
        return None
    assert model.status == pulp.LpStatusOptimal
    return float(model.objective.value() or 0.0)


_BOTH: Mapping[str, Callable[..., float | None]] = {"HiGHS": by_highs} | ({"CBC": by_cbc} if CBC else {})

READERS: Mapping[str, Mapping[str, Callable[..., float | None]]] = {".lp": _BOTH, ".mps": {**_BOTH, "PuLP": by_pulp}}


def read_by_all(path: Path, relaxed: bool = False) -> dict[str, float | None]:
    """Optimum of a file by each reader of its format; `relaxed` without its integers."""
    return {name: reader(path, relaxed) for name, reader in READERS[path.suffix].items()}


def everywhere(path: Path, value: Any) -> dict[str, Any]:
    """What `read_by_all` is where all find this value."""
    return dict.fromkeys(READERS[path.suffix], value)
