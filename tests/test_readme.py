"""The shell commands that README and docs show, run one after another and compared with the output that they show.

A block fenced as `console` is a session: lines that begin with "$ " are commands, what follows is their output, with
"..." for anything; as `console hadoop-traces` it is one beside Hadoop's own traces, which are not shipped, and as
`console installed` one where the example of a package is installed (`test_outside`). A block with
a file name after its language is written to that file, for the commands below it; a page that needs the files of
another says so in a comment, `<!-- files of: PAGE -->`. The two blocks that `.ci/run` extracts install the package,
which is done there; here they are only looked at. Examples with ">>>" are run by `test_doctests`.
"""

import re
from collections.abc import Collection
from pathlib import Path

import pytest
from pages import FENCED, PAGES, ROOT, borrowed, matches, sessions, shell, steps, texts_of

QUICK = "README.md"
GALLERY = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")

#: Commands that take long: where a quick page shows one, it is run by the thorough tests only.
LONG = {"$ optsched gap"}


def told(page: Path) -> list[tuple[str, str]]:
    """The steps of a page of the project."""
    return list(steps((ROOT / page).read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("page", "left_out"),
    [
        pytest.param(Path(QUICK), LONG, id=QUICK),
        *(
            pytest.param(page, (), id=f"{page} whole", marks=pytest.mark.thorough)
            for page in PAGES
            if any(what.startswith("$ ") for what, _ in told(page))
        ),
    ],
)
def test_page_prints_what_it_shows(page: Path, left_out: Collection[str], tmp_path: Path) -> None:
    """Tests that each command of a page, run where the ones before it ran, prints what the page shows."""
    for name in ("instances", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    for what, content in [*borrowed(ROOT / page), *told(page)]:
        if not what.startswith("$ "):
            (tmp_path / what).write_text(content, encoding="utf-8")
            continue
        if what.strip() in left_out:
            continue
        found = shell(what.removeprefix("$ "), tmp_path)
        assert matches(content, found), f"{page}: {what}\nshows\n{content}\nprints\n{found}"
    for name in re.findall(r"\.\./images/([\w-]+\.svg)", (ROOT / page).read_text(encoding="utf-8")):
        drawn, shown = tmp_path / name, ROOT / "docs" / "images" / name
        if drawn.exists() and f"images/{name}\n" not in GALLERY:  # which draws it by a command of its own
            assert texts_of(drawn) == texts_of(shown), f"{page}: its commands draw another {name}"


def of_traces(page: Path) -> list[str]:
    """The sessions of a page that need Hadoop's own traces."""
    found = FENCED.findall((ROOT / page).read_text(encoding="utf-8"))
    return [block for language, file, block in found if (language, file) == ("console", "hadoop-traces")]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=str(page), marks=[] if str(page) == QUICK else pytest.mark.thorough)
        for page in PAGES
        if of_traces(page)
    ],
)
def test_what_is_said_of_traces(page: Path, real_data: Path, tmp_path: Path) -> None:
    """Tests that what pages show of traces is what their commands print: Hadoop's placements, first of all."""
    for trace in (real_data / "hadoop").iterdir():
        (tmp_path / trace.name).symlink_to(trace)
    for block in of_traces(page):
        for command, output in sessions(block):
            found = shell(command.removeprefix("$ "), tmp_path)
            assert matches(output, found), f"{command}\nshows\n{output}\nprints\n{found}"


@pytest.mark.parametrize("name", ["setup-and-gap", "setup-and-test"])
def test_commands_of_ci(name: str) -> None:
    """Tests that the README has one line that can be copied after each marker that `.ci/run` looks for."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^<!-- ci: {name} -->\n```bash\n(.*\n)```$", text, re.MULTILINE)
    assert found.startswith("python3 -m venv .venv && .venv/bin/pip install ")


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_within_the_project(page: Path) -> None:
    """Tests that what a page links to within the project exists."""
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", text)
    missing = [target for target in targets if not (ROOT / page.parent / target).exists()]
    assert not missing, f"{page}: {missing}"


def test_wrong_output_is_seen() -> None:
    """Tests that a page that shows something else than its command prints would fail."""
    page = "```console\n$ echo one\none\n$ echo two\n2\n```\n"
    (first, shown), (second, wrong) = steps(page)
    assert matches(shown, shell(first.removeprefix("$ "), ROOT))
    assert not matches(wrong, shell(second.removeprefix("$ "), ROOT))
