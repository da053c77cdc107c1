"""Tests for what all pictures share: files, names, lines."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pictured import outside

from optsched.core.errors import UsageError
from optsched.showing.figures import (
    MissingGlyphs,
    begun,
    check_kind,
    headed,
    keyed,
    look,
    picture,
    save,
    short,
    trimmed,
    whole_ticks,
    wide,
)


def titled(title: str) -> Any:
    """A figure with one pair of axes and a title."""
    with begun(3, 2) as figure:
        figure.subplots().set_title(title)
    return figure


@pytest.mark.parametrize(
    ("kind", "start"),
    [(".svg", b"<?xml"), (".png", b"\x89PNG"), pytest.param(".pdf", b"%PDF", marks=pytest.mark.thorough)],
)
def test_written_by_its_ending_and_twice_the_same(tmp_path: Path, kind: str, start: bytes) -> None:
    """Tests that the ending says how a figure is written, in capitals too, and that no day is in the bytes."""
    files = [tmp_path / f"one{kind}", tmp_path / f"two{kind.upper()}"]
    for file in files:
        save(titled("same"), file)
    first, second = (file.read_bytes() for file in files)
    assert first.startswith(start)
    assert first == second
    assert sorted(tmp_path.iterdir()) == sorted(files), "something is left beside them"


@pytest.mark.thorough
def test_bytes_do_not_depend_on_the_process() -> None:
    """Tests that another process, with other hashes, writes the same SVG."""
    code = (
        "import sys; from optsched.showing.figures import begun, picture, settings\n"
        "with begun(3, 2) as figure:\n    figure.subplots().set_title('same')\n"
        "sys.stdout.buffer.write(picture(figure))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env={"PYTHONHASHSEED": "7"})
    assert done.stdout == picture(titled("same"))


@pytest.mark.parametrize(("path", "message"), [("a.xyz", 'ends in ".xyz"'), ("picture", "the name has no ending")])
def test_unknown_endings(tmp_path: Path, path: str, message: str) -> None:
    """Tests that another ending is wrong usage that names the known ones, and nothing is written."""
    with pytest.raises(UsageError, match=message) as caught:
        save(titled("none"), tmp_path / path)
    assert str(caught.value).endswith(".svg, .png, .pdf")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match=r"^--plot a\.xyz: no kind"):
        check_kind("a.xyz", "--plot ")


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a missing matplotlib is one line that says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UsageError, match=r'pip install "optsched\[plots\]"'):
        begun(3, 2).__enter__()


def test_users_settings_change_nothing(tmp_path: Path) -> None:
    """Tests that texts of an SVG are texts, and `$` no mathematics, whatever the user's own settings are."""
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "other", "text.parse_math": True}):
        written = picture(titled("cost in $, and $ again")).decode()
        assert "cost in $, and $ again" in written
        assert matplotlib.rcParams["svg.fonttype"] == "path", "they are the user's again"


@pytest.mark.parametrize("name", ["$x_1$", "_hidden", "50 % \\frac", "{a}", "$", "a$b$c", "ключ"])
def test_names_are_shown_as_they_are(name: str) -> None:
    """Tests that ticks and legends show names with signs that matplotlib would obey, also when they are drawn."""
    with begun(4, 3) as figure:
        axes = figure.subplots()
        lines = axes.plot([0, 1], [0, 1])
        axes.set_xticks([0, 1], [name, "other"])
        keyed(axes, lines, [name])
    written = picture(figure).decode()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [name]
    assert written.count(f">{name}<") == 2


def test_titles_are_broken() -> None:
    """Tests that a title that is wider than the figure takes several lines, and a very long one ends in dots."""
    with begun(3, 2) as figure:
        headed(figure, "word " * 100)
    lines = figure.get_suptitle().splitlines()
    assert len(lines) == 4
    assert lines[-1].endswith(" ...")
    assert outside(figure) == []


def test_control_characters_are_spelled_out() -> None:
    """Tests that what a terminal or an XML file would not bear is spelled out."""
    assert short("a\x1b[2J\nb") == "a\\x1b[2J\\nb"
    picture(titled(short("a\x00b")))


def test_missing_glyphs_are_reported() -> None:
    """Tests that characters without a glyph are told of a PNG, in one warning, and not of an SVG, which shows them."""
    with pytest.warns(MissingGlyphs, match="lacks 漢字:") as caught:
        picture(titled("漢字 and 字"), ".png")
    assert len(caught) == 1
    assert "漢字 and 字" in picture(titled("漢字 and 字")).decode()


def test_looks_differ_in_black_and_white() -> None:
    """Tests that no two of forty lines have the same marker, its filling and the style of the line."""
    looks = [look(number) for number in range(40)]
    assert len({(one["marker"], one["markerfacecolor"] == "white", str(one["linestyle"])) for one in looks}) == 40


@pytest.mark.parametrize(
    ("values", "whole"), [([3, 5.0, float("nan")], True), ([0.5, 2], False), ([7], True), ([], True)]
)
def test_whole_ticks(values: list[float], whole: bool) -> None:
    """Tests that ticks are at whole numbers where values are whole, and matplotlib's own elsewhere."""
    with begun(3, 2) as figure:
        axes = figure.subplots()
        axes.set_xlim(0, 1.5)
        whole_ticks(axes.xaxis, values)
    assert all(tick == int(tick) for tick in axes.get_xticks()) is whole


def test_what_names_share_is_left_out() -> None:
    """Tests that what long ids begin and end with is reported once, and that short ones, and one alone, stay whole."""
    names = [f"attempt_200904211745_0002_m_{number:06d}_0" for number in (14, 15, 27)]
    assert trimmed(names, 12) == (
        ["…14_0", "…15_0", "…27_0"],
        "begin with attempt_200904211745_0002_m_0000",
    )
    assert trimmed(["node1.long.example", "node22.long.example"], 9)[0] == ["…1.…", "…22.…"]
    assert all(len(name) <= 9 for name in trimmed(["ab" + "x" * 20, "cd" + "y" * 20], 9)[0])
    assert trimmed(["a" * 30], 12) == (["aaaaaa…aaaaa"], "")
    assert trimmed(["same" * 9] * 2, 12) == (["samesa…esame"] * 2, "")
    assert trimmed([], 12) == ([], "")


def test_wide() -> None:
    """Tests that a text of twice as many signs takes twice the room, and East Asian signs take two."""
    assert wide("abab", 7) == pytest.approx(2 * wide("ab", 7))
    assert wide("漢", 7) == pytest.approx(wide("ab", 7))


def test_notebooks_show_it() -> None:
    """Tests that a notebook gets a PNG from the figure itself, and those who do not see it its title."""
    with begun(2, 1, "what is drawn") as figure:
        pass
    shown = vars(figure)["_repr_png_"]()
    assert shown.startswith(b"\x89PNG")
    assert len(shown) < len(picture(figure, ".png"))
    assert "<title>what is drawn</title>" in picture(figure).decode()
