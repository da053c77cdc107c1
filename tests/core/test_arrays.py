"""The arrays that an instance is made of: read-only copies, ids without spare width, rows of different length."""

import pickle
from typing import Any

import numpy as np
import pytest

from optsched.core.arrays import ById, Chosen, Ragged, joined, read_only, read_only_strings


def test_what_may_be_written_to_is_copied() -> None:
    """Tests that an array that its owner may change is copied, and one that nobody may change is shared."""
    given = np.array([1, 2])
    kept = read_only(given, np.int64)
    given[0] = 9
    assert kept.tolist() == [1, 2]
    assert read_only(kept, np.int64) is kept
    assert read_only(kept, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 3


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        (["a", "日本"], "<U2"),
        (np.array(["a", "b"], dtype="<U90"), "<U1"),
        (np.array(["ab"], dtype=">U2"), "<U2"),
        (np.array(["ab", "c", "d"])[::2], "<U2"),
        ([1, 20], "<U2"),
        ([], "<U1"),
        ("ab", "<U2"),
    ],
)
def test_ids_have_no_spare_width(given: Any, dtype: str) -> None:
    """Tests that ids are as wide as the longest, in the machine's byte order, one after another, and read-only."""
    ids = read_only_strings(given)
    assert ids.dtype == np.dtype(dtype)
    assert ids.tolist() == np.asarray(given).astype(np.str_).tolist()
    assert ids.flags.c_contiguous
    assert not ids.flags.writeable


@pytest.mark.parametrize(
    "ids", [["n1", "n10", ""], ["", ""], ["a\0b", "c"], ["日本", "a"], ["é"], ["a\n", "b"], []], ids=ascii
)
def test_ids_one_a_line(ids: list[str]) -> None:
    """Tests that joined ids are the bytes of their text, whatever characters are in them, also of every second one."""
    column = np.array(ids, dtype=np.str_)
    assert joined(column) == "\n".join(ids).encode()
    assert joined(column[::2]) == "\n".join(ids[::2]).encode()


def test_transposed_rows_by_another_number() -> None:
    """Tests transposing with rows of the least number first, also with numbers too large to be put into one."""
    rng = np.random.default_rng(0)
    rows = [rng.choice(6, int(rng.integers(0, 4)), replace=False).tolist() for _ in range(40)]
    ragged, first = Ragged.from_rows(rows), rng.integers(0, 3, 40)
    for factor in (1, 2**60):
        held = ([row for row in range(40) if node in rows[row]] for node in range(6))
        expected = [sorted(each, key=lambda row: first[row]) for each in held]
        assert [row.tolist() for row in ragged.transposed(6, first * factor)] == expected


IDS = np.array(["n1", "n2", "n3", "n4"])


def test_numbers_by_id_are_a_mapping():
    """Tests that numbers are had by id, are as many as are not 0, and equal a dictionary of them either way round."""
    numbers = ById.nonzero(IDS, np.array([0, -3, 0, 2**53]))
    expected = {"n2": -3, "n4": 2**53}
    assert dict(numbers) == numbers == expected == ById(IDS.copy(), [1, 3], [-3, 2**53])
    assert (len(numbers), numbers["n4"], "n1" in numbers, "n9" in numbers) == (2, 2**53, False, False)
    assert repr(numbers) == repr(dict(numbers))
    assert numbers.column().tolist() == [0, -3, 0, 2**53]
    assert not ById.nonzero(IDS[:0], np.zeros(0, dtype=np.int64))


@pytest.mark.parametrize("positions", [[2, 1], [1, 1], [-1], [4], [[0]], [2, -(2**63)]])
def test_positions_increase_within_the_ids(positions):
    """Tests that positions which do not increase, or at which there is no id, are refused."""
    with pytest.raises(ValueError, match="increasing positions below 4"):
        Chosen(IDS, positions)
    with pytest.raises(ValueError, match="increasing positions below 4"):
        ById(IDS, positions, np.zeros_like(positions))
    with pytest.raises(ValueError, match="a number for each of 2 ids"):
        ById(IDS, [0, 1], [5])


def test_another_process_gets_only_what_is_meant():
    """Tests that a pickled copy is equal and carries no id that is not meant, and that arrays cannot be changed."""
    numbers, chosen = ById(IDS, [1, 3], [7, 8]), Chosen(IDS, [0, 3])
    rows = pickle.loads(pickle.dumps(Ragged.from_rows([[0.5], []], float)))
    assert ([row.tolist() for row in rows], rows.values.flags.writeable) == ([[0.5], []], False)
    for held in (numbers, chosen):
        copied = pickle.loads(pickle.dumps(held))
        assert copied == held
        assert len(copied.ids) == len(held)
        assert not copied.positions.flags.writeable
    assert pickle.loads(pickle.dumps(numbers)).column().tolist() == [7, 8]
