"""The contract suite over the registry: every check of every problem that it is about, quickly and at length."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from pages import shows

from optsched.core import registry
from optsched.core.errors import TooLarge
from optsched.core.registry import Record, records
from optsched.heuristics import heuristic
from optsched.routes import routes_of, solve
from optsched.testing import CHECKS, SEEDS, ContractBroken, NoGenerator, check_problem, contract, forget, measured
from optsched.testing.__main__ import report
from optsched.testing.contract import MOST_DECISIONS, cases, places
from optsched.testing.solutions import tampered

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")

#: What `job-times` shares with `makespan`, whose solves are quicker: at length it keeps these, too.
SHARED = ("permutation", "scaling", "no-room", "locality", "export", "solution-file")

PAIRS = [
    pytest.param(entry, check, id=f"{entry.name}-{check}")
    for entry in records().values()
    for check in CHECKS
    if CHECKS[check].applies(entry) and (entry.name != "job-times" or check not in SHARED)
]

#: Problems whose programs take seconds, or which have thousands of decisions, have fewer tasks in the quick test.
FEWER = {
    "makespan": {"tasks": 3, "longest": 5},
    "job-times": {"tasks": 3, "longest": 5},
    "traffic": {"reduces": 1},
}

#: Checks that must see something on some instance, such as one without a best decision.
WITH_ALL_VARIANTS = ("record", "scarce", "no-point")


@pytest.mark.parametrize(("record", "check"), PAIRS)
def test_contract(record: Record, check: str) -> None:
    """Tests that a problem keeps one part of the contract on an instance, with its defaults and with one variant.

    The checks take the variants in turn, so that each variant meets some; at length each meets all.
    What a check must see somewhere it may see under one variant only: such a check takes them all.
    """
    turn = list(CHECKS).index(check) % max(1, len(record.variants))
    fewer = {**record.sizes, **FEWER.get(record.name, {})}
    one = replace(record, variants=record.variants[turn : turn + 1], sizes=fewer)
    CHECKS[check].function(record if check in WITH_ALL_VARIANTS else one, SEEDS[:1])


@pytest.mark.thorough
@pytest.mark.parametrize("name", records())
def test_contract_at_length(name: str) -> None:
    """Tests that a problem keeps the whole contract on instances that the quick test does not see."""
    check_problem(name)
    check_problem(name, seeds=[4])


def test_a_case_is_solved_once_by_each_route(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that checks share what a route finds of a case, and that nothing of it is left once cases are forgotten."""
    asked = []

    def counted(problem: Any, route: str | None = None) -> Any:
        asked.append((id(problem), route))
        return solve(problem, route=route)

    monkeypatch.setattr(contract, "solve", counted)
    record = records()["transmission-maps"]
    forget()
    for again in (1, 2):
        for check in ("routes", "certificates", "solution-file", "heuristics"):
            CHECKS[check].function(record, SEEDS)
        assert None in {route for _, route in asked}
        assert set(routes_of(cases(record)[0].problem)) <= {route for _, route in asked}
        assert len(asked) == again * len(set(asked[: len(asked) // again]))
        forget()


def test_page_shows_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the page has the table that the command prints where all is kept.

    Each cell is tested above, so that it is enough to ask which check is about which problem.
    """
    for name, check in CHECKS.items():
        monkeypatch.setitem(CHECKS, name, replace(check, function=lambda *given: None))
    result = CliRunner().invoke(report, ["--table"])
    assert result.exit_code == 0
    assert shows("report", result.stdout)


@pytest.mark.parametrize("name", [name for name, entry in records().items() if entry.ordered])
def test_order_that_is_part_of_a_problem(name: str) -> None:
    """Tests that the order of each part that a record excepts does matter: without the exception the check fails."""
    entry = records()[name]
    for part in entry.ordered:
        others = {other: those for other, those in entry.ordered.items() if other != part}
        with pytest.raises(ContractBroken, match=f"^{name}, permutation: "):
            CHECKS["permutation"].function(replace(entry, ordered=others), range(6))


def test_report() -> None:
    """Tests that the report has a line for each check, and says what is not about a problem."""
    result = CliRunner().invoke(report, ["transmission-maps", "--seeds", "1"])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "transmission-maps"
    assert [line.split()[0] for line in lines[1:]] == list(CHECKS)
    assert {line.split()[1] for line in lines[1:]} == {"ok", "-"}
    assert CliRunner().invoke(report, ["fair-lsapp"]).exit_code == 2


def test_report_of_what_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no generator is told once, in the lines and beneath the table, and that all else is told by name."""
    bare = replace(records()["lsap"], family=None)
    monkeypatch.setitem(registry._BY_NAME, "lsap", bare)
    monkeypatch.setitem(registry._BY_CLASS, bare.problem, bare)
    mend = "name one that draws instances of the problem (optsched list families), and `sizes` that make them small"
    told = f"BROKEN  lsap, record: no generator: the record names the family None; {mend}"
    result = CliRunner().invoke(report, ["lsap"])
    assert (result.exit_code, result.stdout.count("no generator")) == (4, 1)
    assert result.stdout.splitlines()[1:3] == [f"  {'record':14}  {told}", f"  {'enumeration':14}  BROKEN  as above"]
    table = CliRunner().invoke(report, ["lsap", "--table"])
    assert (table.exit_code, table.stdout.count("no generator")) == (4, 1)
    assert table.stdout.count(" | 0; BROKEN by lsap |\n") > 2
    assert f"\n{told}\n" in table.stdout
    with pytest.raises(ContractBroken) as caught:
        CHECKS["routes"].function(bare)
    assert isinstance(caught.value.__cause__, NoGenerator)


@pytest.mark.parametrize(
    ("name", "sizes"), [("lsap", {"nodes": 50, "tasks": 60}), ("min-cost-flow", {"nodes": 4, "arcs": 40})]
)
def test_bug_too_large_sizes_hung(name: str, sizes: dict[str, int]) -> None:
    """Tests that too much to try is counted and told by every check, before anything is tried or solved."""
    entry = replace(records()[name], sizes=sizes)
    for check in CHECKS.values():
        if check.applies(entry) and check.name not in ("record", "known"):
            with pytest.raises(ContractBroken, match=rf"to try, more than {MOST_DECISIONS:,}: make `sizes`") as caught:
                check.function(entry)
            assert isinstance(caught.value.__cause__, TooLarge)


# Certificates with something changed in them -------------------------------------------------------------------------

DATA: dict[str, Any] = {"prices": {"n1": 3, "n2": [1, -4, 0]}, "limit": 7, "cover": ["t1", "t2"], "none": {}}


def test_what_is_tampered_with_is_a_copy() -> None:
    """Tests that as many copies come as were asked for, nearly all of them changed, and the data itself is not."""
    before = copy.deepcopy(DATA)
    found, again = (list(tampered(DATA, np.random.default_rng(0), 200)) for _ in range(2))
    assert before == DATA
    assert found == again
    assert len(found) == 200
    assert sum(changed != DATA for changed in found) > 180
    assert len({repr(changed) for changed in found}) > 100
    assert list(tampered({}, np.random.default_rng(0), 5)) == []


def test_every_place_and_every_sort_of_change() -> None:
    """Tests that numbers, entries, names and types are changed, deep inside too, and entries are left out."""
    found = list(tampered(DATA, np.random.default_rng(1), 400))
    assert any(changed.keys() < DATA.keys() for changed in found)
    assert any("limit" in changed and changed["limit"] in (6, 8) for changed in found)
    assert any(isinstance(changed.get("limit"), str | None) and "limit" in changed for changed in found)
    inner = [changed["prices"] for changed in found if isinstance(changed.get("prices"), dict)]
    assert any(isinstance(prices.get("n2"), list) and len(prices["n2"]) == 2 for prices in inner)
    assert any(prices.get("n1") == 4 and prices.get("n2") == [2, -3, 1] for prices in inner)
    assert any(changed.get("cover") == ["t2", "t1"] for changed in found)


@pytest.mark.parametrize("name", [name for name, entry in records().items() if places(entry)])
def test_bug_overfull_nodes_passed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a heuristic which puts all tasks on the first node is named by the check, where nodes hold less."""

    def overfull(problem: Any, rng: Any) -> Any:
        return np.zeros(len(problem.tasks), dtype=np.int64)

    monkeypatch.setattr(measured, "applicable", lambda problem, **_: [heuristic(overfull)])
    if name == "latency":  # its nodes hold all tasks
        CHECKS["heuristics"].function(records()[name], SEEDS[:1])
        return
    with pytest.raises(ContractBroken, match=r"overfull: .*(slots|capacity)\("):
        CHECKS["heuristics"].function(records()[name], SEEDS[:1])


def test_bug_a_field_was_not_named() -> None:
    """Tests that the message on limits names what is limited, and the field of the record that draws it."""
    bare = replace(records()["lsap-fairness"], sizes={"nodes": 1, "tasks": 1}, variants=())
    with pytest.raises(ContractBroken, match="two values of what is limited: locality cost; let the field sizes"):
        CHECKS["limits"].function(bare, SEEDS[:1])
