"""Blocks of numbered instances: what is kept is not done again, and only for the same settings."""

import argparse
import importlib
import json
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


class Squares:
    """A block that counts squares, and says that multiples of seven are wrong; remembers which numbers it did."""

    def __init__(self, study: ModuleType) -> None:
        self.made_block, self.did = study.made_block, []  # type: ignore[var-annotated]

    def __call__(self, seed: int, begin: int, end: int, **settings: Any) -> dict[str, Any]:
        def of_number(number: int, counts: Counter[str]) -> list[str]:
            self.did.append(number)
            counts["numbers"] += 1
            counts["squares"] += number**2 * settings.get("times", 1)
            return [] if number % 7 else ["a multiple of seven"]

        found: dict[str, Any] = self.made_block(of_number, seed, begin, end)
        return found


def test_kept_blocks_are_not_done_again(study: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests totals and wrong lines of ten numbers in blocks of four, then of twelve, and with another setting."""
    kept, block = tmp_path / "kept", Squares(study)
    done = study.done_in_blocks(study.blocks(block, 3, 10, 1, kept, 4), 10, "numbers", "numbers")
    assert (done.counts["squares"], block.did) == (285, list(range(10)))
    assert done.failed == [[0, "a multiple of seven"], [7, "a multiple of seven"]]
    assert capsys.readouterr().err.splitlines()[-1] == "10 of 10 numbers, 2 lines wrong"
    assert [json.loads(line)["begin"] for line in kept.read_text().splitlines()] == [0, 4, 8]
    assert all("settings" not in json.loads(line) for line in kept.read_text().splitlines())

    again = study.done_in_blocks(study.blocks(block, 3, 12, 1, kept, 4), 12, "numbers", "numbers")
    assert block.did[10:] == [8, 9, 10, 11]
    assert again.counts["squares"] == sum(number**2 for number in range(12))
    assert again.failed == done.failed

    for _ in range(2):
        other = study.done_in_blocks(study.blocks(block, 3, 4, 1, kept, 4, {"times": 2}), 4, "numbers", "numbers")
        assert other.counts["squares"] == 28
    assert block.did[14:] == [0, 1, 2, 3]


def test_blocks_in_processes(study: ModuleType, tmp_path: Path) -> None:
    """Tests that two processes do what one does."""
    runs = importlib.import_module("generated_runs")
    alone, shared = (
        sorted(study.blocks(runs.block, 4, 3, processes, kept, 2), key=lambda entry: entry["begin"])
        for processes, kept in ((1, None), (2, tmp_path / "kept"))
    )
    for entry in (*alone, *shared):
        del entry["seconds"]
    assert alone == shared


def test_numbers_that_are_too_small(study: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that an option with less than it may be is wrong usage, which names both."""
    parser = argparse.ArgumentParser()
    study.add_options(parser, "things", 10)
    assert study.given_options(parser, [], {"things": 1}).things == 10
    for option, least in (("--things", 1), ("--seed", 0), ("--processes", 1), ("--only", 0)):
        with pytest.raises(SystemExit):
            study.given_options(parser, [option, str(least - 1)], {"things": 1})
        assert f"{option} {least - 1}: give {least} or more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "words", "noun"),
    [
        ("generated_runs", ["--runs"], "run"),
        ("generated_optima", ["--instances"], "instance"),
        ("latency_band", ["--servers", "30", "--instances"], "instance"),
    ],
)
@pytest.mark.usefixtures("study")
def test_programs_in_blocks(
    name: str, words: list[str], noun: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that each program takes what is kept, fails if a line of it is wrong, and reports one number alone."""
    program, kept = importlib.import_module(name), tmp_path / "kept"
    arguments = [*words, "1", "--processes", "1", "--json", str(kept)]
    assert program.main(arguments) == 0
    (line,) = kept.read_text().splitlines()
    kept.write_text(json.dumps(json.loads(line) | {"failed": [[0, "something"]]}) + "\n")
    assert program.main(arguments) == 1
    assert f"{noun} 0: something\n" in capsys.readouterr().out
    assert program.main([*words[:-1], "--only", "4"]) == 0
    assert capsys.readouterr().out.endswith("nothing is wrong with it\n")
