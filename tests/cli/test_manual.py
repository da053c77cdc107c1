"""`optsched docs`: the pages that come with the package."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest
from command_line import ENVIRONMENT, PROGRAM, run

from optsched.cli.manual import pages

ROOT = Path(__file__).resolve().parents[2]


def test_every_page_is_listed_with_its_title(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the list has each page that is not for the site's builder alone, within the terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("docs").stdout
    assert max(map(len, shown.splitlines())) <= 80
    named = [line.split()[0] for line in shown.splitlines() if not line.startswith(" ")]
    assert named == list(pages())
    assert {"tutorial", "how-to/explain", "uses/ci", "certificates"} <= set(named)
    assert "Say why a gap is there" in shown


def test_a_page_is_shown() -> None:
    """Tests that a page is found by its name, its last part and its file's name, and that --path is its file."""
    text = (ROOT / "docs" / "how-to" / "explain.md").read_text(encoding="utf-8")
    for name in ("how-to/explain", "explain", "how-to/explain.md"):
        assert run("docs", name).stdout == text
    assert run("docs", "explain", "--path").stdout == f"{ROOT / 'docs' / 'how-to' / 'explain.md'}\n"


def test_a_page_is_drawn_on_a_terminal() -> None:
    """Tests that a page on a terminal has no marks of Markdown left."""
    terminal, end = pty.openpty()
    subprocess.run([*PROGRAM, "docs", "complete"], stdout=end, env=ENVIRONMENT, check=True)
    os.close(end)
    shown = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert "Complete names with Tab" in shown
    assert "# Complete" not in shown
    assert "```" not in shown


def test_no_such_page() -> None:
    """Tests that the nearest page is named."""
    result = run("docs", "explian")
    assert result.exit_code == 2
    assert 'there is no page "explian"; did you mean "explain"' in result.stderr
