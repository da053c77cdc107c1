"""Reading of certificates: integers, fractions, objects and prices by id, and what is none of these."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from optsched.certificates import reading
from optsched.core.arrays import ById, plain
from optsched.core.errors import CertificateInvalid


@pytest.mark.parametrize(
    "text",
    [
        *("7", "", " ", "-", "/", "1/", "/2", "1/x", "x/2", "1/0", "--1/2", "1/-2", "1/2/3", " 1/2", "1_0/2"),
        "\N{ARABIC-INDIC DIGIT ONE}/2",
        "9" * 4001 + "/7",
    ],
)
def test_fractions_that_are_none(text: str) -> None:
    """Tests that a price spelled otherwise than p/q is a fault of the certificate by its name, and no other error."""
    with pytest.raises(CertificateInvalid, match='price: must be an integer or a fraction "p/q"'):
        reading.number({"price": text}, "price")
    assert [reading.number({"price": good}, "price") for good in ("-1/2", "6/4", 7)] == [
        Fraction(-1, 2),
        Fraction(3, 2),
        7,
    ]


@pytest.mark.parametrize("value", [None, True, 1.0, "1", 2**53 + 1, -(2**53) - 1, [1]])
def test_integers_that_are_none(value: Any) -> None:
    """Tests that truth values, floats, text and what doubles would not hold are reported by the entry's name."""
    for read in (reading.integer, reading.number):
        if not isinstance(value, str):
            with pytest.raises(CertificateInvalid, match=r"^price: must be an integer up to 2\^53, not "):
                read({"price": value}, "price")
    with pytest.raises(CertificateInvalid, match=r"^price: must be an integer up to 2\^53, not None"):
        reading.integer({}, "price")


def test_what_is_read() -> None:
    """Tests the largest integers of either sign, an object as it is, and that numbers are read back as they were."""
    assert [reading.integer({"price": whole}, "price") for whole in (2**53, -(2**53), 0)] == [2**53, -(2**53), 0]
    assert reading.mapping({"prices": {"a": 1}}, "prices") == {"a": 1}
    for other in (None, [1], "a"):
        with pytest.raises(CertificateInvalid, match=r"^prices: must be an object, not "):
            reading.mapping({"prices": other}, "prices")
    for value in (Fraction(-7, 3), Fraction(4, 2), 5, Fraction(1, 3**40)):
        assert reading.number({"price": reading.written(value)}, "price") == value
    assert (reading.written(Fraction(4, 2)), reading.written(Fraction(-7, 3))) == (2, "-7/3")


def test_prices_by_id() -> None:
    """Tests that prices of 0 are left out, that what is left out is 0, and that an unknown name is reported."""
    index = {"a": 0, "b": 1, "c": 2}
    held = reading.priced(list(index), np.array([0, 5, -2]))
    assert held == {"b": 5, "c": -2}
    assert reading.prices_of({"of": held}, "of", index).tolist() == [0, 5, -2]
    assert reading.prices_of({"of": {}}, "of", ["a", "b", "c"]).tolist() == [0, 0, 0]
    with pytest.raises(CertificateInvalid, match=r'^of: there is no node "z"'):
        reading.prices_of({"of": {"z": 1}}, "of", index)
    with pytest.raises(CertificateInvalid, match=r'^charges.of: there is no pool "z"'):
        reading.prices_of({"of": {"z": 1}}, "of", ["a"], "pool", "charges.of")
    for wrong in ("1", True, 2**53 + 1, 2**70, 1.0):
        with pytest.raises(CertificateInvalid, match=r"^b: must be an integer up to 2\^53"):
            reading.prices_of({"of": {"a": 1, "b": wrong}}, "of", index)
    assert reading.priced(np.array(["a", "b"]), np.array([2**53, 0])) == {"a": 2**53}


def test_prices_by_position() -> None:
    """Tests that prices held by positions in the very column need no index, others are read by name."""
    ids = np.array(["a", "b", "c"])

    def never() -> dict[str, int]:
        raise AssertionError("it was asked for the index")

    index = {"a": 0, "b": 1, "c": 2}
    held = {"prices": ById(ids, [0, 2], [4, -1])}
    assert reading.column_of(held, "prices", ids, never).tolist() == [4, 0, -1]
    assert reading.column_of(plain(held), "prices", ids, lambda: index).tolist() == [4, 0, -1]
    assert reading.column_of({"prices": ById(ids.copy(), [1], [7])}, "prices", ids, lambda: index).tolist() == [0, 7, 0]
    for beyond in (2**53 + 1, -(2**63)):
        with pytest.raises(CertificateInvalid, match="b: must be an integer up to"):
            reading.column_of({"prices": ById(ids, [1], [beyond])}, "prices", ids, lambda: index)
    with pytest.raises(CertificateInvalid, match='there is no task "d"'):
        reading.column_of({"prices": ById(np.array(["d"]), [0], [1])}, "prices", ids, lambda: index, "task")


def test_tables_of_prices() -> None:
    """Tests rows by name with prices by node, rows left out, and that faults name the row."""
    index, data = {"a": 0, "b": 1}, {"rows": {"y": {"b": 3}, "z": {"a": 1, "b": 2}}}
    table = reading.price_table(data, "rows", ["x", "y", "z"], "row", index)
    assert table.tolist() == [[0, 0], [0, 3], [1, 2]]
    with pytest.raises(CertificateInvalid, match=r'^rows: there is no row "z"'):
        reading.price_table(data, "rows", ["x", "y"], "row", index)
    with pytest.raises(CertificateInvalid, match=r'^in.rows.y: there is no node "b"'):
        reading.price_table(data, "rows", ["x", "y", "z"], "row", {"a": 0}, "in.rows")


def test_denominators() -> None:
    """Tests that a scale is an integer above 0."""
    assert reading.denominator({"scale": 1}) == 1
    for scale in (0, -1):
        with pytest.raises(CertificateInvalid, match=f"^scale: must be above 0, not {scale}$"):
            reading.denominator({"scale": scale})


@pytest.mark.parametrize("read", [reading.mapping, reading.integer, reading.number, reading.items])
def test_bug_messages_repeat_what_a_file_holds(read: Callable[[dict[str, Any], str], Any]) -> None:
    """Tests that a message shows the beginning of what is wrong, however long it is."""
    wrong = {"a": "x" * 5000, "b": [7] * 5000, "c": {"y" * 5000: 1}}
    seen = []
    for key in wrong:
        try:
            read(wrong, key)
        except CertificateInvalid as error:
            seen.append(str(error))
    assert len(seen) >= 2
    assert max(map(len, seen)) < 150
    for given in ({"z" * 5000: 1}, ["z"] * 5000, {10**5000: 1}, {"z": 10**5000}, 10**5000):
        with pytest.raises(CertificateInvalid, match=r"^prices: .{,150}$"):
            reading.prices_of({"prices": given}, "prices", [])
