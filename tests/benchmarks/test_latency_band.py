"""The program that proves the hard band of `latency`: a small band is proved, and what is open or differs is found."""

from collections import Counter
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from optsched.solvers.searches import latency_program


@pytest.mark.thorough
def test_small_band_is_proved(study: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that each level of some frontiers is closed by name, as HiGHS says."""
    options = {"instances": 30, "servers": 60, "arrays-every": 10, "processes": 1}
    assert study.main([f"--{name}={value}" for name, value in options.items()]) == 0
    output = capsys.readouterr().out
    row = next(line for line in output.splitlines() if line.startswith("| all |"))
    instances, points, levels, *ways = (int(cell.replace(",", "")) for cell in row.strip("| ").split(" | ")[1:])
    assert (instances, levels) == (30, sum(ways[:6]))
    assert levels >= points > 30
    assert ways[1] > 0, "no level was closed by prices"
    assert ways[4:6] == [0, 0]
    assert "HiGHS on arrays: 3 instances, 3 of them whole" in output
    assert "the Pyomo model: 1 instances, 1 of them whole" in output


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
    one, again, other = (study.drawn(seed, 7, 300, study.WEIGHTS).instance.sha256 for seed in (2, 2, 3))
    assert one == again != other


def hard(study: ModuleType) -> Any:
    """A problem with a level that only prices close."""
    problems = (study.drawn(0, number, 40, study.WEIGHTS) for number in range(100))
    return next(problem for problem in problems if "prices" in study.proved(problem, 60)[1].values())


def test_words_and_open_levels_are_reported(study: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a search whose program's prices are lost, and one that has no program."""
    problem = hard(study)
    monkeypatch.setattr(latency_program, "_priced", lambda known, *_arguments: known)
    found, ways = study.proved(problem, 60)
    assert {"a word", "prices"} & set(ways.values()) == {"a word"}
    wrong = list(study.wrong_with(problem, found, ways))
    assert any(line.endswith(": a word") for line in wrong)
    assert any(line.startswith("not proved: ") for line in wrong)

    monkeypatch.setattr(latency_program, "compact_program", latency_program.relaxation)
    wrong = list(study.wrong_with(problem, *study.proved(problem, 60)))
    assert any(line.endswith(": open") for line in wrong)
    assert any(line.startswith("the frontier is not complete") for line in wrong)


def test_false_claims_are_reported(study: ModuleType) -> None:
    """Tests a frontier without one of its points, and one with a certificate of another claim."""
    problems = (study.drawn(0, number, 40, study.WEIGHTS) for number in range(100))
    proved = ((problem, *study.proved(problem, 60)) for problem in problems)
    problem, found, ways = next(entry for entry in proved if len(entry[1]) > 2)
    first, point, *rest = found.points
    cost, work = point.certificates
    lied = replace(point, certificates=(cost, replace(work, claim=work.claim + 1)))
    for points in ((first, *rest), (first, lied, *rest)):
        wrong = study.wrong_with(problem, replace(found, points=points), ways)
        assert any(line.startswith("contradicted: ") for line in wrong)


def test_other_answers_of_highs_are_reported(study: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests HiGHS with one point less, and that what it leaves open is no difference."""
    problem = hard(study)
    found, _ = study.proved(problem, 60)
    shorter = replace(found, points=found.points[:-1])
    monkeypatch.setattr(study, "frontier", lambda *_arguments, **_named: shorter)
    assert any(line.startswith("arrays has ") for line in study.differing(problem, found, "arrays", 60, Counter()))
    monkeypatch.setattr(study, "frontier", lambda *_arguments, **_named: replace(shorter, complete=False))
    counts: Counter[str] = Counter()
    assert list(study.differing(problem, found, "arrays", 60, counts)) == []
    assert (counts["arrays asked"], counts["arrays whole"]) == (1, 0)


@pytest.mark.parametrize("weights", ["3", "3,1", "0,1", "a,b"])
def test_weights_that_are_none(study: ModuleType, weights: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that weights are two whole numbers, the first of at least 1 and no more than the second."""
    with pytest.raises(SystemExit):
        study.main(["--weights", weights])
    assert "--weights" in capsys.readouterr().err
