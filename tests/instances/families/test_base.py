"""What each family is asked with: messages, defaults in range, and values as text or NumPy scalars."""

from typing import Any

import numpy as np
import pytest

from optsched.core.errors import UsageError
from optsched.instances.families.base import (
    distinct_nodes,
    idle_slots,
    zipf_weights,
)
from optsched.instances.generate import FAMILIES, generate


class TestErrors:
    """Wrong names and values are wrong usage, with the value and the mend."""

    @pytest.mark.parametrize(
        ("family", "parameters", "message"),
        [
            ("lsapp", {}, 'no family "lsapp"; did you mean "lsap"?'),
            ("lsap", {"nods": 3}, 'lsap: no parameter "nods"; did you mean "nodes"?'),
            ("guo-fairness", {"nodes": 3}, 'guo-fairness: no parameter "nodes"; none is known'),
            ("lsap", {"nodes": 0}, "lsap: nodes is 0; it must be an integer from 1 to 1000000"),
            ("lsap", {"nodes": True}, "lsap: nodes is True; it must be an integer from 1 to 1000000"),
            ("lsap", {"nodes": float("inf")}, "lsap: nodes is inf; it must be an integer from 1 to 1000000"),
            ("lsap", {"idle_ratio": "nan"}, "lsap: idle_ratio is nan; it must be a number from 0 to 1"),
            ("lsap", {"seed": -1}, "lsap: seed is -1; it must be an integer from 0 to 9223372036854775807"),
            ("lsap", {"nodes": 2}, "lsap: replicas is 3; it must be at most 2: no node holds a block twice"),
            ("lsap", {"racks": 101}, "lsap: racks is 101; it must be at most nodes (100)"),
            (
                "fair-lsap",
                {"weights": "1,x"},
                "fair-lsap: weights is '1,x'; it must be numbers separated by commas, each from 0 to 1000000",
            ),
            ("fair-lsap", {"weights": ()}, "fair-lsap: weights is ; it must be numbers separated by commas, each"),
            ("fair-lsap", {"weights": (0, 0)}, "fair-lsap: weights must not all be 0"),
            ("flow", {"block": 100}, "flow: block is 100; it must be one of 64, 128"),
            ("flow", {"tasks": 0, "reduces": 1}, "flow: reduces is 1; with tasks=0 it must be 0"),
            ("flow", {"nodes": 2}, "flow: nodes is 2; it must be more than the 2 storage nodes that 2 replicas"),
            ("labl", {"nodes": 100}, "labl: nodes is 100; it must be an integer from 1600 to 2000"),
            ("labl", {"nodes": 1600, "available": 1601}, "labl: available is 1601; it must be at most nodes (1600)"),
            ("planted-lsap", {"remote": 81}, "planted-lsap: remote is 81; it must be at most 80, the tasks that 100"),
            (
                "planted-lsap",
                {"nodes": 4, "slots": 9, "idle_ratio": 1, "tasks": 10, "remote": 5},
                "planted-lsap: remote is too large: no node is small enough for the other tasks to fill it",
            ),
            ("planted-fair-lsap", {"nodes": 5, "slots": 1}, "planted-fair-lsap: nodes x slots is 5; it must be a mul"),
            ("planted-latency", {"nodes": 4, "makespan": 5}, "planted-latency: remote is 12; it must be at most"),
            ("planted-flow", {"racks": 1}, "planted-flow: replicas is 2; it must be at most racks (1)"),
            ("planted-flow", {"tasks": 81}, "planted-flow: tasks is 81; it must be at most nodes x slots = 80"),
            ("traffic", {"nodes": 3, "datacenters": 4}, "traffic: datacenters is 4; it must be at most 3, the num"),
            ("traffic", {"tasks": 9, "jobs": 10}, "traffic: jobs is 10; it must be at most 9, the number of maps"),
            ("traffic", {"smallest": 129}, "traffic: smallest is 129"),
            ("mixed", {"racks": 2, "datacenters": 3}, "mixed: racks is 2; it must be from datacenters to nodes"),
            ("mixed", {"jobs": 1, "groups": 2}, "mixed: groups is 2; it must be at most 1: each group has a job"),
            ("utility", {"nodes": 2, "types": 3}, "utility: types is 3; it must be at most 2: every tracker is of one"),
            ("makespan", {"running": 1, "tasks": 20, "busy": 0.2}, "makespan: 20 maps run and 4 slots are busy: there"),
            ("makespan", {"groups": 5}, "makespan: groups is 5"),
            ("makespan", {"distances": 6}, "makespan: distances is 6; it must be one of 0, 1, 2, 3, 4, 5"),
            ("day", {"racks": 11}, "day: racks is 11"),
            ("day", {"nodes": 2}, "day: r"),
            ("day", {"factors": (1, 2)}, "day: factors has 2 numbers; it takes three: node, rack, off-rack"),
        ],
    )
    def test_message(self, family: str, parameters: dict[str, Any], message: str) -> None:
        """Tests that the message says what, where, and what to do."""
        with pytest.raises(UsageError) as caught:
            generate(family, **parameters)
        assert str(caught.value).startswith(message)

    def test_defaults_are_in_range(self) -> None:
        """Tests that each default passes its own check and that each parameter has a meaning."""
        for family in FAMILIES.values():
            for name, parameter in family.parameters.items():
                assert parameter.check(family.name, name, parameter.default) == parameter.default
                assert parameter.doc
                assert parameter.range


