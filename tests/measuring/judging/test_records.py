"""Selecting records of claims and figures, and finding one: the same for both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from optsched import claims
from optsched.core.errors import UsageError
from optsched.measuring.judging import claim
from optsched.measuring.reproducing import figure, figures


@pytest.mark.parametrize(("select", "word"), [(claims, "LOCALITY"), (figures, "locality")])
def test_selection(select: Callable[..., tuple[Any, ...]], word: str) -> None:
    """Tests that paper and words select together, in any case, and that one word needs no list."""
    found = select("guo-2012", words=word)
    assert found
    assert found == select("guo-2012", words=[word])
    assert {one.paper for one in found} == {"Guo et al. 2012"}
    assert set(map(id, found)) <= set(map(id, select(words=[word])))
    assert select(words=["zebra"]) == ()


@pytest.mark.parametrize(("select", "find"), [(claims, claim), (figures, figure)])
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda select, find: select("guo-2021"), 'no paper .*did you mean "guo-2012"'),
        (lambda select, find: select(3), "a paper has a name, a text"),
        (lambda select, find: select(words=3), "words are texts"),
        (lambda select, find: find("guo-2012/4aa"), "no (claim|figure) "),
        (lambda select, find: find("nothing"), "optsched (claims|figure) lists all"),
        (lambda select, find: find(None), "has an id, a text"),
    ],
)
def test_wrong_arguments(
    select: Callable[..., Any], find: Callable[..., Any], call: Callable[..., Any], message: str
) -> None:
    """Tests that each wrong argument is wrong usage that says what is known."""
    with pytest.raises(UsageError, match=message):
        call(select, find)
