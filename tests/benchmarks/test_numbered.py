"""Numbered instances are each checked once, in one process and in several, and what is wrong is reported."""

import argparse
import importlib
from collections import Counter
from functools import partial
from types import ModuleType

import pytest


def squares(number: int, counts: Counter[str]) -> list[str]:
    """Counts squares, and says that multiples of seven are wrong."""
    counts["squares"] += number**2
    return [] if number % 7 else ["a multiple of seven"]


def test_all_are_checked(study: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests totals and wrong lines of ten numbers."""
    done = study.checked(squares, 10, 1)
    assert done.counts["squares"] == 285
    assert done.wrong == [(0, "a multiple of seven"), (7, "a multiple of seven")]
    assert capsys.readouterr().err == "10 of 10, 2 lines wrong\n"


def test_processes(study: ModuleType) -> None:
    """Tests that two processes do what one does."""
    runs = importlib.import_module("generated_runs")
    alone, shared = (study.checked(partial(runs.check_run, 4), 5, processes) for processes in (1, 2))
    assert (alone.counts, alone.wrong) == (shared.counts, shared.wrong)
    assert alone.counts["runs"] == 5


def test_numbers_that_are_too_small(study: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that an option with less than it may be is wrong usage, which names both."""
    for option, least in (("--things", 1), ("--seed", 0), ("--processes", 1), ("--only", 0)):
        with pytest.raises(SystemExit):
            study.parsed(argparse.ArgumentParser(), "things", 10, [option, str(least - 1)])
        assert f"{option} {least - 1}: give {least} or more" in capsys.readouterr().err
    assert study.parsed(argparse.ArgumentParser(), "things", 10, []).things == 10


@pytest.mark.parametrize(
    ("name", "check", "words", "noun"),
    [
        ("generated_runs", "check_run", ["--runs"], "run"),
        ("generated_optima", "check_instance", ["--instances"], "instance"),
        ("latency_band", "check_instance", ["--servers", "30", "--instances"], "instance"),
    ],
)
@pytest.mark.usefixtures("study")
def test_programs(
    name: str,
    check: str,
    words: list[str],
    noun: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Tests that each program fails if a line of an instance is wrong, and reports one number alone."""
    program = importlib.import_module(name)
    assert program.main([*words, "1", "--processes", "1"]) == 0
    assert program.main([*words[:-1], "--only", "4"]) == 0
    assert capsys.readouterr().out.endswith("nothing is wrong with it\n")
    monkeypatch.setattr(program, check, lambda *_: ["something"])
    assert program.main([*words, "1", "--processes", "1"]) == 1
    assert f"{noun} 0: something\n" in capsys.readouterr().out
