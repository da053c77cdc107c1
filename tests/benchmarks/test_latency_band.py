"""The program that proves the hard band of `latency`: a small band is proved, and what is open or differs is found."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from optsched.searches import latency_program


@pytest.mark.thorough
def test_small_band_is_proved_and_kept(
    study: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that each level of some frontiers is closed by name, as HiGHS says, and that what is kept is read again."""
    kept = tmp_path / "kept"
    arguments = ["--instances", "30", "--servers", "60", "--arrays-every", "10", "--processes", "1"]
    assert study.main([*arguments, "--json", str(kept)]) == 0
    output = capsys.readouterr().out
    row = next(line for line in output.splitlines() if line.startswith("| all |"))
    numbers = [int(cell.replace(",", "")) for cell in row.strip("| ").split(" | ")[1:]]
    assert numbers[0] == 30
    assert numbers[2] == sum(numbers[3:9]) >= numbers[1] > 30
    assert numbers[4] > 0, "no level was closed by prices"
    assert numbers[7:9] == [0, 0]
    assert "HiGHS on arrays: 3 instances, 3 of them whole" in output
    assert "the Pyomo model: 1 instances, 1 of them whole" in output

    monkeypatch.setattr(study, "proved", None)  # nothing is done again
    assert study.main([*arguments, "--json", str(kept)]) == 0
    assert capsys.readouterr().out == output
    lines = [json.loads(line) for line in kept.read_text().splitlines()]
    lines[0]["failed"] = [[3, "makespan 7: open"]]
    kept.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert study.main([*arguments, "--json", str(kept)]) == 1
    assert "instance 3: makespan 7: open" in capsys.readouterr().out


def test_band_is_what_it_says(study: ModuleType) -> None:
    """Tests servers, ratio, replicas and weights of what is drawn, and that a number of a seed is always the same."""
    servers = []
    for number in range(60):
        problem = study.drawn(2, number, 300, study.WEIGHTS)
        servers.append(len(problem.instance.cluster))
        assert 1.5 * servers[-1] - 1 <= len(problem.tasks) <= 2.2 * servers[-1]
        assert problem.replicas.lengths.max() <= 4
        assert f"{problem.w_loc},{problem.w_rem}" == study.WEIGHTS[number % 5]
    assert 5 <= min(servers) < 20
    assert 150 < max(servers) <= 300
    assert 15 <= sum(size < 39 for size in servers) <= 45, "half of them are below the geometric mean of 5 and 300"
    assert (
        study.drawn(2, 7, 300, study.WEIGHTS).instance.sha256 == study.drawn(2, 7, 300, study.WEIGHTS).instance.sha256
    )
    assert (
        study.drawn(2, 7, 300, study.WEIGHTS).instance.sha256 != study.drawn(3, 7, 300, study.WEIGHTS).instance.sha256
    )


def hard(study: ModuleType) -> int:
    """The number of a problem with a level that only prices close."""
    for number in range(100):
        problem = study.drawn(0, number, 40, study.WEIGHTS)
        if "prices" in study.proved(problem, 60)[1].values():
            return number
    raise AssertionError("no level is closed by prices")


def test_words_and_open_levels_are_reported(study: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a search whose program's prices are lost, and one that has no program."""
    number = hard(study)
    monkeypatch.setattr(latency_program, "_priced", lambda known, *_arguments: known)
    found, ways = study.proved(study.drawn(0, number, 40, study.WEIGHTS), 60)
    assert {"a word", "prices"} & set(ways.values()) == {"a word"}
    wrong = list(study.wrong_with(study.drawn(0, number, 40, study.WEIGHTS), found, ways))
    assert any(line.endswith(": a word") for line in wrong)
    assert any(line.startswith("not proved: ") for line in wrong)

    monkeypatch.setattr(latency_program, "compact_program", latency_program.relaxation)
    found, ways = study.proved(study.drawn(0, number, 40, study.WEIGHTS), 60)
    wrong = list(study.wrong_with(study.drawn(0, number, 40, study.WEIGHTS), found, ways))
    assert any(line.endswith(": open") for line in wrong)
    assert any(line.startswith("the frontier is not complete") for line in wrong)


def test_false_claims_are_reported(study: ModuleType) -> None:
    """Tests a frontier without one of its points, and one with a certificate of another claim."""
    for number in range(100):
        problem = study.drawn(0, number, 40, study.WEIGHTS)
        found, ways = study.proved(problem, 60)
        if len(found) > 2:
            break
    without = replace(found, points=(found[0], *found.points[2:]))
    assert any(line.startswith("contradicted: ") for line in study.wrong_with(problem, without, ways))
    point = found[1]
    more = replace(point.certificates[1], claim=point.certificates[1].claim + 1)
    lied = replace(point, certificates=(point.certificates[0], more))
    false = replace(found, points=(found[0], lied, *found.points[2:]))
    assert any(line.startswith("contradicted: ") for line in study.wrong_with(problem, false, ways))


def test_other_answers_of_highs_are_reported(study: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests HiGHS with one point less, and that what it leaves open is no difference."""
    problem = study.drawn(0, hard(study), 40, study.WEIGHTS)
    found, _ = study.proved(problem, 60)
    shorter = replace(found, points=found.points[:-1])
    monkeypatch.setattr(study, "frontier", lambda *_arguments, **_named: shorter)
    assert any(line.startswith("arrays has ") for line in study.differing(problem, found, "arrays", 60, Counter()))
    stopped = replace(shorter, complete=False)
    monkeypatch.setattr(study, "frontier", lambda *_arguments, **_named: stopped)
    counts: Counter[str] = Counter()
    assert list(study.differing(problem, found, "arrays", 60, counts)) == []
    assert (counts["arrays asked"], counts["arrays whole"]) == (1, 0)


def test_one_instance_is_reported(study: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests `--only`."""
    assert study.main(["--only", "4", "--servers", "30"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("generated by optsched generate latency --nodes ")
    assert output.endswith("nothing is wrong with it\n")


@pytest.mark.parametrize("weights", ["3", "3,1", "0,1", "a,b"])
def test_weights_that_are_none(study: ModuleType, weights: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that weights are two whole numbers, the first of at least 1 and no more than the second."""
    with pytest.raises(SystemExit):
        study.main(["--weights", weights])
    assert "--weights" in capsys.readouterr().err
