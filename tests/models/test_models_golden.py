"""Golden LP files: the worked examples of the cards, as the models are written today, solved as files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import highspy
import pages
import pytest

from optsched.core.resources import folder
from optsched.models import export, module

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
