"""Lists of problems and of their routes that texts keep by hand: each is whole, and names nothing that is not there."""

import re
from pathlib import Path

import pytest

from optsched.core.placement import Placement
from optsched.core.problem_record import imported
from optsched.core.registry import SHIPPED
from optsched.heuristics import HEURISTICS
from optsched.heuristics.running.base import over_time
from optsched.instances.generate import generate
from optsched.problems import PROBLEMS, problem
from optsched.routes import routes_of, solve

DOCS = Path(__file__).resolve().parent.parent / "docs"
NAMES = [entry.name for entry in SHIPPED]


def rows(page: str, head: str = "|") -> list[list[str]]:
    """Cells of the table of a page that begins with a line, or of the first one, without its head."""
    text = (DOCS / page).read_text(encoding="utf-8")
    lines = f"\n{text}"[f"\n{text}".index(f"\n{head}") + 1 :].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


@pytest.mark.parametrize(
    ("page", "head"), [("problems.md", "| problem | "), ("certificates.md", "| problem | kind of ")]
)
def test_tables_of_problems_are_whole(page: str, head: str) -> None:
    """Tests that each table of all problems has every shipped one, and no other."""
    assert set(re.findall(r"`([\w-]+)`", " ".join(row[0] for row in rows(page, head)))) == set(NAMES)


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


def test_every_scheduler_has_a_row_and_every_cell_is_filled() -> None:
    """Tests that the table of schedulers is that of the list, with no empty cell."""
    table = rows("schedulers.md")
    assert all(cell for row in table for cell in row)
    assert sorted(row[2].strip("`") for row in table) == sorted(HEURISTICS)
    slots = {"lsap", "fair-lsap", "lsap-fairness", "worst-group", "flow", "flow-congestion"}
    stages = {"transmission", "transmission-maps", "transmission-reduces"}
    for row in table:
        serves = set(HEURISTICS[row[2].strip("`")].problems) - set(over_time())  # which every policy serves
        named = set(re.findall(r"`([\w-]+)`", row[3]))
        if row[3] == "as `dl`":
            named = set(HEURISTICS["dl"].problems) - set(over_time())
        named |= slots if "slots" in row[3] else set()
        named |= stages if "transmission" in row[3].replace("`", "").split(", ") and "`" not in row[3] else set()
        assert row[3].startswith("where") or named == serves, row[2]


def test_every_problem_has_a_row_with_its_default_route() -> None:
    """Tests that the table of problems has each problem of a paper, with the route that `solve` takes."""
    table = {re.findall(r"`([\w-]+)`", row[0])[0]: row for row in rows("problems.md")}
    papers = {name for name, kind in PROBLEMS.items() if kind.decided is Placement and kind.paper.isdigit()}
    assert set(table) >= papers
    assert all(cell for row in table.values() for cell in row)
    instance = generate("mixed")
    for name in papers:
        assert table[name][3].startswith(f"`{routes_of(problem(name, instance))[0]}`"), name


def test_every_listed_heuristic_says_where_it_is_from() -> None:
    """Tests that each has its paper and algorithm, but for what a trace recorded, and serves problems that exist."""
    for name, entry in HEURISTICS.items():
        assert entry.doc
        assert set(entry.problems) <= set(PROBLEMS), name
        assert (bool(entry.paper) and bool(entry.algorithm)) == (name != "observed"), name
