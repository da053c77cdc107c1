"""`optsched claims`: the list, one claim, and judging it again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import answer, run
from msgspec.structs import replace

from optsched.core.resources import code_version
from optsched.measuring import judging
from optsched.measuring.judging import Check, claim
from optsched.measuring.judging.kept import digest, shipped


def test_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that each claim is there whole, within the terminal, and the counts below; JSON has all of each."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("claims").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    listed = "\n".join(lines[: lines.index("")]).replace("\n  ", " ").splitlines()
    assert listed == [f"{one['id']} ({one['verdict']}): {one['claim']}" for one in answer("claims")]
    assert lines[-1].split() == ["all", *lines[-1].split()[1:-1], str(len(answer("claims")))]


def test_selected() -> None:
    """Tests that paper, verdict and words select together."""
    found = answer("claims", "idle", "slots", "--paper", "guo-2012", "--verdict", "fails")
    assert "guo-2012/3.3-more-idle" in [one["id"] for one in found]
    assert {(one["paper"], one["verdict"]) for one in found} == {("Guo et al. 2012", "fails")}


def test_one_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a claim is reported in a few lines, with its reason, its instances and its command."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("claims", "guo-2012/4.1-one-replica").stdout
    assert shown.startswith("guo-2012/4.1-one-replica (Guo et al. 2012, IV.A): depends\n")
    assert "papers/guo-heartbeat" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a verdict that holds exits with 0, and one that does not with 4 and what is found now."""
    right = Check(says="85 / 125 == .68", judge="arithmetic")
    one = replace(claim("hsu-freeh/4.2-65-percent"), checks=(right,), verdict="holds")
    monkeypatch.setattr(judging, "claim", lambda name: one)
    assert run("claims", one.id, "--judge").stdout.splitlines() == [
        "hsu-freeh/4.2-65-percent: holds, as recorded",
        "found: 85 / 125 == .68: true",
    ]
    wrong = replace(one, checks=(Check(says="85 / 125 == .65", judge="arithmetic"),))
    monkeypatch.setattr(judging, "claim", lambda name: wrong)
    result = run("claims", one.id, "--judge")
    assert result.exit_code == 4
    assert result.stdout.splitlines() == [
        "hsu-freeh/4.2-65-percent: holds, but judged now: fails",
        "CHANGED: 85 / 125 == .65: false",
    ]
    done = run("claims", one.id, "--judge", "--format", "json")
    assert done.exit_code == 4
    assert '"holds": false' in done.stdout


def test_full_judgements_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the file, its exit codes, and that a second call judges only what changed."""
    file = tmp_path / "judged.json"
    full = ("--judge", "--effort", "full", "--keep", str(file))
    one = claim("hsu-freeh/4.2-65-percent")
    assert run("claims", one.id, *full).exit_code == 0
    (kept,) = json.loads(file.read_text()).values()
    assert (kept["true"], kept["version"]) == (True, code_version())
    before = file.read_bytes()
    assert run("claims", one.id, *full).exit_code == 0
    assert file.read_bytes() == before
    wrong = replace(one, checks=(Check(says="85 / 125 == .65", judge="arithmetic"),))
    monkeypatch.setattr(judging, "claim", lambda name: wrong)
    result = run("claims", one.id, *full)
    assert (result.exit_code, result.stdout) == (4, f"{one.id}: holds, but judged now: fails\n")
    slow = replace(claim("guo-2012/4.1-fourteen-percent"), id="guo-2012/slow")
    monkeypatch.setattr(judging, "claim", lambda name: slow)
    result = run("claims", slow.id, *full, "--time-limit", "0.000001")
    assert result.exit_code == 5
    assert "no draw was measured within the time limit" in result.stderr
    assert set(json.loads(file.read_text())) == {digest(one.checks[0]), digest(wrong.checks[0])}
    monkeypatch.undo()
    assert run("claims", "agosta/4.3-mean-replication", *full).exit_code == 0
    assert digest(wrong.checks[0]) not in json.loads(file.read_text()), "no claim has this check any more"
    file.write_text("[]")
    result = run("claims", one.id, *full)
    assert result.exit_code == 3
    assert "no file of judgements" in result.stderr


def test_the_last_full_judgement_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a claim says when it was judged in full, what came out otherwise, and if a check is new."""
    monkeypatch.setenv("COLUMNS", "300")
    one = claim("guo-2012/4.1-one-replica")
    kept = one.in_full[0]
    text = f"in full: judged on {kept.date} with {kept.version} over {kept.draws} draws: "
    assert f"{text}as recorded\n" in run("claims", one.id).stdout
    monkeypatch.setitem(shipped()[digest(one.checks[0])], "true", False)
    assert f"{text}{one.checks[0].says} came out otherwise\n" in run("claims", one.id).stdout
    monkeypatch.setattr(judging, "claim", lambda name: replace(one, checks=(*one.checks, Check(says="1 < 2"))))
    assert "in full: not judged in full with its present checks\n" in run("claims", one.id).stdout
