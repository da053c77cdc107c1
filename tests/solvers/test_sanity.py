"""Models that some release of HiGHS got wrong: they are those of the public issues, and a wrong optimum is told."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.solvers.sanity import SMALL_MODELS, wrong_answers

#: The models as their public issues state them: what is minimised, rows, columns (limits, and whether it is whole).
STATED: dict[str, tuple[str, list[str], dict[str, tuple[float, float, bool]]]] = {
    "HiGHS#2957": ("x + 2*y", ["x + y >= 20.1"], {"x": (0, 20, True), "y": (8, 20, False)}),
    "HiGHS#3002": (
        "x + 4*y + 9*z",
        ["x + y <= 5", "x + z >= 10", "z - y == 7.5"],
        {"x": (0, 4, False), "y": (-1, 1, False), "z": (0, np.inf, True)},
    ),
    "HiGHS#3043": ("2*x + 3*y", ["x + y >= 4.5"], {"x": (0, 10, False), "y": (0, 10, True)}),
    "HiGHS#3073": (
        "100*x + 0.01*y",
        ["x + z == 3", "z - y <= 0", "-y - z <= 0"],
        {"x": (0, np.inf, False), "y": (-np.inf, np.inf, False), "z": (0.45, 3, True)},
    ),
}


@pytest.mark.parametrize("issue", SMALL_MODELS)
def test_sanity_models_are_those_of_the_issues(issue: str) -> None:
    """Tests each model against its issue's own words at many points: same objective, and the same rows are held."""
    model, (objective, rows, columns) = SMALL_MODELS[issue][0], STATED[issue]
    rng = np.random.default_rng(0)
    told = [model.col_lower.tolist(), model.col_upper.tolist(), model.integer.tolist()]
    assert told == [list(column) for column in zip(*columns.values(), strict=True)]
    drawn = [rng.integers(-4, 44, len(columns)) / 4 + shift for shift in (0, 0.1) for _ in range(200)]
    drawn += [rng.integers(-1, 22, len(columns)).astype(float) for _ in range(200)]
    for point in (dict(zip(columns, values.tolist(), strict=True)) for values in drawn):
        values = np.array(list(point.values()))
        assert model.objective @ values == pytest.approx(eval(objective, {}, point))
        activity = model.matrix @ values
        held = [bool(eval(row, {}, point)) for row in rows]
        assert ((activity >= model.row_lower) & (activity <= model.row_upper)).tolist() == held


def test_sanity_reports_wrong_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a wrong optimum would be reported by issue, value and version."""
    monkeypatch.setitem(SMALL_MODELS, "HiGHS#3043", (SMALL_MODELS["HiGHS#3043"][0], 8.0))
    (line,) = wrong_answers()
    assert line.startswith("HiGHS#3043: optimum 8.0, HiGHS")
    assert float(line.rpartition(" says ")[2]) == pytest.approx(9.0, abs=1e-5)
