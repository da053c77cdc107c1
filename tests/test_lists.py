"""Lists of problems and of their routes that texts keep by hand: each is whole, and names nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from optsched.core.registry import SHIPPED, imported
from optsched.routes import solve

ROOT = Path(__file__).resolve().parent.parent
NAMES = [entry.name for entry in SHIPPED]


def first_cells(text: str, head: str) -> list[str]:
    """The first cell of each row of the table that begins with a line."""
    rows = text[text.index(head) :].splitlines()[2:]
    return [row.split("|")[1] for row in rows[: next(at for at, row in enumerate([*rows, ""]) if not row)]]


@pytest.mark.parametrize(
    ("file", "head"),
    [
        ("docs/problems.md", "| problem | "),
        ("docs/certificates.md", "| problem | kind of certificate | "),
    ],
)
def test_tables_of_problems_are_whole(file: str, head: str) -> None:
    """Tests that each table of all problems has every shipped one, and no other."""
    cells = first_cells((ROOT / file).read_text(encoding="utf-8"), head)
    assert set(re.findall(r"`([\w-]+)`", " ".join(cells))) == set(NAMES)


def routes_by_text(text: str) -> dict[str, list[str]]:
    """Routes of each problem, from sentences such as "`latency` and `traffic`: `search`, `arrays`"."""
    found = {}
    for names, routes in re.findall(
        r"((?:`[\w-]+`[ ,)and]*)+): ((?:`[\w-]+`(?: \([^()]*(?:\([^()]*\))?[^()]*\))?(?:, )?)+)", text
    ):
        for name in re.findall(r"`([\w-]+)`", names):
            found[name] = re.findall(r"`([\w-]+)`", re.sub(r"\(.*?\)", "", routes))
    return found


def test_routes_that_solve_names() -> None:
    """Tests that the docstring of `solve` names the routes of each problem beside models and enumeration, in order."""
    text = " ".join((solve.__doc__ or "").split())
    text = text[text.index("These are the others") : text.index("time_limit Seconds")]
    shown = routes_by_text(text)
    for entry in SHIPPED:
        routes = imported(entry.routes or "").ROUTES
        own = [route for route in routes if route not in ("pyomo", "pulp", "brute-force")]
        assert shown.get(entry.name, ["arrays"]) == own, entry.name
        assert ("brute-force" in routes) == (entry.name != "min-cost-flow")
