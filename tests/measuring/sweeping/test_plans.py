"""Plans of sweeps: which runs there are, under which names, and what they share."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sweeps import small_plan

import optsched
from optsched.core.errors import InputError, UsageError
from optsched.core.instance import Instance
from optsched.measuring.sweeping.plans import Plan, planned


def test_runs_share_optima() -> None:
    """Tests that there is a run for each instance, heuristic and seed, and an optimum for each instance."""
    plan = small_plan(seeds=3, instances=2)
    assert len(plan) == len(plan.unique) == 2 * 2 * 3
    assert len({run.posed.key for run in plan.runs}) == 2
    assert len({id(run.posed) for run in plan.runs}) == 2
    assert plan.runs[-1].told == "lsap-n4-t5-seed1, lsap, rand, seed 2"


def test_the_same_by_content_is_one_run() -> None:
    """Tests that an instance of two names, and a heuristic of two labels, are one run each, called by both."""
    instance = optsched.load("papers/guo-fig2")
    assert isinstance(instance, Instance)
    plan = planned([instance, replace(instance, name="again")], "lsap", ["dl", "dl,reading=sweep"])
    assert (len(plan), len(plan.unique)) == (4, 1)
    assert {run.called for run in plan.runs} == {
        (name, name, label, "") for name in ("guo-fig2", "again") for label in ("dl", "dl,reading=sweep")
    }


def test_variants_of_parameters() -> None:
    """Tests that each choice of parameters is tried, and that a problem without them is there once."""
    plan = planned("papers/guo-fig2", ["lsap", "latency"], ["dl", "labl"], parameters=[{"w_rem": 3}, {"w_rem": 5}])
    assert [(run.posed.problem.name, run.variant) for run in plan.runs] == [
        ("lsap", ""),
        ("latency", "w_rem=3"),
        ("latency", "w_rem=5"),
    ]
    lists = planned("papers/guo-fig2", "lsap", "dl", parameters=[{"lsap": {"levels": (0, 1, 2)}}, {}])
    assert [run.variant for run in lists.runs] == ["levels=0,1,2", ""]


def test_one_choice_of_parameters_has_no_name() -> None:
    """Tests that runs are told by their parameters only where there are several to choose from."""
    (run,) = planned("papers/guo-fig2", "latency", "labl", parameters={"w_rem": 5}).runs
    assert (run.variant, run.posed.problem.parameters["w_rem"]) == ("", 5)


def test_plans_together() -> None:
    """Tests that plans add up, and that the digest tells plans of other runs or names apart."""
    one, two = small_plan(seeds=1), small_plan(seeds=2)
    assert (len(one + two), len((one + two).unique)) == (12, 8)
    assert one.digest != two.digest == small_plan(seeds=2).digest
    assert Plan(()).digest != one.digest


def test_faults_are_found_beforehand() -> None:
    """Tests that what is asked for wrongly, and heuristics that no process can import, are refused."""
    with pytest.raises(UsageError, match="there is no heuristic"):
        planned("papers/guo-fig2", "lsap", "dll")
    with pytest.raises(InputError, match="no such file"):
        planned("nowhere", "lsap", "dl")
    with pytest.raises(UsageError, match="up to 9223372036854775807"):
        planned("papers/guo-fig2", "lsap", "dl", [2**63])
    with pytest.raises(UsageError, match="in processes of their own"):
        planned("papers/guo-fig2", "lsap", lambda problem, rng: [])


def test_refused_problems_are_told() -> None:
    """Tests that problems that were not asked for and cannot be posed are told."""
    told: list[str] = []
    planned("papers/guo-fig2", heuristics="dl", refused=lambda instance, name, error: told.append(name))
    assert "generalized-assignment" in told
