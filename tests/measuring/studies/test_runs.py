"""Many gaps at once: what is planned, what is refused before anything runs, what is measured."""

from typing import Any

import numpy as np
import pytest

from optsched import gap, load, problem
from optsched.core.errors import UsageError
from optsched.heuristics import run
from optsched.instances.library import NETWORK, SCALE, library
from optsched.measuring.studies.runs import measure, plan


def test_plan() -> None:
    """Tests that all that fits is planned where nothing is named, and who gets the parameters of one and of all."""
    work = plan("papers/guo-fig2")
    assert [part.problem.name for part in work] == ["lsap", "latency"]
    assert {choice.label for choice in work[0].choices} >= {"dl", "lsap-sched"}
    assert all(part.group == "papers/guo-fig2" for part in work)
    work = plan(
        "papers/guo-table2", ["lsap", "worst-group"], (), {"levels": (0, 1, 2), "worst-group": {"levels": (0, 2, 3)}}
    )
    assert [part.problem.parameters["levels"] for part in work] == [(0, 1, 2), (0, 2, 3)]


def test_measured_as_gap_does() -> None:
    """Tests that each run is what `gap` gives, in order of heuristics and seeds; a problem is solved once."""
    steps: list[str] = []
    found = list(measure(plan("papers/guo-fig2", "lsap", ["rand", "dl"]), [3, 1], step=steps.append))
    posed = problem("lsap", load("papers/guo-fig2"))
    expected = [("rand", 3), ("rand", 1), ("dl", 3), ("dl", 1)]
    assert [(entry.heuristic, entry.report.seed) for entry in found] == expected
    assert steps == [f"guo-fig2 lsap {label} seed {seed}" for label, seed in expected]
    for entry in found:
        assert entry.report.objective == gap(posed, entry.heuristic, entry.report.seed).objective
    assert len({id(entry.report.reference) for entry in found}) == 1


@pytest.mark.parametrize(
    ("problems", "heuristics", "parameters", "message"),
    [
        ("min-cost-flow", (), {}, "no heuristics"),
        ("lsap", "labl", {}, "labl serves latency; not lsap"),
        ("lsap", (), {"level": 1}, 'no parameter|parameter "level"'),
        ("lsap", (), {"lsap": {"level": 1}}, "level"),
    ],
)
def test_wrong_plans(problems: Any, heuristics: Any, parameters: Any, message: str) -> None:
    """Tests that what does not exist or go together is reported before anything runs."""
    with pytest.raises(UsageError, match=message):
        plan("papers/guo-fig2", problems, heuristics, parameters)


def seeds_run(heuristic: Any) -> list[int]:
    """The seeds with which a heuristic is measured where nobody says which."""
    work = plan("generated/lsap-n20-t15-seed0", "lsap", heuristic)
    return [entry.report.seed for entry in measure(work, None)]


def test_what_is_not_repeatable_is_reported() -> None:
    """Tests that a heuristic with random numbers from elsewhere runs ten times, and a warning says what is wrong."""
    elsewhere = np.random.default_rng(1)
    with pytest.warns(UserWarning, match=r"is not repeatable: two runs on lsap-n20-t15-seed0 with seed 0 differ"):
        assert seeds_run(lambda problem, rng: elsewhere.permutation(20)[:15]) == list(range(10))


@pytest.mark.thorough
def test_runs_without_draws_do_the_same_with_every_seed() -> None:
    """Tests every heuristic of the list: where it draws nothing the seeds agree, and where it draws some differ."""
    names = [name for name, entry in library().items() if not {SCALE, NETWORK} & set(entry.tags)]
    drew: set[str] = set()
    differed: set[str] = set()
    for part in plan([name for name in names if name.startswith(("papers/", "examples/", "generated/"))]):
        if len(part.problem.tasks) > 20:
            continue
        for choice in part.choices:
            runs = [run(part.problem, choice.entry, seed) for seed in range(2)]
            same = all(entry.decision == runs[0].decision for entry in runs)
            name = choice.entry.name
            if not any(entry.drawn for entry in runs):
                assert same, f"{name} on {part.problem.instance.name} in {part.problem.name}"
            else:
                drew.add(name)
                differed |= set() if same else {name}
    assert drew == differed
    assert {"dl", "rand", "fair", "delay", "capacity", "probabilistic"} <= drew
    assert not {"fifo", "lsap-sched", "labl", "flow-sched", "quincy", "ras", "observed"} & drew
