"""Model cards: what they print is what their code prints; they name the components that the models have."""

from __future__ import annotations

import os
import re
from importlib import import_module

import pages
import pyomo.environ as pyo
import pytest

from optsched import models
from optsched.problems import PROBLEMS

WRITE = os.environ.get("OPTSCHED_WRITE_GOLDEN") == "1"

#: Cards of models with a second program, and a limit at which it is built.
LIMITS = {"latency": 8, "lsap-fairness": 1, "worst-group": 1, "utility": -0.5}


@pytest.mark.parametrize("card", models.names())
def test_output(card: str) -> None:
    """Tests that a card shows what its code prints. OPTSCHED_WRITE_GOLDEN=1 writes it anew."""
    text, _ = pages.run_card(card)
    if WRITE:
        pages.path_of(card).write_text(text, encoding="utf-8")
    assert pages.path_of(card).read_text(encoding="utf-8") == text


@pytest.mark.parametrize("card", models.names())
def test_components(card: str) -> None:
    """Tests that every variable and constraint of a Pyomo model is in its card and its module's table, or the other's
    that this names, and that the card says which model is for constraints of one's own.
    """
    text, names = pages.run_card(card)
    module = models.module(card)
    documented = module.__doc__ or ""
    for other in re.findall(r"see the table in `optsched\.models\.(\w+)`", documented.replace("\n", " ")):
        documented += import_module(f"optsched.models.{other}").__doc__ or ""
    posed = names["problem"]
    built = [module.build_pyomo(posed), module.build_pyomo(posed, per_pair=True)]
    if card in LIMITS:
        built.append(module.build_pyomo(names.get("loaded", posed), limit=LIMITS[card]))
    for model in built:
        for component in model.component_objects((pyo.Var, pyo.Constraint, pyo.Set, pyo.Param, pyo.Expression)):
            if not component.local_name.endswith("_index"):
                assert component.local_name in documented
        for component in model.component_objects((pyo.Var, pyo.Constraint)):
            assert f"`{component.local_name}" in text, component.local_name
    assert "per_pair=True" in text


def test_every_model_has_a_card() -> None:
    """Tests that the cards are those of the models and problems, and that the folder's README names each."""
    assert tuple(PROBLEMS) == models.names()
    there = pages.path_of("lsap").parent
    assert {path.stem for path in there.glob("*.md")} == {*models.names(), "README"}
    readme = (there / "README.md").read_text(encoding="utf-8")
    assert all(f"({card}.md)" in readme for card in models.names())
