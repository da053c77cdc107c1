"""The page of a report in a real browser: nothing is obeyed or loaded, tables sort and filter, it fits a phone.

Without Chromium, or without the package playwright that drives it, these tests are deselected (`conftest.py`).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_records import Study, record

import optsched
from optsched.showing import write_report

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

HOSTILE = "<script>console.error('obeyed')</script><img src=x onerror=console.error(1)>"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where a page is, on a real study, a matrix, and names that mean harm."""
    folder = tmp_path_factory.mktemp("report")
    study = optsched.study(optsched.Family("lsap", range(8), {"tasks": 30}), "lsap", ["dl", "rand", "fifo"], seeds=2)
    hostile = [record(4, instance=f"{HOSTILE}{number}", heuristic=HOSTILE, problem="flow") for number in range(7)]
    hostile.append(record(None, instance="x" * 300, problem="flow", error=HOSTILE, status="failed"))
    cells = [record(3, ran_in="lsap", reason=None, heuristic=name) for name in ("dl", "fair")]
    write_report([study, Study([*hostile, *cells])], folder / "report.html")
    return Path(folder, "report.html").as_uri()


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Any]:
    """Opens the page; at the end nothing may have been said on the console, or asked for elsewhere."""
    contexts, seen = [], []

    def open_it(width: int = 1280, height: int = 900, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: seen.append(message.text))
        page.on("pageerror", lambda error: seen.append(str(error)))
        page.on("request", lambda asked: asked.url == address or asked.url[:5] == "data:" or seen.append(asked.url))
        page.goto(address)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert seen == []


def column(table: Any, number: int) -> list[str]:
    """The texts of a column's shown cells."""
    cells = table.locator(f"tbody tr:not([hidden]) > :nth-child({number})")
    return [text.strip() for text in cells.all_inner_texts()]


def test_nothing_is_obeyed(opened: Any) -> None:
    """Tests that names are shown as they are."""
    page = opened()
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 0
    assert page.get_by_text(HOSTILE).count() > 0


def test_sorts_by_mouse_and_keyboard(opened: Any) -> None:
    """Tests that a head sorts by numbers, not by their texts, turns round when asked again, and says so."""
    page = opened()
    table = page.locator("#runs table")
    head = table.get_by_role("columnheader", name="value")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    known = [float(text) for text in column(table, 6) if text != "-"]
    assert known == sorted(known)
    assert known != sorted(known, key=str), "as texts they stand otherwise"
    assert column(table, 6)[-1] == "-", "what is unknown comes last"
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert [float(text) for text in column(table, 6) if text != "-"] == known[::-1]
    assert column(table, 6)[-1] == "-"
    other = table.get_by_role("columnheader", name="instance")
    other.get_by_role("button").press("Space")
    assert head.get_attribute("aria-sort") is None
    assert column(table, 1) == sorted(column(table, 1), key=str.lower)


def test_filters(opened: Any) -> None:
    """Tests that only rows with all words are shown, that it says how many, and that all come back."""
    page = opened()
    table, field = page.locator("#runs table"), page.get_by_role("searchbox", name="Rows with this text: All runs")
    rows = table.locator("tbody tr")
    everything = rows.count()
    field.fill("RAND seed3")
    assert set(column(table, 3)) == {"rand"}
    assert len(column(table, 3)) == 2
    assert page.locator("#runs [role=status]").inner_text() == f"2 of {everything} rows"
    field.fill("")
    assert table.locator("tbody tr:not([hidden])").count() == everything


def test_every_control_by_keyboard(opened: Any) -> None:
    """Tests that Tab leads through all links, fields and heads in the order of the page, and shows where it is."""
    page = opened()
    controls = page.locator("a, button, input, [tabindex='0']").count()
    script = "[...document.querySelectorAll(\"a, button, input, [tabindex='0']\")].indexOf(document.activeElement)"
    seen = []
    for _ in range(min(controls, 40)):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(script))
        shown = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert shown == "solid"
    assert seen == list(range(len(seen)))


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_sideways_scroll(opened: Any, width: int) -> None:
    """Tests that the page is as wide as the window; wide tables scroll by themselves."""
    page = opened(width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_phone_shows_the_legends(opened: Any) -> None:
    """Tests that a picture with curves, whose legend says which is whose, is shown whole at 390 pixels."""
    page = opened(width=390)
    pictures = page.locator("figure.narrow .wide")
    assert pictures.count() >= 2
    for number in range(pictures.count()):
        assert pictures.nth(number).evaluate("box => box.scrollWidth <= box.clientWidth")


def test_printed_in_black_and_white(opened: Any) -> None:
    """Tests that a print has greys alone outside the pictures, whole tables, and nothing that only a screen can use."""
    page = opened(794)  # A4 at 96 dots per inch
    page.emulate_media(media="print")
    widths = "[...document.querySelectorAll('table')].map(table => table.offsetWidth)"
    assert max(page.evaluate(widths)) <= 794
    heights = "[...document.querySelectorAll('#gaps-lsap tbody tr')].map(row => row.offsetHeight)"
    assert max(page.evaluate(heights)) < 40, "two lines at most"
    colours = page.evaluate(
        """[...document.querySelectorAll('body *:not(svg *):not(script)')].flatMap(element => {
            const style = getComputedStyle(element);
            return style.display === 'none' ? [] : [style.color, style.backgroundColor, style.borderBottomColor];
        })"""
    )
    for colour in set(colours):
        red, green, blue = (part.strip(" rgba()") for part in colour.split(",")[:3])
        assert red == green == blue, colour
    assert not page.locator("nav").is_visible()
    assert page.evaluate(
        "[...document.querySelectorAll('.wide')].every(e => getComputedStyle(e).overflowX === 'visible')"
    )


def test_without_its_script(opened: Any) -> None:
    """Tests that all rows are there where scripts do not run, and no control that would do nothing."""
    page = opened(java_script_enabled=False)
    assert page.locator("button, input").count() == 0
    assert page.locator("#runs tbody tr").count() == page.locator("#runs tbody tr:visible").count() > 40


def test_tables_can_be_saved(opened: Any, tmp_path: Path) -> None:
    """Tests that the link gives the whole table as CSV."""
    page = opened(accept_downloads=True)
    with page.expect_download() as download:
        page.get_by_role("link", name="Save as CSV: All runs").click()
    download.value.save_as(tmp_path / "runs.csv")
    assert download.value.suggested_filename == "runs.csv"
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == page.locator("#runs tbody tr").count() + 1


def test_pictures_have_a_text(opened: Any) -> None:
    """Tests that each picture says what it shows, and that the link below it leads to its table."""
    page = opened()
    pictures = page.get_by_role("img")
    assert pictures.count() >= 3
    for picture in pictures.all():
        assert len(picture.get_attribute("aria-label") or "") > 40
    page.locator("figcaption a").first.click()
    assert page.evaluate("document.querySelector(':target table') !== null")
