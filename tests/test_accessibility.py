"""What axe finds on the pages of the site and of a report: nothing serious or critical."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from browsers import OPTIONS, chromium
from report_records import Study, record

import optsched
from optsched.showing import write_report

ROOT = Path(__file__).resolve().parent.parent

AXE = "axe_playwright_python"

#: Wide and narrow: on a phone other parts scroll.
WIDTHS = (1280, 390)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=list(OPTIONS))
        yield started
        started.close()


def found(browser: Any, pages: Iterable[Path], width: int, contrast: bool = True) -> list[str]:
    """What is serious or critical, with its page and the first place; colours, which take longest, if asked."""
    rules = {"color-contrast": {"enabled": contrast}}
    script = files(AXE).joinpath("axe.min.js").read_text(encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    page, told = context.new_page(), []
    for path in pages:
        page.goto(path.as_uri())
        page.evaluate(script)
        for entry in page.evaluate("async rules => (await axe.run({rules})).violations", rules):
            if entry["impact"] in ("serious", "critical") or entry["id"] == "landmark-unique":
                told.append(f"{path.name}: {entry['id']}: {entry['nodes'][0]['html']}")
    context.close()
    return told


@pytest.mark.thorough
@pytest.mark.browser(AXE)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_report(browser: Any, tmp_path: Path, width: int) -> None:
    """Tests a report with tables, pictures, a matrix and commands."""
    study = optsched.study(optsched.Family("lsap", range(4), {"tasks": 30}), "lsap", ["dl", "rand"])
    cells = [record(3, ran_in="lsap", reason=None, heuristic=name) for name in ("dl", "fair")]
    write_report([study, Study(cells)], tmp_path / "report.html")
    assert found(browser, [tmp_path / "report.html"], width) == []


@pytest.mark.thorough
@pytest.mark.browser(AXE, "furo", "myst_nb", "sphinx_click", "sphinx_copybutton")
def test_the_site(browser: Any, tmp_path: Path) -> None:
    """Tests every page of the site; of some, which have all that is coloured, the colours and a phone, too."""
    command = [sys.executable, "-m", "sphinx", "-q", "-c", ROOT / "docs", "-d", tmp_path / "trees", ROOT]
    subprocess.run([*command, tmp_path / "site"], cwd=ROOT, check=True, capture_output=True)
    root = tmp_path / "site"
    pages = [path for path in sorted(root.rglob("*.html")) if path != root / "index.html"]  # which leads to another one
    assert len(pages) > 60
    assert found(browser, pages, WIDTHS[0], contrast=False) == []
    looks = [root / "docs" / name for name in ("index.html", "tutorial.html", "schedulers.html", "uses/ci.html")]
    assert [told for width in WIDTHS for told in found(browser, looks, width)] == []
