"""A problem with a wrong record is called by its name, and a bare one gets nothing that its class did not bring."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner
from wrong_problems import BARE, BORROWED, WorstGroupWrong

from optsched.certificates import certify
from optsched.core import registry
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.registry import Record, Scaling, records
from optsched.core.results import Proof
from optsched.routes import routes_of, solve
from optsched.testing import CHECKS, ContractBroken, check_problem, forget
from optsched.testing.__main__ import report


class Point:
    """An entry point of a package outside."""

    name, value, dist = "wrong", "package:RECORD", None

    def __init__(self, entry: Record) -> None:
        self.entry = entry

    def load(self) -> Record:
        return self.entry


@pytest.fixture
def registered(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Record]:
    """The record of the parameter, registered as a package outside does it, until the test is over."""
    points = [Point(request.param)]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points if group == registry.GROUP else [])
    records.cache_clear()
    forget()
    yield request.param
    records.cache_clear()
    forget()


def two_groups() -> Instance:
    """Two of three tasks have their data on one node: the one that gives way should be of the larger group."""
    jobs = {"job": np.array([0, 1, 1]), "job_ids": ["i", "j"], "job_group": [0, 1]}
    groups = {"group_ids": ["small", "large"], "group_weight": [1.0, 1.0]}
    workload = Workload(["p", "q", "r"], replicas=Ragged.from_rows([[0], [0], [1]]), **jobs, **groups)
    return Instance(Cluster(["a", "b", "c"]), workload)


@pytest.mark.parametrize("registered", [BARE], indirect=True)
def test_bare_record_has_enumeration_and_nothing_else(registered: Record) -> None:
    """Tests that only judged enumeration serves a class without routes, and finds the optimum, which is 1/2."""
    problem = WorstGroupWrong(two_groups())
    assert routes_of(problem) == ("brute-force",)
    solution = solve(problem)
    assert (solution.optimal, solution.objective, solution.certificate) == (True, (Fraction(1, 2),), Proof.ENUMERATION)
    assert certify(problem, solution).valid
    for check in ("record", "routes", "permutation"):
        with pytest.raises(ContractBroken, match=rf"^worst-group-wrong, {check}: .*no generator"):
            CHECKS[check].function(registered)


GENERATED = replace(BARE, family=BORROWED.family, sizes=BORROWED.sizes, scaling=BORROWED.scaling)


def test_a_record_that_is_not_installed() -> None:
    """Tests that a record that no package names is said to be none of the registry's, with the mend."""
    with pytest.raises(ContractBroken, match="the registry has no record of it: install the package that names it"):
        CHECKS["record"].function(GENERATED)


@pytest.mark.parametrize("registered", [GENERATED], indirect=True)
def test_bare_record_with_a_generator_keeps_the_contract(registered: Record) -> None:
    """Tests that the same class keeps all of the contract where nothing but enumeration answers for it."""
    check_problem(registered)


def test_bug_count_without_units_could_not_keep_the_contract() -> None:
    """Tests that a scaling may name nothing where nothing is written in units, and that all powers are 0 then.

    Such a count, whose record CONTRIBUTING shows, was refused: "the scaling changes nothing".
    """
    CHECKS["scaling"].function(replace(GENERATED, scaling=Scaling((0,))))
    for powers in ((1,), (0, 0), ()):
        with pytest.raises(ContractBroken, match=r"scaling names nothing .* powers are \(0,\) then"):
            CHECKS["scaling"].function(replace(GENERATED, scaling=Scaling(powers)))


@pytest.mark.parametrize("registered", [BORROWED], indirect=True)
def test_bug_borrowed_parts_called_a_false_optimum_proved(registered: Record) -> None:
    """Tests that a record whose parts ask those of another problem fails by name, wherever the truth is asked for.

    Such a class had its base's routes without a word, and the suite said nothing of its optimum. A record that names
    the other problem's parts themselves is refused before that (tests/core/test_registry.py).
    """
    broken = {}
    for name, check in CHECKS.items():
        if check.applies(registered):
            try:
                check.function(registered)
            except ContractBroken as error:
                broken[name] = str(error)
    assert {"routes", "models", "permutation", "scaling", "export"} <= set(broken)
    assert all(entry.startswith(f"worst-group-wrong, {name}: ") for name, entry in broken.items())
    with pytest.raises(ContractBroken, match=r"^worst-group-wrong, "):
        check_problem("worst-group-wrong")


class NoProblem:
    """A class that is called like a problem, and is none."""

    name = "no-problem"


def test_bug_record_of_no_problem_ended_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a record of a class that is no problem is called broken, line for line, and ends nothing.

    The question which checks are about it raised AttributeError. A package outside is refused before that.
    """
    wrong = Record(name="no-problem", problem=f"{__name__}:NoProblem", family="lsap")
    with pytest.raises(ContractBroken, match=r"^no-problem, "):
        check_problem(wrong)
    with pytest.raises(ContractBroken, match=r"^no-problem, scarce: AttributeError: "):
        CHECKS["scarce"].applies(wrong)
    monkeypatch.setitem(registry._BY_NAME, wrong.name, wrong)
    result = CliRunner().invoke(report, ["no-problem"])
    assert result.exit_code == 4
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines()[1:])
    assert set(lines) == set(CHECKS)
    assert lines["scarce"].startswith("BROKEN  no-problem, scarce: AttributeError: ")
