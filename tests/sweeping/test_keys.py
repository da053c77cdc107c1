"""Keys: what is in them, and what is not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import optsched
from optsched.instance import Instance
from optsched.problems import Latency
from optsched.solvers.profiles import load_profile
from optsched.studies.choices import chosen
from optsched.sweeping import keys
from optsched.sweeping.keys import canonical, heuristic_parameters, optimum_key, problem_source, run_key

EXACT = load_profile("exact")


def load(name: str) -> Instance:
    """An instance of the library."""
    found = optsched.load(name)
    assert isinstance(found, Instance)
    return found


FIGURE = load("papers/guo-fig2")


def test_what_is_in_the_key_of_an_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that instance, problem, parameters, options of the solver and version count, each by itself."""
    posed = Latency(FIGURE)
    found = {
        optimum_key(posed, EXACT),
        optimum_key(Latency(load("papers/guo-table2")), EXACT),
        optimum_key(optsched.problem("lsap", FIGURE), EXACT),
        optimum_key(Latency(FIGURE, w_rem=5), EXACT),
        optimum_key(posed, replace(EXACT, node_limit=7)),
        optimum_key(posed, replace(EXACT, highs={"presolve": "off"})),
    }
    monkeypatch.setattr(keys, "code_version", lambda: "99")
    found.add(optimum_key(posed, EXACT))
    assert len(found) == 7


def test_what_is_not_in_the_key_of_an_optimum() -> None:
    """Tests that names, and the limit on time, do not count."""
    renamed = Latency(replace(FIGURE, name="another", description="said", labels={"a": "b"}))
    assert optimum_key(renamed, replace(EXACT, name="mine", time_limit=1.0)) == optimum_key(Latency(FIGURE), EXACT)


def test_what_is_in_the_key_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that optimum, heuristic, parameters, seed and source count, and that a default is what it stands for."""
    one = chosen("dl")
    before = run_key("a", one, 0)
    assert run_key("a", chosen("dl,reading=sweep"), 0) == before
    others = {
        run_key("b", one, 0),
        run_key("a", one, 1),
        run_key("a", chosen("rand"), 0),
        run_key("a", chosen("dl,reading=heartbeat"), 0),
        run_key("a", chosen("dl,max_idle_rounds=7"), 0),
    }
    monkeypatch.setattr(keys, "source_digest", lambda name: "edited")
    others.add(run_key("a", one, 0))
    assert len(others - {before}) == 6


def test_parameters_in_force() -> None:
    """Tests the values of a heuristic of the list, with defaults, and of a user's own, as given."""
    assert heuristic_parameters(chosen("dl,max_idle_rounds=7")) == {"reading": "sweep", "max_idle_rounds": "7"}
    assert heuristic_parameters(chosen("builtins:max,a=1")) == {"a": 1}


def test_canonical() -> None:
    """Tests that order, tuples and kinds of mappings do not count, and that fractions are written."""
    assert canonical({"b": (1, 2), "a": Fraction(1, 3)}) == canonical({"a": "1/3", "b": [1, 2]})


def test_a_problem_of_another_package() -> None:
    """Tests that the source of a problem counts where this package does not bring it."""
    posed = Latency(FIGURE)
    assert problem_source(posed) == ""
    again = type("Own", (Latency,), {"__module__": __name__})(FIGURE)
    assert len(problem_source(again)) == 64
    assert optimum_key(again, EXACT) != optimum_key(posed, EXACT)
