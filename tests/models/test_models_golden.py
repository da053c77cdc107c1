"""Model cards, which print what their code prints, and golden LP files: their worked examples as they are written."""

import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import highspy
import pages
import pyomo.environ as pyo
import pytest

from optsched import models
from optsched.core.resources import folder
from optsched.models import export, module
from optsched.problems import PROBLEMS

WRITE = os.environ.get("OPTSCHED_WRITE_GOLDEN") == "1"

#: For each file (and its `-literal` twin) the card, the card's name of the problem, and the options of the model.
EXAMPLES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "lsap-guo-fig2": ("lsap", "problem", {}),
    "fair-lsap-three-groups": ("fair-lsap", "problem", {}),
    "lsap-fairness-three-groups": ("lsap-fairness", "problem", {"limit": 1}),
    "worst-group-one-slot": ("worst-group", "problem", {}),
    "worst-group-racks": ("worst-group", "racks", {"limit": 1}),
    "flow-table3": ("flow", "problem", {}),
    "flow-congestion-round": ("flow-congestion", "problem", {}),
    "latency-counterexample": ("latency", "problem", {"limit": 3}),
    "latency-loaded-server": ("latency", "loaded", {}),
    "transmission-maps-largest-p": ("transmission-maps", "problem", {}),
    "transmission-reduces-pna-example": ("transmission-reduces", "problem", {}),
    "transmission-pna-example": ("transmission", "problem", {}),
    "utility-endless-swap": ("utility", "problem", {}),
    "utility-endless-swap-use": ("utility", "problem", {"limit": -0.5}),
    "traffic-empty-datacenter": ("traffic", "problem", {}),
    "traffic-empty-datacenter-spread": ("traffic", "problem", {"limit": 2}),
    "generalized-assignment-knapsacks": ("generalized-assignment", "problem", {}),
    "min-cost-flow-negative-cycle": ("min-cost-flow", "problem", {}),
    "makespan-two-nodes": ("makespan", "problem", {}),
    "job-times-short-job": ("job-times", "problem", {}),
}


def built(example: str, literal: bool) -> Any:
    """The model of a worked example."""
    card, name, options = EXAMPLES[example]
    builder = module(card).build_pulp if literal else module(card).build_pyomo
    return builder(pages.run_card(card)[1][name], **options)


def optimum(path: Path) -> float:
    """Optimum of an LP file as HiGHS reads it."""
    highs = highspy.Highs()
    highs.silent()
    highs.setOptionValue("mip_rel_gap", 0.0)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(highs.getInfo().objective_function_value)


@pytest.mark.parametrize("literal", [False, True], ids=["compact", "literal"])
@pytest.mark.parametrize("example", EXAMPLES)
def test_golden_file(example: str, literal: bool, tmp_path: Path) -> None:
    """Tests that a golden file is what the model is written as, byte for byte. OPTSCHED_WRITE_GOLDEN=1 writes it."""
    golden = folder("models") / f"{example}{'-literal' if literal else ''}.lp"
    if WRITE:
        export.write_lp(built(example, literal), golden)
    export.write_lp(built(example, literal), tmp_path / "model.lp")
    assert (tmp_path / "model.lp").read_bytes() == golden.read_bytes()


@pytest.mark.parametrize("example", EXAMPLES)
def test_optimum_of_file(example: str) -> None:
    """Tests that HiGHS, given the files alone, finds the optimum that the folder's README states, in both."""
    readme = (folder("models") / "README.md").read_text(encoding="utf-8")
    stated = re.search(rf"`{example}`\s+([-\d.]*\d)[,.]\s", readme)
    for twin in ("", "-literal"):
        assert optimum(folder("models") / f"{example}{twin}.lp") == pytest.approx(float(stated[1]), abs=5e-5)


def test_no_stray_files() -> None:
    """Tests that every LP file in the folder is one of the golden files."""
    expected = {f"{example}{twin}.lp" for example in EXAMPLES for twin in ("", "-literal")}
    assert {path.name for path in folder("models").glob("*.lp")} == expected


# Cards ----------------------------------------------------------------------------------------------------------------


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
            assert component.doc, component.local_name
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
