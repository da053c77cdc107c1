"""Classes of equal tasks, and steps that fill; `test_programs` and the tests of models hold the programs."""

import numpy as np

from optsched.core.instance import Ragged
from optsched.problems.counted_places import TaskClasses, filled


def test_classes_of_rows_are_those_of_keys() -> None:
    """Tests that classes found by sorting columns are those that a dictionary of tuples finds, numbered alike."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        tasks = int(rng.integers(0, 9))
        label, wide = rng.integers(0, 2, tasks), rng.integers(-1, 2, (tasks, 3))
        first, second = (
            [sorted(rng.choice(4, int(rng.integers(0, most)), replace=False).tolist()) for _ in range(tasks)]
            for most in (4, 3)
        )
        keys = list(zip(label.tolist(), map(tuple, first), map(tuple, second), strict=True))
        by_rows = TaskClasses.from_rows(label, Ragged.from_rows(first), Ragged.from_rows(second))
        for one, other in (
            (TaskClasses.from_keys(keys), by_rows),
            (TaskClasses.from_keys(list(map(tuple, wide.tolist()))), TaskClasses.from_rows(wide)),
        ):
            for part in ("of_task", "first", "size"):
                assert np.array_equal(getattr(one, part), getattr(other, part))


def test_filled() -> None:
    """Tests that steps fill in order, and that there may be none."""
    assert [filled([2, 3], count).tolist() for count in (0, 1, 2, 4, 5)] == [[0, 0], [1, 0], [2, 0], [2, 2], [2, 3]]
    assert filled([], 0).tolist() == []
