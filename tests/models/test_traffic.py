"""Models of `traffic`: what they refuse, and that they agree where enumeration cannot follow."""

from __future__ import annotations

import pytest
from traffic_instances import EMPTY, posed

from optsched import models
from optsched.core.errors import TooLarge, UsageError
from optsched.core.instance import FINISHED, MAP, PENDING, REDUCE, Cluster, Instance, Ragged, State, Workload
from optsched.instances.generate import generate
from optsched.problems import Traffic
from optsched.routes import solve


def test_models_refuse() -> None:
    """Tests the messages where there is nothing to model, too much, or a limit that is none."""
    module = models.module("traffic")
    for build in (module.build_pyomo, module.build_pulp):
        with pytest.raises(UsageError, match="3 maps are pending, and only 2 map slots are idle"):
            build(posed([[0]] * 3, slots=[1, 1], capacity="slots"))
        with pytest.raises(UsageError, match="limit=-1: give a whole number of maps"):
            build(EMPTY, limit=-1)
    with pytest.raises(TooLarge, match="39 variables"):
        module.build_pulp(EMPTY, max_variables=38)
    size, model = module.literal_size(EMPTY), module.build_pulp(EMPTY)
    assert (len(model.variables()), len(model.constraints())) == (size.variables, size.constraints)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_models_agree_beyond_enumeration(seed: int) -> None:
    """Tests that models and arrays agree on the least traffic where nothing can be enumerated."""
    instance = generate("traffic", seed, nodes=12, tasks=40, datacenters=4, jobs=5, smallest=1, spare=0.1)
    for reduces in ("together", "free"):
        posed_again = Traffic(instance, capacity="slots", reduces=reduces)
        values = {solve(posed_again, route=route).objective for route in ("search", "arrays", "pyomo")}
        assert len(values) == 1


def test_classes() -> None:
    """Tests that equal maps are one class of the compact model, and that `per_pair=True` keeps them apart."""
    module = models.module("traffic")
    model = module.build_pyomo(EMPTY)
    assert model.members["j0m0"] == ("j0m0", "j0m1", "j0m2")
    assert (len(model.CLASSES), len(module.build_pyomo(EMPTY, per_pair=True).CLASSES)) == (2, 6)


@pytest.mark.parametrize("route", ["pyomo", "pulp"])
def test_what_ended_maps_send_is_in_both_models(route: str) -> None:
    """Tests that what ended maps send to a reduce that waits is in the objective of both models.

    The only slot for the reduce is away from the map that ended, whose 100 MB cross.
    """
    workload = Workload(
        ["m1", "m2", "r"],
        kind=[MAP, MAP, REDUCE],
        replicas=Ragged.from_rows([[0], [1], []]),
        size=[100, 10, 0],
        job=[0, 0, 0],
        job_ids=["j"],
        filter_ratio=[1.0],
    )
    cluster = Cluster(["a", "b"], datacenter=[0, 1], datacenter_ids=["east", "west"], reduce_slots=[0, 1])
    state = State.initial(cluster, workload, status=[FINISHED, PENDING, PENDING], node=[0, -1, -1])
    problem = Traffic(Instance(cluster, workload, state), capacity="slots")
    found = solve(problem, route=route)
    assert (found.optimal, found.objective) == (True, (100, 1))
