"""Tables of files that say what is measured: their form, and where what is wrong with them stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from optsched.core.errors import Fault, InputError
from optsched.measuring.studies.plan_files import (
    MEASURED,
    Looking,
    formed,
    is_number,
    is_truth,
    listed,
    read_toml,
)

PLACES = {key: f"part[0].{key}" for key in MEASURED}


def looking(**values: Any) -> Looking:
    """Looks at the values of a table."""
    return Looking(values, PLACES)


def test_what_is_no_toml(tmp_path: Path) -> None:
    """Tests that a file that is not there, is no TOML or nested too deep is told with its name."""
    file = tmp_path / "a.toml"
    for text, told in ((None, "cannot be read"), ("a = ", "is not TOML"), (f"a = {'[' * 9999}", "nested too deep")):
        if text is not None:
            file.write_text(text)
        with pytest.raises(InputError, match=told) as caught:
            read_toml(file)
        assert str(caught.value).startswith(str(file))
    file.write_text("seeds = 3\n")
    assert read_toml(file) == ("seeds = 3\n", {"seeds": 3})


def test_forms() -> None:
    """Tests that wrong values and unknown keys are faults with their places, and the others are kept."""
    faults: list[Fault] = []
    given = {"seeds": True, "heuristic": ["dl", ""], "instances": "a", "family": [{"nodes": 3}], "problme": "lsap"}
    assert formed(given, MEASURED, "part[0].", faults) == {"instances": "a", "heuristic": ["dl", None]}
    told = [str(fault) for fault in faults]
    assert [line.partition(":")[0].removeprefix("part[0].") for line in told] == [
        "seeds",
        "heuristic[1]",
        "family",
        "problme",
    ]
    assert told[0].endswith('expected how many, a list of seeds, or a text such as "0-29", got true')
    assert told[2].endswith("or a list of them, got a list")
    assert told[3].endswith('did you mean "problem"?')
    assert not is_number(True)
    assert not is_number(float("nan"))
    assert is_truth(False)
    assert (listed("a"), listed(["a"])) == (["a"], ["a"])


def test_what_values_stand_for() -> None:
    """Tests that heuristics, problems and instances are found, those of families last."""
    found = looking(
        heuristic=["dl", "rand"],
        problem="lsap",
        instances="papers/guo-fig2",
        family={"name": "lsap", "seeds": "0-1", "nodes": 3, "tasks": 2},
    )
    assert [choice.label for choice in found.choices()] == ["dl", "rand"]
    assert found.problems() == ["lsap"]
    assert [len(group.instances) for group in found.groups()] == [1, 2]
    assert not found.faults
    assert [group.label for group in looking(family=[{"name": "lsap", "seeds": 1}]).groups()] == ["lsap (1 seed)"]


def test_faults_stand_at_their_places() -> None:
    """Tests that each wrong name is a fault at its own place, and that what is wrong is left out."""
    found = looking(heuristic=["dl", "dll"], problem="lsapp", instances="nowhere", seeds="x", profile="quick")
    assert [choice.label for choice in found.choices()] == ["dl"]
    assert found.problems() == found.groups() == []
    assert set(found.sound(MEASURED)) == {"heuristic", "problem", "instances", "profile"}
    places = [fault.place for fault in found.faults]
    assert places == ["part[0].heuristic[1]", "part[0].problem", "part[0].instances", "part[0].seeds"]
