"""Files of ordered vectors of utilities: exact numbers there and back, and every fault with its place."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from optsched.errors import InputError, UsageError
from optsched.fronts import Leximin
from optsched.instance import Cluster, Instance, Workload
from optsched.instances.claim_files import LEXIMIN, claim_document, read_leximin, write_claim
from optsched.placement import Placement
from optsched.results import Certificate, Limit, Proof


def instance(*tasks: str) -> Instance:
    """Two nodes and the tasks."""
    return Instance(Cluster(["a", "ü"]), Workload(list(tasks or ("t1", "t2"))))


def vector(on: Instance) -> Leximin:
    """Two utilities, the second without a certificate."""
    proof = Certificate("lowest-utility", Proof.DUAL, Fraction(-1, 3), {"map_prices": {"j": 3}})
    utilities = (Fraction(-1, 3), Fraction(2**80 + 1, 3**20))
    placement = Placement.of([1, None])
    return Leximin("utility", {"penalty": 1000}, on.sha256, placement, utilities, (proof, None), Limit.TIME)


def test_round_trip(tmp_path: Path) -> None:
    """Tests that everything comes back as it was, numbers exactly."""
    on = instance()
    for name in ("leximin.json", "leximin.npz"):
        write_claim(vector(on), on, tmp_path / name)
        assert read_leximin(tmp_path / name, on) == vector(on)
    document = json.loads((tmp_path / "leximin.json").read_text())
    assert (document["format"], document["utilities"][0], document["certificates"][1]) == (LEXIMIN, "-1/3", None)


def test_another_instance(tmp_path: Path) -> None:
    """Tests that a vector of another instance is read without its placement, and not written with wrong ids."""
    on = instance()
    for name in ("leximin.json", "leximin.npz"):
        write_claim(vector(on), on, tmp_path / name)
        read = read_leximin(tmp_path / name, instance("x"))
        assert (len(read.placement), read.utilities) == (0, vector(on).utilities)
    with pytest.raises(UsageError, match="the ordered vector is of another instance than this: give the one it is of"):
        claim_document(vector(on), instance("x"))


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        (lambda d: d.pop("utilities"), ["utilities: is missing"]),
        (lambda d: d.update(utilities=1), ["utilities: expected a list, got 1"]),
        (
            lambda d: d.update(utilities=[1]),
            ["certificates: expected 1, one an entry of utilities (null where"],
        ),
        (
            lambda d: d["certificates"].append(3),
            ["certificates[2]: expected an object, got 3", "certificates: expected 2, one an entry of utilities"],
        ),
        (
            lambda d: (d["certificates"][0].update(claim="x"), d["placement"].update(t1=7)),
            ["certificates[0].claim: expected an integer", "placement.t1: the instance has no node 7"],
        ),
        (lambda d: d.update(placement=None), ["placement: expected an object {task: node or null}"]),
        (lambda d: d.update(format="optsched-solution/1"), ["format: is no leximin file: it must begin"]),
    ],
)
def test_faults(tmp_path: Path, change: Any, faults: list[str]) -> None:
    """Tests that each fault is told with its place, all of them together."""
    on = instance()
    document = claim_document(vector(on), on)
    change(document)
    file = tmp_path / "leximin.json"
    file.write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        read_leximin(file, on)
    told = [str(fault) for fault in caught.value.faults]
    assert len(told) == len(faults)
    assert all(one.startswith(fault) for one, fault in zip(told, faults, strict=True))
