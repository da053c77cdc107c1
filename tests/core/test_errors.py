"""What can go wrong, as types: exit codes, the lines of messages, and what is said of a wrong argument."""

import pytest

import optsched
from optsched.core import errors
from optsched.core.errors import Fault, InputError, OptschedError, UsageError, described, nearest


def test_exit_codes() -> None:
    """Tests that each error that is no bug has the exit code of the design, and that bugs have 1."""
    kinds = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}
    codes = {name: kind.exit_code for name, kind in kinds.items() if issubclass(kind, OptschedError)}
    assert {name: code for name, code in codes.items() if code != 1} == {
        **dict.fromkeys(("UsageError", "TooLarge"), 2),
        **dict.fromkeys(("InputError", "MissingField"), 3),
        **dict.fromkeys(("HeuristicFailed", "CertificateInvalid"), 4),
        "OutOfTime": 5,
    }


def test_lines_of_a_message_stay_lines() -> None:
    """Tests that each argument of an error is a line of its own, whatever is in it, and nothing else makes a line."""
    assert str(OptschedError("one\ntwo", "three\x1b")).split("\n") == ["one\\ntwo", "three\\x1b"]
    error = InputError([Fault("a\rb", "c\nd"), Fault("", "e\x85f")], "g\x0bh")
    assert str(error).split("\n") == ["g\\x0bh: a\\rb: c\\nd", "g\\x0bh: e\\x85f"]


@pytest.mark.parametrize(("count", "expected"), [(0, 0), (1, 1), (100, 100), (101, 101), (250, 101)])
def test_a_message_counts_what_it_does_not_show(count: int, expected: int) -> None:
    """Tests that a hundred faults are shown and the rest counted, while the error holds all of them."""
    error = InputError(Fault(f"tasks[{row}]", f'no node "{row}"') for row in range(count))
    assert len(error.faults) == count
    assert len([line for line in str(error).split("\n") if line]) == expected
    if count > 100:
        assert str(error).endswith(f"and {count - 100} more faults")


def test_many_faults_of_a_sort_are_one_line() -> None:
    """Tests that thousands of records without a field are said in a line with the first of them, and few one by one."""
    many = [Fault(f"tasks[{row}].times", "say how long") for row in range(7000)]
    few = [Fault(f"jobs[{row}].id", "is empty") for row in range(20)]
    error = InputError([few[0], *many, *few[1:], *[Fault("", "is wrong")] * 30], "a.json")
    lines = str(error).split("\n")
    assert lines[:3] == [
        "a.json: jobs[0].id: is empty",
        "a.json: tasks[0].times, tasks[1].times, tasks[2].times and 6997 more: say how long",
        "a.json: jobs[1].id: is empty",
    ]
    assert (len(error.faults), len(lines)) == (7050, 51)


def test_what_is_shown_of_a_long_text() -> None:
    """Tests that a long text is not printed whole."""
    assert len(described("x" * 5000)) < 100
    with pytest.raises(UsageError, match=r"takes a problem, not the text .*; pose one first$"):
        optsched.solve("x" * 5000)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("flwo", ["lsap", "flow"], 'did you mean "flow"?'),
        ("zzz", ["lsap", "flow"], "known: lsap, flow"),
        (3, ["lsap", "flow"], "known: lsap, flow"),
        ("zzz", ["a", "a"], "known: a"),
        (None, [], "none is known"),
        ("lsap", [], "none is known"),
    ],
)
def test_nearest(name: object, known: list[str], expected: str) -> None:
    """Tests that what is close to no name, or is no text, is told all names, and that there may be none."""
    assert nearest(name, known) == expected
