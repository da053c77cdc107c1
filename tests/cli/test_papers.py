"""`optsched claims` and `figure`: the lists, one claim or figure, and judging or measuring it again."""

import csv
import io
import json
from pathlib import Path

import pytest
from command_line import answer, run, stderr, stdout
from msgspec.structs import replace

from optsched.core.errors import OutOfTime
from optsched.core.resources import code_version
from optsched.measuring import judging
from optsched.measuring.judging import Check, claim
from optsched.measuring.judging.findings import digest, shipped
from optsched.measuring.reproducing import results

ONE = claim("hsu-freeh/4.2-65-percent")
WRONG = Check(says="85 / 125 == .65", judge="arithmetic")


def test_claims(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_figures() -> None:
    """Tests the list in each form, and by words and paper."""
    assert "guo-2012/4b: " in stdout("figure")
    assert "guo-2012/4b" in [one["id"] for one in answer("figure")]
    assert "Figure 4(b)" in stdout("figure", "--paper", "guo-2012", "replicas", "--format", "markdown")


def test_measure(tmp_path: Path) -> None:
    """Tests a table, CSV and JSON of the same numbers, and a picture."""
    words = ["figure", "guo-2012/4b", "--seeds", "2", "--store", str(tmp_path / "draws.sqlite")]
    svg, pgf = tmp_path / "b.svg", tmp_path / "b.pgf"
    shown = stdout(*words, "--plot", str(svg))
    assert shown.splitlines()[0].split()[:4] == ["replicas", "of", "a", "block"]
    assert "means of 2 draws" in " ".join(shown.split())
    assert svg.read_text().startswith("<?xml")
    stdout(*words, "--plot", str(pgf))
    assert "\\addlegendentry{optimum}" in pgf.read_text()
    rows = list(csv.DictReader(io.StringIO(stdout(*words, "--format", "csv"))))
    assert [float(row["mean"]) for row in rows] == [point["mean"] for point in answer(*words)["points"]]
    assert "\\begin{tabular}" in stdout(*words, "--format", "latex")


def test_partial_results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests that numbers so far come to stderr, and that a table that lacks points ends in exit code 5."""
    monkeypatch.setattr("optsched.cli.papers._BETWEEN_TABLES", 0)
    done = run("figure", "guo-2012/4b", "--seeds", "3")
    assert [f"means of {count} draws" in " ".join(done.stderr.split()) for count in (2, 3)] == [True, False]
    measured = results.numbers

    def some_alone(cell: results.Draw) -> results.Numbers:
        if "replicas=10" in cell.check.on[0]:
            raise OutOfTime("the time limit was reached")
        return measured(cell)

    monkeypatch.setattr(results, "numbers", some_alone)
    done = run("figure", "guo-2012/4b", "--seeds", "3")
    assert done.exit_code == 5
    assert "2 points without a draw" in done.stderr
    assert "Not measured in the time: 10, 19" in " ".join(done.stdout.split())


def test_stored() -> None:
    """Tests that what is kept is shown with its version."""
    assert "by optsched 0.2" in " ".join(stdout("figure", "guo-2012/4b", "--stored").split())
