"""Reading of certificates: fractions, and what is none."""

from __future__ import annotations

from fractions import Fraction

import pytest

from optsched.certificates import reading
from optsched.errors import CertificateInvalid


@pytest.mark.parametrize(
    "text",
    [
        *("7", "", " ", "-", "/", "1/", "/2", "1/x", "x/2", "1/0", "--1/2", "1/-2", "1/2/3", " 1/2", "1_0/2"),
        "\N{ARABIC-INDIC DIGIT ONE}/2",
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
