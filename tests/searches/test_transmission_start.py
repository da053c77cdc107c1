"""The first placement of the search of `transmission`: no longer than there is time, whatever stops it."""

from __future__ import annotations

import json

import pytest
from agreement import check_routes
from stopping import clock_of_looks
from transmission_instances import drawn

from optsched.certificates import certify
from optsched.core.deadline import deadline
from optsched.core.errors import InputError
from optsched.core.results import Limit
from optsched.instances.files import parse
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.routes import solve


@pytest.mark.parametrize("held", [True, False])
def test_bug_first_placement_did_not_look_at_the_clock(held: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a deadline at the first, second, ... look at the clock: always a placement and a bound that is proved."""
    problem = Transmission(drawn(0, 4, 3, 5, slots=1))
    monkeypatch.setattr("optsched.problems.transmission_bounds._HELD", 2**24 if held else 0)
    cut = []
    for looks in (0, 1, 2, 3, 5, 8, 13, 20, 30, 45, 70):
        with clock_of_looks(), deadline(looks):
            solution = solve(problem)
        assert solution.objective is not None
        assert solution.objective >= (263,) >= solution.bound
        assert certify(problem, solution).proved
        cut.append(solution.limit is Limit.TIME)
    assert cut[:4] == [True] * 4
    assert held or all(cut)


def test_bug_maps_alone_were_refused() -> None:
    """Tests sizes near 2^53 that maps alone may not have, since their costs are added up more roughly."""
    document = {
        "format": "optsched/1",
        "nodes": [
            {"id": "n0", "slots": 1, "rack": "r2", "reduce_slots": 2},
            {"id": "n1", "slots": 1, "rack": "r2"},
            {"id": "n2", "slots": 2, "rack": "r1"},
        ],
        "tasks": [
            *({"id": name, "replicas": ["n0", "n1", "n2"], "size": 2**49, "job": "j"} for name in ("m0", "m1", "m2")),
            {"id": "m3", "replicas": ["n2"], "size": 2**49, "job": "j"},
            {"id": "r0", "kind": "reduce", "job": "j"},
        ],
        "jobs": [{"id": "j"}],
        "topology": {"distance": [[0, 6, 8], [8, 0, 7], [3, 5, 0]]},
        "shuffle": [{"map": "m0", "reduce": "r0", "size": 1}, {"map": "m3", "reduce": "r0", "size": 3}],
    }
    problem = Transmission(parse(json.dumps(document)))
    with pytest.raises(InputError):
        TransmissionMaps(problem.instance)
    check_routes(problem, {})
