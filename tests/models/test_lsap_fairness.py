"""Models of `lsap-fairness`: the program at a limit in a file."""

from __future__ import annotations

from pathlib import Path

from command_line import run


def test_export(tmp_path: Path) -> None:
    """Tests that the program at a limit is written, and that one network cannot stand for two components."""
    target = tmp_path / "program.lp"
    arguments = "export", "generated/guo-fairness-seed0", "--problem", "lsap-fairness"
    assert run(*arguments, "--to", str(target), "--limit", "7").exit_code == 0
    assert "locality_limit" in target.read_text(encoding="utf-8")
    result = run(*arguments, "--to", str(tmp_path / "network.dimacs"))
    assert result.exit_code == 2
    assert "lsap-fairness is no flow network" in result.stderr
