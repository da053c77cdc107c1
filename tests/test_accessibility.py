"""The site and a report in a browser: axe finds nothing serious or critical, and one search answers a question."""

import subprocess
import sys
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from report_records import Study, record

import optsched
from optsched.showing import write_report

ROOT = Path(__file__).resolve().parent.parent

AXE = "axe_playwright_python"

#: Wide and narrow: on a phone other parts scroll.
WIDTHS = (1280, 390)


def found(browser: Any, pages: Iterable[Path], width: int, contrast: bool = True) -> list[str]:
    """What is serious or critical, with its page and the first place; colours, which take longest, if asked."""
    rules = {"color-contrast": {"enabled": contrast}}
    script = files(AXE).joinpath("axe.min.js").read_text(encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    page, seen = context.new_page(), []
    for path in pages:
        page.goto(path.as_uri())
        page.evaluate(script)
        for entry in page.evaluate("async rules => (await axe.run({rules})).violations", rules):
            if entry["impact"] in ("serious", "critical") or entry["id"] == "landmark-unique":
                seen.append(f"{path.name}: {entry['id']}: {entry['nodes'][0]['html']}")
    context.close()
    return seen


@pytest.mark.thorough
@pytest.mark.browser(AXE)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_report(browser: Any, tmp_path: Path, width: int) -> None:
    """Tests a report with tables, pictures, a matrix and commands."""
    study = optsched.study(optsched.Family("lsap", range(4), {"tasks": 30}), "lsap", ["dl", "rand"])
    cells = [record(3, ran_in="lsap", reason=None, heuristic=name) for name in ("dl", "fair")]
    write_report([study, Study(cells)], tmp_path / "report.html")
    assert found(browser, [tmp_path / "report.html"], width) == []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-c", ROOT / "docs", "-d", folder / "trees", ROOT]
    subprocess.run([*command, folder / "site"], cwd=ROOT, check=True, capture_output=True)
    return folder / "site"


@pytest.mark.thorough
@pytest.mark.browser(AXE, "furo", "myst_nb", "sphinx_click", "sphinx_copybutton")
def test_the_site(browser: Any, site: Path) -> None:
    """Tests every page of the site; of some, which have all that is coloured, the colours and a phone, too."""
    pages = [path for path in sorted(site.rglob("*.html")) if path != site / "index.html"]  # which leads to another one
    assert len(pages) > 60
    assert found(browser, pages, WIDTHS[0], contrast=False) == []
    looks = [site / "docs" / name for name in ("index.html", "tutorial.html", "schedulers.html", "uses/ci.html")]
    assert [entry for width in WIDTHS for entry in found(browser, looks, width)] == []


@pytest.mark.thorough
@pytest.mark.browser("furo", "myst_nb", "sphinx_click", "sphinx_copybutton")
@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("over 0", "docs/explanation/gap.html#over-0"),
        ("instance with racks", "docs/how-to/instances.html#an-instance-with-racks"),
        ("is a dual proof checked without the solver", "docs/explanation/proof.html"),
        ("time limit", "docs/how-to/limits.html"),
        ("problem of my own", "docs/how-to/package.html"),
        ("my own heuristic", "docs/how-to/heuristic.html"),
        ("fail on a gap in CI", "docs/uses/ci.html"),
        ("add a constraint to a model", "docs/uses/models.html"),
        ("infeasible", "docs/explanation/proof.html#infeasible"),
        ("import a trace", "docs/how-to/traces.html"),
    ],
)
def test_a_search(browser: Any, site: Path, asked: str, answer: str) -> None:
    """Tests that the page with the answer is the first of those that a search finds."""
    page = browser.new_page()
    page.goto(f"{(site / 'search.html').as_uri()}?{urlencode({'q': asked})}")
    first = page.wait_for_selector("#search-results li a")
    assert first.get_attribute("href") == answer
    page.close()
