"""`optsched claims`: the list, one claim, and judging it again."""

import json
from pathlib import Path

import pytest
from command_line import answer, stderr, stdout
from msgspec.structs import replace

from optsched.core.resources import code_version
from optsched.measuring import judging
from optsched.measuring.judging import Check, claim
from optsched.measuring.judging.kept import digest, shipped

ONE = claim("hsu-freeh/4.2-65-percent")
WRONG = Check(says="85 / 125 == .65", judge="arithmetic")


def test_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that each claim is there whole, within the terminal, and the counts below; JSON has all of each."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = stdout("claims").splitlines()
    assert max(map(len, lines)) <= 80
    listed = "\n".join(lines[: lines.index("")]).replace("\n  ", " ").splitlines()
    assert listed == [f"{one['id']} ({one['verdict']}): {one['claim']}" for one in answer("claims")]
    assert (lines[-1].split()[0], lines[-1].split()[-1]) == ("all", str(len(listed)))


def test_selected() -> None:
    """Tests that paper, verdict and words select together."""
    found = answer("claims", "idle", "slots", "--paper", "guo-2012", "--verdict", "fails")
    assert "guo-2012/3.3-more-idle" in [one["id"] for one in found]
    assert {(one["paper"], one["verdict"]) for one in found} == {("Guo et al. 2012", "fails")}


def test_one_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a claim is reported in a few lines, with its reason, its instances and its command."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = stdout("claims", "guo-2012/4.1-one-replica")
    assert shown.startswith("guo-2012/4.1-one-replica (Guo et al. 2012, IV.A): depends\n")
    assert "papers/guo-heartbeat" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a verdict that holds exits with 0, and one that does not with 4 and what is found now."""
    right = Check(says="85 / 125 == .68", judge="arithmetic")
    one = replace(ONE, checks=(right,), verdict="holds")
    monkeypatch.setattr(judging, "claim", lambda name: one)
    assert stdout("claims", one.id, "--judge").splitlines() == [
        "hsu-freeh/4.2-65-percent: holds, as recorded",
        "found: 85 / 125 == .68: true",
    ]
    monkeypatch.setattr(judging, "claim", lambda name: replace(one, checks=(WRONG,)))
    assert stdout("claims", one.id, "--judge", code=4).splitlines() == [
        "hsu-freeh/4.2-65-percent: holds, but judged now: fails",
        "CHANGED: 85 / 125 == .65: false",
    ]
    assert '"holds": false' in stdout("claims", one.id, "--judge", "--format", "json", code=4)


def test_full_judgements_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the file, its exit codes, and that a second call judges only what changed."""
    file = tmp_path / "judged.json"
    full = ("--judge", "--effort", "full", "--keep", str(file))
    stdout("claims", ONE.id, *full)
    (kept,) = json.loads(file.read_text()).values()
    assert (kept["true"], kept["version"]) == (True, code_version())
    before = file.read_bytes()
    stdout("claims", ONE.id, *full)
    assert file.read_bytes() == before
    monkeypatch.setattr(judging, "claim", lambda name: replace(ONE, checks=(WRONG,)))
    assert stdout("claims", ONE.id, *full, code=4) == f"{ONE.id}: holds, but judged now: fails\n"
    slow = replace(claim("guo-2012/4.1-fourteen-percent"), id="guo-2012/slow")
    monkeypatch.setattr(judging, "claim", lambda name: slow)
    said = stderr("claims", slow.id, *full, "--time-limit", "0.000001", code=5)
    assert "no draw was measured within the time limit" in said
    assert set(json.loads(file.read_text())) == {digest(ONE.checks[0]), digest(WRONG)}
    monkeypatch.undo()
    stdout("claims", "agosta/4.3-mean-replication", *full)
    assert digest(WRONG) not in json.loads(file.read_text()), "no claim has this check any more"
    file.write_text("[]")
    assert "no file of judgements" in stderr("claims", ONE.id, *full, code=3)


def test_the_last_full_judgement_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a claim says when it was judged in full, what came out otherwise, and if a check is new."""
    monkeypatch.setenv("COLUMNS", "300")
    one = claim("guo-2012/4.1-one-replica")
    kept = one.in_full[0]
    text = f"in full: judged on {kept.date} with {kept.version} over {kept.draws} draws: "
    assert f"{text}as recorded\n" in stdout("claims", one.id)
    monkeypatch.setitem(shipped()[digest(one.checks[0])], "true", False)
    assert f"{text}{one.checks[0].says} came out otherwise\n" in stdout("claims", one.id)
    monkeypatch.setattr(judging, "claim", lambda name: replace(one, checks=(*one.checks, Check(says="1 < 2"))))
    assert "in full: not judged in full with its present checks\n" in stdout("claims", one.id)
