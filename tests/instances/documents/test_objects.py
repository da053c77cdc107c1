"""JSON objects with keys that stand twice, as both readers of JSON text make them."""

from __future__ import annotations

import json

import pytest

from optsched.instances.documents.diagnosis import Doubled, json_object, key_places


def test_doubled_keys_are_kept_in_the_order_of_the_text() -> None:
    """Tests that the last value counts, as in `json`, and that each doubled key is told once, wherever it stands."""
    text = '{"b": {"x": 1, "y": 2}, "a": 1, "c": [{"k": 1, "k": 2, "k": 3}], "b": 4, "a": 5}'
    found = json.loads(text, object_pairs_hook=json_object)
    assert isinstance(found, Doubled)
    assert found == {"b": 4, "a": 5, "c": [{"k": 3}]}
    assert (found.doubled, found["c"][0].doubled) == (("b", "a"), ("k",))


def test_a_sound_object_is_a_plain_one() -> None:
    """Tests that an object without doubled keys is a dictionary and nothing more."""
    assert type(json_object([("a", 1), ("b", 2)])) is dict


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (b'{"a": 1, "b": {"c": [{"d": 2}]}}', 4),
        (b'{"a" : 1, "b"\n: ":"}', 3),
        (b'{"a": 1, "a": 2}', 2),
        (b'["a:b"]', 0),
        (b'["\\":"]', 1),
    ],
)
def test_places_of_keys(text: bytes, places: int) -> None:
    """Tests that each key is a place, doubled ones too, and a string that begins or goes on with a colon too."""
    assert key_places(text) == places
