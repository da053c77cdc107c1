"""What each family is asked with: messages, defaults in range, and values as text or NumPy scalars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from optsched.core.errors import UsageError
from optsched.instances.families.base import Setting
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
            ("lsap", {"nodes": 2.5}, "lsap: nodes is 2.5; it must be an integer from 1 to 1000000"),
            ("lsap", {"nodes": "ten"}, "lsap: nodes is 'ten'; it must be an integer from 1 to 1000000"),
            ("lsap", {"nodes": True}, "lsap: nodes is True; it must be an integer from 1 to 1000000"),
            ("lsap", {"nodes": float("inf")}, "lsap: nodes is inf; it must be an integer from 1 to 1000000"),
            ("lsap", {"idle_ratio": "nan"}, "lsap: idle_ratio is nan; it must be a number from 0 to 1"),
            ("lsap", {"idle_ratio": 1.5}, "lsap: idle_ratio is 1.5; it must be a number from 0 to 1"),
            ("lsap", {"seed": -1}, "lsap: seed is -1; it must be an integer from 0 to 9223372036854775807"),
            ("lsap", {"nodes": 2}, "lsap: replicas is 3; it must be at most 2: no node holds a block twice"),
            ("lsap", {"racks": 101}, "lsap: racks is 101; it must be at most nodes (100)"),
            (
                "fair-lsap",
                {"weights": "1,x"},
                "fair-lsap: weights is '1,x'; it must be numbers separated by commas, each from 0 to 1000000",
            ),
            ("fair-lsap", {"weights": 3}, "fair-lsap: weights is 3; it must be numbers separated by commas, each"),
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
            ("planted-flow", {"racks": 21}, "planted-flow: racks is 21; it must be at most nodes (20)"),
            ("planted-flow", {"tasks": 81}, "planted-flow: tasks is 81; it must be at most nodes x slots = 80"),
            (
                "traffic",
                {"nodes": 3, "datacenters": 4},
                "traffic: datacenters is 4; it must be at most 3, the number of",
            ),
            ("traffic", {"tasks": 9, "jobs": 10}, "traffic: jobs is 10; it must be at most 9, the number of maps"),
            ("traffic", {"nodes": 4, "replicas": 5}, "traffic: replicas is 5"),
            ("traffic", {"smallest": 129}, "traffic: smallest is 129"),
            ("mixed", {"racks": 2, "datacenters": 3}, "mixed: racks is 2; it must be from datacenters to nodes"),
            ("mixed", {"nodes": 3, "racks": 4}, "mixed: racks is 4; it must be from datacenters to nodes"),
            ("mixed", {"jobs": 1, "groups": 2}, "mixed: groups is 2; it must be at most 1: each group has a job"),
            ("mixed", {"nodes": 3, "replicas": 4}, "mixed: replicas is 4"),
            ("utility", {"nodes": 2, "types": 3}, "utility: types is 3; it must be at most 2: every tracker is of one"),
            ("makespan", {"running": 1, "tasks": 20, "busy": 0.2}, "makespan: 20 maps run and 4 slots are busy: there"),
            ("makespan", {"racks": 11}, "makespan: racks is 11"),
            ("makespan", {"groups": 5}, "makespan: groups is 5"),
            ("makespan", {"distances": 6}, "makespan: distances is 6; it must be one of 0, 1, 2, 3, 4, 5"),
            ("day", {"racks": 11}, "day: racks is 11"),
            ("day", {"nodes": 2}, "day: r"),
            ("day", {"factors": (1, 2)}, "day: factors has 2 numbers; it takes three: node, rack, remote"),
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

    def test_reads_text_and_numpy(self) -> None:
        """Tests that values may be text or NumPy scalars, and whole floats stand for integers."""
        count = Setting(3, "count")
        assert [count.check("f", "count", value) for value in ("7", np.int64(7), 7.0, " 7 ", "7e0")] == [7] * 5
        assert Setting((1.0,), "weights").check("f", "weights", [1, 2]) == (1.0, 2.0)
