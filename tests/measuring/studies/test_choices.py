"""What a study is of: heuristics with parameters, instances by name, file, folder, pattern and family."""

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optsched
from optsched.core.errors import Fault, InputError, UsageError
from optsched.core.instance import Cluster, Instance, Workload
from optsched.heuristics.simulating import EveryRound
from optsched.instances.library import NETWORK, library
from optsched.measuring.studies import choices
from optsched.measuring.studies.choices import MEASURED, Family, chosen, groups_of, listed, note_faults
from optsched.measuring.studies.runs import plan


def tiny(name: str = "tiny") -> Instance:
    """One task, one node."""
    return Instance(Cluster(["a"]), Workload(["t"]), name=name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two instances and a file that is none."""
    optsched.save(tiny("one"), tmp_path / "b.json")
    optsched.save(tiny("two"), tmp_path / "a.json.gz")
    (tmp_path / "notes.txt").write_text("nothing")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "value"),
    [("2", 2), ("0.5", 0.5), ("true", True), ("false", False), ("far", "far"), ("0:0.5:x", [0, 0.5, "x"])],
)
def test_parameters_of_a_users_own(text: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that parameters of a user's own function come as what they look like; its module is in the folder."""
    (tmp_path / "own_choices.py").write_text("def place(problem, rng, how=None): return []\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [entry for entry in sys.path if entry])
    assert dict(chosen(f"own_choices:place,how={text}").parameters) == {"how": value}


def test_sources(folder: Path) -> None:
    """Tests every way to say which instances are meant; each file is a group, and each family."""
    family = Family("lsap", range(3), {"nodes": 3, "tasks": 2})
    sources = ["papers/guo-fig2", folder, str(folder / "*.json"), tiny("held"), family]
    groups = groups_of(sources)
    assert [(group.label, [entry.name for entry in group.instances]) for group in groups] == [
        ("papers/guo-fig2", ["guo-fig2"]),
        (str(folder / "a.json.gz"), ["two"]),
        (str(folder / "b.json"), ["one"]),
        ("held", ["held"]),
        ("lsap,nodes=3,tasks=2 (3 seeds)", [f"lsap-n3-t2-seed{seed}" for seed in range(3)]),
    ], "what the pattern finds again is there once"
    assert groups_of(groups) == groups, "groups are taken as they are"
    assert groups_of(groups[1]) == groups[1:2]
    assert groups_of(tiny())[0].label == "tiny", "one source needs no list"
    (drawn,) = groups_of(Family("lsap", iter([1, 2]), {"nodes": 3, "tasks": 2}))
    assert (drawn.label, len(drawn.instances)) == ("lsap,nodes=3,tasks=2 (2 seeds)", 2), "seeds that are read once"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Family("min-cost-flow", range(1)), "networks"),
        ([5], "an Instance or a Family"),
        (Family("lsap", [1], {"seed": 4}), "lsap: seed is no parameter: give a family's name and its seeds"),
        (Family("lsap", [1], {"family": 4}), "lsap: family is no parameter: give a family's name and its seeds"),
    ],
)
def test_what_is_no_source(source: Any, message: str) -> None:
    """Tests that networks, what is no source at all, and a seed or name among parameters are refused."""
    with pytest.raises(UsageError, match=message):
        groups_of(source)


_FORMS = "give how many, a list of whole numbers from 0 on, or 0-29"
_OF_TEXT = "give whole numbers from 0 on, of a range the lower one first: 0-29, or 1,4,7"
_NONE = [0, -1, True, 1.5, [], [1.5], [True], [-1], ["1"], None]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        *((given, _FORMS) for given in _NONE),
        *((given, _OF_TEXT) for given in ("", "a", "3-1", "1,-2")),
        *((given, "are more than 1,000,000: take fewer") for given in ("0-99999999999", 10**12, itertools.count())),
    ],
)
def test_no_seeds(given: Any, message: str) -> None:
    """Tests that what is no seed is wrong usage with the forms that there are, and too many are refused at once."""
    with pytest.raises(UsageError, match=message):
        choices.seeds_of(given)