class TestSampling:
    """The draws that families share."""

    def test_distinct_nodes_are_uniform(self) -> None:
        """Tests that all pairs of 5 nodes are equally frequent: each within five deviations."""
        drawn = distinct_nodes(np.random.default_rng(0), np.full(20_000, 2), 5)
        pairs, counts = np.unique(drawn.values.reshape(-1, 2), axis=0, return_counts=True)
        assert len(pairs) == 10
        assert np.all(np.abs(counts - 2000) < 5 * np.sqrt(20_000 * 0.1 * 0.9))

    def test_weights_are_followed(self) -> None:
        """Tests frequencies of a weighted draw of two of three nodes against the successive-sampling probabilities."""
        weights = np.array([6, 3, 1])
        drawn = distinct_nodes(np.random.default_rng(0), np.full(50_000, 2), 3, weights=weights)
        pairs, counts = np.unique(drawn.values.reshape(-1, 2), axis=0, return_counts=True)
        share = weights / 10
        for pair, count in zip(pairs, counts, strict=True):
            first, second = share[pair]
            expected = first * second / (1 - first) + second * first / (1 - second)
            assert abs(count / 50_000 - expected) < 5 * np.sqrt(0.25 / 50_000)

    def test_given_first_node(self) -> None:
        """Tests that a given node is in its row, weighted or not, and the others differ from it."""
        rng = np.random.default_rng(0)
        first = rng.integers(0, 4, size=200)
        among = np.array([3, 1, 7, 5])
        for weights in (None, np.array([1000, 1, 1, 1])):
            drawn = distinct_nodes(rng, rng.integers(1, 5, size=200), among, weights=weights, first=first)
            for row, node in zip(drawn, among[first], strict=True):
                assert node in row
                assert len(set(row.tolist())) == len(row)
                assert row.tolist() == sorted(row.tolist())

    def test_all_nodes(self) -> None:
        """Tests that as many replicas as nodes are all nodes, also under the steepest weights."""
        rng = np.random.default_rng(0)
        for weights in (None, zipf_weights(rng, 30, 3)):
            drawn = distinct_nodes(rng, np.full(10, 30), 30, weights=weights)
            assert np.array_equal(drawn.values.reshape(10, 30), np.tile(np.arange(30), (10, 1)))

    def test_idle_slots_are_hypergeometric(self) -> None:
        """Tests count and variance: 30 of 10 x 6 slots, each node's number hypergeometric."""
        rng = np.random.default_rng(0)
        drawn = np.array([idle_slots(rng, 10, 6, 30) for _ in range(2000)])
        assert np.all(drawn.sum(axis=1) == 30)
        assert drawn.max() <= 6
        assert abs(drawn.var() - 6 * 0.25 * (60 - 6) / (60 - 1)) < 0.05
