"""Tests of numbers by id and of lists of ids: they are as dictionaries and lists, and have the arrays behind them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from optsched.core.by_id import ById, Chosen, plain

IDS = np.array(["n1", "n2", "n3", "n4"])


def test_numbers_by_id_are_a_mapping():
    """Tests that numbers are had by id, are as many as are not 0, and equal a dictionary of them either way round."""
    numbers = ById.nonzero(IDS, np.array([0, -3, 0, 2**53]))
    assert dict(numbers) == {"n2": -3, "n4": 2**53}
    told = {"n2": -3, "n4": 2**53}
    assert numbers == told
    assert told == numbers
    assert numbers == ById(IDS.copy(), [1, 3], [-3, 2**53])
    assert (len(numbers), numbers["n4"], "n1" in numbers, "n9" in numbers) == (2, 2**53, False, False)
    assert repr(numbers) == repr(dict(numbers))
    assert numbers.column().tolist() == [0, -3, 0, 2**53]
    assert not ById.nonzero(IDS[:0], np.zeros(0, dtype=np.int64))


def test_chosen_ids_are_a_list():
    """Tests that chosen ids are counted, indexed, sliced and compared as a list of them."""
    chosen = Chosen.where(IDS, np.array([True, False, True, True]))
    assert list(chosen) == ["n1", "n3", "n4"] == chosen
    assert chosen == Chosen(IDS.copy(), [0, 2, 3])
    assert chosen not in (Chosen(IDS, [0]), "n1")
    assert (len(chosen), chosen[-1], chosen[1:], "n2" in chosen) == (3, "n4", ["n3", "n4"], False)
    assert repr(chosen) == "['n1', 'n3', 'n4']"
    assert chosen.chosen().tolist() == [True, False, True, True]
    assert Chosen.where(IDS[:0], np.zeros(0, dtype=bool)) == []


@pytest.mark.parametrize("positions", [[2, 1], [1, 1], [-1], [4], [[0]], [2, -(2**63)]])
def test_positions_increase_within_the_ids(positions):
    """Tests that positions which do not increase, or at which there is no id, are refused."""
    with pytest.raises(ValueError, match="increasing positions below 4"):
        Chosen(IDS, positions)
    with pytest.raises(ValueError, match="increasing positions below 4"):
        ById(IDS, positions, np.zeros_like(positions))


def test_each_id_has_a_number():
    """Tests that numbers which are more or fewer than the ids are refused."""
    with pytest.raises(ValueError, match="a number for each of 2 ids"):
        ById(IDS, [0, 1], [5])


def test_another_process_gets_only_what_is_meant():
    """Tests that a pickled copy is equal and carries no id that is not meant, and that arrays cannot be changed."""
    numbers, chosen = ById(IDS, [1, 3], [7, 8]), Chosen(IDS, [0, 3])
    for held in (numbers, chosen):
        copied = pickle.loads(pickle.dumps(held))
        assert copied == held
        assert len(copied.ids) == len(held)
        assert not copied.positions.flags.writeable
    assert pickle.loads(pickle.dumps(numbers)).column().tolist() == [7, 8]


def test_plain_is_what_json_has():
    """Tests that mappings and sequences within one another become dictionaries and lists, and all else stays."""
    held = {"a": ById(IDS, [0], [1]), "b": [Chosen(IDS, [1]), (2, None)], "c": "d"}
    assert plain(held) == {"a": {"n1": 1}, "b": [["n2"], [2, None]], "c": "d"}
    assert type(plain(held)["a"]) is dict
    assert type(plain(held)["b"][0]) is list