def test_bug_seeds_of_numpy_were_in_no_frame() -> None:
    """Tests that seeds from an array are whole numbers of Python, which records take."""
    found = choices.seeds_of(np.arange(2))
    assert (found, {type(seed) for seed in found}) == ([0, 1], {int})


def test_all_faults_at_once(folder: Path) -> None:
    """Tests that the faults of all files are reported, each with its name; an empty folder or pattern is a fault."""
    (folder / "broken.json").write_text("{")
    (folder / "empty").mkdir()
    with pytest.raises(InputError) as caught:
        groups_of([folder / "broken.json", "papers/guo-fig22", "no/such/*.json", tiny()])
    for part in ("broken.json", "did you mean", "no/such/*.json: fits no file"):
        assert part in str(caught.value)
    for source, words in (
        (folder / "empty", "holds no instance: .*, and no tasks.csv"),
        (str(folder / "*.npz"), "fits no file"),
        (str(folder / "notes.txt"), "unknown kind of file"),
    ):
        with pytest.raises(InputError, match=words):
            groups_of(source)


def test_two_heuristics_of_one_name_are_not_taken_for_one() -> None:
    """Tests that a heuristic is taken once, and that two functions with one name are refused, none of them dropped."""

    def made(node: int) -> Any:
        def place(problem: Any, rng: Any) -> list[int]:
            return [node] * len(problem.tasks)

        return place

    one = made(0)
    twice = choices.distinct(map(chosen, ["dl", one, one, "dl"]))
    assert [choice.label for choice in twice] == ["dl", chosen(one).label]
    with pytest.raises(UsageError, match=r"two heuristics are called .*place: define each under a name of its own"):
        plan("papers/guo-fig2", "lsap", [one, made(1)])


def test_patterns_of_library_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a pattern that fits no file fits names of the library, less networks; that files go first."""
    monkeypatch.chdir(tmp_path)
    shipped = [name for name, entry in library().items() if NETWORK not in entry.tags]
    assert [group.label for group in groups_of("papers/*")] == [name for name in shipped if name.startswith("papers/")]
    assert [group.label for group in groups_of(["exam*-dec*", "guo-fig2", "papers/guo-fig2", "*-fig2"])] == [
        "examples/weights-decimal",
        "papers/guo-fig2",
    ]
    assert {group.label for group in groups_of("examples/*")} == {n for n in shipped if n.startswith("examples/")}
    with pytest.raises(InputError, match=r"^\./papers/\*: fits no file, and no instance of the library$"):
        groups_of("./papers/*")
    (tmp_path / "papers").mkdir()
    optsched.save(tiny("own"), tmp_path / "papers" / "own.json")
    assert [group.label for group in groups_of("papers/*")] == ["papers/own.json"]


def test_the_optimum_of_each_round() -> None:
    """Tests the line for `solve`, which is a policy over time and no heuristic, and that an object of it is one."""
    with pytest.raises(UsageError, match=r'^"solve,problem=lsap": solve decides in rounds of simulate and decompose; '):
        chosen("solve,problem=lsap")
    problem = optsched.problem("job-times", "examples/order-of-jobs")
    report = optsched.gap(problem, EveryRound("solve", problem="lsap"))
    run = optsched.simulate(problem.instance, "solve", problem="lsap")
    assert report.objective == problem.evaluate(run.schedule)


def test_tables_of_files() -> None:
    """Tests that each wrong value or key of a table is reported with its place."""
    faults: list[Fault] = []
    given = {"seeds": True, "heuristic": ["dl", ""], "instances": "a", "family": [{"nodes": 3}], "problme": "lsap"}
    note_faults(given, MEASURED, "part[0].", faults)
    shown = [str(fault) for fault in faults]
    places = [line.partition(":")[0].removeprefix("part[0].") for line in shown]
    assert places == ["seeds", "heuristic[1]", "family[0]", "problme"]
    assert shown[0].endswith('expected how many, a list of seeds, or a text such as "0-29", got true')
    assert shown[2].endswith("or a list of them, got a table")
    assert shown[3].endswith('did you mean "problem"?')
    assert (listed("a"), listed(["a"])) == (["a"], ["a"])
