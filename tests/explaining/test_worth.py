"""What one more slot or replica is worth: solved again by another route on a file that was changed by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import optsched
from optsched.errors import UsageError
from optsched.explaining import explain
from optsched.explaining.chains import better_by
from optsched.explaining.worth import Worth
from optsched.gaps import Reference
from optsched.instance import Cluster, Instance, Ragged, Workload
from optsched.instances.generate import generate
from optsched.placement import Placement
from optsched.problems import Lsap, Problem, problem
from optsched.registry import Record, records
from optsched.results import Limit, Solution, Termination, Value
from optsched.routes import solve

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")

PLACING = [entry for entry in records().values() if entry.problem_class.decided is Placement]

FIELDS = {"map": ("slots", "idle_slots"), "reduce": ("reduce_slots", "idle_reduce_slots")}


def changed(instance: Instance, worth: Worth, folder: Path) -> Instance:
    """The instance with the change, made in its file."""
    file = folder / "changed.json"
    optsched.save(instance, file)
    document: dict[str, Any] = json.loads(file.read_text())
    node = next(entry for entry in document["nodes"] if entry["id"] == worth.node)
    if worth.change == "slot":
        slots, idle = FIELDS[worth.of]
        node[idle] = node.get(idle, node.get(slots, 1)) + 1
        node[slots] = node.get(slots, 1) + 1
    else:
        task = next(entry for entry in document["tasks"] if entry["id"] == worth.of)
        task.setdefault("replicas", []).append(worth.node)
    file.write_text(json.dumps(document))
    loaded = optsched.load(file)
    assert isinstance(loaded, Instance)
    return loaded


def check(posed: Problem, here: Solution, folder: Path, most: int = 4) -> list[Worth]:
    """Hold what changes are worth against trying every placement of the changed instance; gives it back."""
    found = explain(posed, here, worth=most)
    best: Value = found.report.reference.solution.objective  # type: ignore[assignment]
    assert len(found.worths) <= most
    for worth in found.worths:
        again = type(posed)(changed(posed.instance, worth, folder), **posed.parameters)
        solved = solve(again, route="brute-force")
        assert (worth.objective, worth.gain) == (solved.objective, better_by(posed, best, solved.objective))
        assert isinstance(solved.decision, Placement)
        if worth.promised is not None and not worth.placed:
            assert worth.gain is not None
            assert worth.gain <= worth.promised if worth.change == "slot" else worth.gain >= worth.promised
    return list(found.worths)


@pytest.mark.parametrize("record", PLACING, ids=lambda record: record.name)
def test_worth_is_what_solving_again_gives(record: Record, tmp_path: Path) -> None:
    """Tests slots and replicas in each problem of the registry and its variants by enumeration of a changed file."""
    asked: set[str] = set()
    for seed in (2, 3):
        for parameters in ({}, *record.variants):
            posed = record.problem_class(generate(str(record.family), seed, **record.sizes), **parameters)
            best = solve(posed)
            if best.optimal and len(posed.tasks):
                asked |= {worth.change for worth in check(posed, best, tmp_path, 3)}
    if record.name in ("utility", "generalized-assignment"):
        assert not asked, "these have neither slots nor replicas"
    elif record.name == "latency":
        assert asked <= {"replica"}
    else:
        assert "slot" in asked


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["lsap", "fair-lsap", "lsap-fairness", "worst-group", "flow", "transmission-maps"])
def test_worth_on_200_instances(name: str, tmp_path: Path) -> None:
    """Tests what slots and replicas are worth on 200 generated instances of each assignment problem."""
    record = records()[name]
    seen = 0
    for seed in range(200):
        posed = problem(name, generate(str(record.family), seed, **record.sizes))
        found = check(posed, solve(posed), tmp_path, 2)
        seen += sum(any(worth.gain or ()) for worth in found)
    assert seen > 20


@pytest.mark.thorough
def test_worth_on_200_instances_of_latency(tmp_path: Path) -> None:
    """Tests what replicas are worth on 200 generated instances of `latency`."""
    seen = 0
    for seed in range(200):
        posed = problem("latency", generate("latency", seed, nodes=4, tasks=5, replicas=1))
        seen += len(check(posed, solve(posed), tmp_path, 2))
    assert seen > 20


def contended() -> Lsap:
    """Three tasks whose data is on a, which has one slot; b and c have one each."""
    workload = Workload(["t1", "t2", "t3"], replicas=Ragged.from_rows([[0], [0], [0]]))
    return Lsap(Instance(Cluster(["a", "b", "c"]), workload))


def test_slots_where_prices_are_and_replicas_where_it_costs() -> None:
    """Tests that the dear slot comes first, that full nodes follow, and that a replica goes where the task runs."""
    found = explain(contended(), [1, 2, 0], worth=5)
    assert found.gap == (0,)
    told = {(worth.change, worth.node): worth for worth in found.worths}
    slot = told["slot", "a"]
    assert (slot.gain, slot.objective, slot.promised, slot.placed) == ((1,), (1,), (1,), 0)
    assert told["slot", "b"].gain == (0,)
    replica = told["replica", "b"]
    assert (replica.gain, replica.promised) == ((1,), (1,))
    assert [worth.gain for worth in found.worths] == sorted((worth.gain for worth in found.worths), reverse=True)  # type: ignore[type-var]


def test_a_slot_that_lets_one_more_task_run() -> None:
    """Tests that where tasks wait a slot places one more, that this is told, and that no price is promised."""
    workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[], []]))
    found = explain(Lsap(Instance(Cluster(["a"]), workload)), [0, None], worth=1)
    (worth,) = found.worths
    assert (worth.gain, worth.placed, worth.promised) == ((-1,), 1, None)
    assert "one more map slot on a: 1 more locality-cost (2), with 1 task more placed" in str(found)
    assert found.to_dict()["worths"] == [
        {"change": "slot", "node": "a", "of": "map", "promised": None, "objective": [2], "gain": [-1], "placed": 1}
    ]


def test_no_price_where_a_slot_changes_what_tasks_pay() -> None:
    """Tests that nothing is promised of a slot where the groups' shares of all slots, and so all costs, are others."""
    posed = problem("fair-lsap", generate("fair-lsap", 13, nodes=3, slots=1, tasks=2))
    slots = [worth for worth in explain(posed, solve(posed), worth=5).worths if worth.change == "slot"]
    assert slots
    for worth in slots:
        assert worth.gain is not None
        assert worth.promised is None or worth.placed or worth.gain <= worth.promised


def test_bounds_of_worth() -> None:
    """Tests that no more is solved than was asked for, none without a proved optimum, and that nonsense is refused."""
    assert explain(contended(), [1, 2, 0]).worths == ()
    assert len(explain(contended(), [1, 2, 0], worth=2).worths) == 2
    held = replace(solve(contended()), termination=Termination.FEASIBLE, limit=Limit.TIME)
    assert explain(contended(), [1, 2, 0], worth=2, reference=held).worths == ()
    for wrong in (-1, 1.5, True):
        with pytest.raises(UsageError, match="give how many changed instances to solve"):
            explain(contended(), [1, 2, 0], worth=wrong)  # type: ignore[arg-type]


def test_unproved_worth_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where solving again ends without a proof, it is said, and no gain is told."""
    posed = contended()
    best = solve(posed)
    cut = replace(best, termination=Termination.FEASIBLE, limit=Limit.TIME, bound=(None,), certificates=())
    monkeypatch.setattr(Reference, "solved", lambda problem, profile: Reference(posed, solution=cut))
    found = explain(posed, [1, 2, 0], reference=best, worth=1)
    (worth,) = found.worths
    assert (worth.gain, worth.objective) == (None, None)
    assert str(found).endswith("not proved within the limit")
