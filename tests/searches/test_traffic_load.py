"""The least load of `traffic` by best places: against HiGHS on the whole program, with prices that prove it."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.certificates.checking import proved_bound
from optsched.certificates.traffic import SlotPrices
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.results import Proof
from optsched.instances.generate import generate
from optsched.problems.traffic import Traffic
from optsched.routes import solve
from optsched.searches.traffic import TrafficSearch
from optsched.searches.traffic_load import BestPlaces, LoadProgram
from optsched.solvers.profiles import Profile


def drawn(seed: int, capacity: str = "none", **sizes: object) -> Traffic:
    """A small instance of the family, with running reduces now and then."""
    sizes = {"nodes": 6, "tasks": 12, "datacenters": 3, "jobs": 4, "running": seed % 3, "replicas": 3, **sizes}
    instance = generate("traffic", seed, spare=0.25 * (seed % 4), smallest=128 if seed % 2 else 1, **sizes)
    assert isinstance(instance, Instance)
    return Traffic(instance, capacity=capacity)


@pytest.mark.parametrize("capacity", ["none", "slots"])
def test_against_the_whole_program(capacity: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the least load on drawn instances against limit after limit with HiGHS, and the proofs of it."""
    by_places: list[int] = []
    plain = TrafficSearch._least_by_places
    monkeypatch.setattr(
        TrafficSearch, "_least_by_places", lambda search, known: by_places.append(1) or plain(search, known)
    )
    for seed in range(5):
        problem = drawn(seed, capacity)
        solution, whole = solve(problem), solve(problem, route="arrays")
        assert solution.objective == whole.objective
        if solution.objective is None:
            continue
        for certificate, value in zip(solution.certificates, solution.objective, strict=True):
            if certificate.kind is Proof.DUAL:
                assert proved_bound(problem, certificate, solution.objective) == value
    assert len(by_places) >= 1


def test_load_above_an_even_spread() -> None:
    """Tests that prices in small parts prove a load that no counting does, and jobs with several best datacenters."""
    cluster = Cluster(["a", "b", "c"], datacenter=[0, 1, 2], datacenter_ids=["east", "west", "north"])
    # Six blocks lie in the east alone, four in east and west; the second job may be in either.
    rows = [[0]] * 6 + [[0, 1]] * 4 + [[], []]
    workload = Workload(
        [f"t{task}" for task in range(12)],
        kind=[0] * 10 + [1, 1],
        job=[0] * 6 + [1] * 4 + [0, 1],
        job_ids=["i", "j"],
        size=[10] * 10 + [0, 0],
        filter_ratio=[1.5, 1.5],
        replicas=Ragged.from_rows(rows),
    )
    problem = Traffic(Instance(cluster, workload))
    solution = solve(problem)
    assert solution.objective == (0, 6)
    assert [certificate.kind for certificate in solution.certificates] == [Proof.DUAL, Proof.DUAL]
    assert proved_bound(problem, solution.certificates[1], solution.objective) == 6
    places = BestPlaces.of(problem, SlotPrices.none(problem), None)
    assert places is not None
    assert places.host.tolist() == [0, -1]
    assert [(choice.job, choice.host, set(choice.sets.tolist())) for choice in places.choices] == [
        (1, 0, {1}),
        (1, 1, {2}),
    ]
    program = LoadProgram(places)
    assert program.placement(np.full(len(program.relaxed.objective), 0.5)) is None


def test_what_is_left_to_the_whole_program() -> None:
    """Tests that several bundles a job, and prices past what integers hold, have no best places."""
    problem = drawn(1)
    free = Traffic(problem.instance, reduces="free")
    assert BestPlaces.of(free, SlotPrices.none(free), None) is None
    many = np.full(len(problem.datacenters), 2**52)
    assert BestPlaces.of(problem, SlotPrices(many, many, 1), None) is None
    search = TrafficSearch(problem, Profile("exact", time_limit=0.0))
    known = search.priced(None)
    assert search._least_by_places(known) is None
