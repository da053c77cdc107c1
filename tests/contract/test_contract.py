"""The contract suite over the registry: every check of every problem that it is about, quickly and at length."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from optsched.registry import Record, records
from optsched.testing import CHECKS, EXCLUSIONS, ContractBroken, Exclusion, check_problem, checks
from optsched.testing.__main__ import report

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")

PAIRS = [
    pytest.param(entry, check, id=f"{entry.name}-{check}")
    for entry in records().values()
    for check in CHECKS
    if CHECKS[check].applies(entry)
]


@pytest.mark.parametrize(("record", "check"), PAIRS)
def test_contract(record: Record, check: str) -> None:
    """Tests that a problem keeps one part of the contract on two instances of each of its variants."""
    CHECKS[check].function(record)


@pytest.mark.thorough
@pytest.mark.parametrize("name", records())
def test_contract_at_length(name: str) -> None:
    """Tests that a problem keeps the whole contract on instances that the quick test does not see."""
    check_problem(name, seeds=[4])


def test_every_problem_is_under_contract() -> None:
    """Tests that no problem and no check is left out: checks that are about some problems only are about these."""
    assert {pair.values[0].name for pair in PAIRS} == set(records())
    some = {
        name: {entry.name for entry in records().values() if not check.applies(entry)} for name, check in CHECKS.items()
    }
    assert {name: left for name, left in some.items() if left and name not in ("frontier", "waves")} == {
        "enumeration": {"min-cost-flow"},
        "each-placement": {"min-cost-flow"},
        "heuristics": {"min-cost-flow"},
    }
    assert set(records()) - some["frontier"] == {"lsap-fairness", "latency", "traffic"}


@pytest.mark.parametrize("left", EXCLUSIONS, ids=lambda left: f"{left.problem}-{left.check}")
def test_exclusion_is_needed(left: Exclusion, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that each exclusion is of a problem, variant and check that exist, and that the check fails without it."""
    assert left.reason
    entry = records()[left.problem]
    defaults = {parameter.name: parameter.default for parameter in entry.problem_class.parameter_table}
    assert any((left.parameters or {}).items() <= {**defaults, **variant}.items() for variant in ({}, *entry.variants))
    monkeypatch.setattr(checks, "EXCLUSIONS", tuple(other for other in EXCLUSIONS if other is not left))
    with pytest.raises(ContractBroken, match=f"^{left.problem}, {left.check}: "):
        CHECKS[left.check].function(entry, range(6))


def test_report() -> None:
    """Tests that the report has a line for each check, says what is not about a problem, and why what is excluded."""
    result = CliRunner().invoke(report, ["fair-lsap", "--seeds", "1"])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "fair-lsap"
    assert [line.split()[0] for line in lines[1 : len(CHECKS) + 1]] == list(CHECKS)
    assert {line.split()[1] for line in lines[1 : len(CHECKS) + 1]} == {"ok", "-"}
    assert sum("excluded: " in line for line in lines) == 2
    assert CliRunner().invoke(report, ["fair-lsapp"]).exit_code == 2
