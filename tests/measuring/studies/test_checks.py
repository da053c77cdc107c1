"""What is asserted of a heuristic, what is found wrong before it runs, and what comes of it."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from optsched import Family, InputError, UsageError, study
from optsched.measuring.studies.checks import _RULES, Check, CheckArguments, CheckFile, Planned
from optsched.solvers.profiles import load_profile


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"feasible": False}, UsageError, "nothing is asserted"),
        ({"heuristic": []}, UsageError, "at least one heuristic in at least one problem"),
        ({"problem": []}, UsageError, "at least one heuristic in at least one problem"),
        ({"problem": ["lsap", "lsapp"]}, UsageError, 'did you mean "lsap"'),
        ({"instances": []}, UsageError, "on at least one instance"),
        ({"heuristic": ["dl", "labl"]}, UsageError, "heuristic labl serves latency; not lsap"),
        ({"problem": ["lsap", "latency"]}, UsageError, "heuristic dl serves .*; not latency"),
        ({"max_gap": 0, "component": "work"}, UsageError, 'no component "work"'),
        ({"parameters": {"levls": [0, 1, 2]}}, UsageError, 'did you mean "levels"'),
        ({"instances": "no/such.json"}, InputError, "No such file"),
        ({"baseline": "."}, InputError, "cannot be read as a baseline"),
        ({"problem": None}, UsageError, "in a problem, or a list of them, by name, not None"),
        ({"parameters": "levels=0,1,2"}, UsageError, "a mapping of names to values"),
    ],
)
def test_wrong_use(given: dict[str, Any], error: Any, message: str) -> None:
    """Tests that what is asked for wrongly is reported before anything runs."""
    with pytest.raises(error, match=message):
        Check.of(**{"heuristic": "dl", "instances": "papers/guo-fig2", "problem": "lsap"} | given).planned()


@pytest.mark.parametrize("problem", ["makespan", "lsap"])
def test_a_check_takes_every_heuristic_that_gap_takes(problem: str) -> None:
    """Tests that a heuristic that gap runs in a problem, in rounds too, can be checked in it with the same outcome."""
    instance = "examples/order-of-jobs"
    reports = study(instance, problem, seeds=1)
    named = list(dict.fromkeys(report.run.name for report in reports))
    assert {"lsap-sched", "fair"} <= set(named)
    outcome = Check.of(named, instance, problem, max_gap="1000%", feasible=False, seeds=1).planned().run()
    found = {entry.heuristic: entry.report.objective for entry in outcome.reports.measured}
    assert found == {report.run.name: report.objective for report in reports}


def test_several_heuristics_and_problems() -> None:
    """Tests that each heuristic is measured in each problem, with each seed, and that the line names them all."""
    planned = Check.of(["dl", "lsap-sched"], "papers/guo-table2", ["lsap", "fair-lsap"], seeds="3,5").planned()
    assert planned.steps == 8
    steps: list[str] = []
    outcome = planned.judge(planned.measure(steps.append))
    assert len(steps) == 8
    assert not outcome.failed
    assert outcome.in_words.startswith("dl, lsap-sched in lsap, fair-lsap, 8 runs of 2 seeds: worst gap ")
    runs = {(entry.heuristic, entry.report.problem.name, entry.report.seed) for entry in outcome.reports.measured}
    assert runs == set(product(("dl", "lsap-sched"), ("lsap", "fair-lsap"), (3, 5)))
    assert outcome.numbers["runs"] == 8


def test_each_assertion_fails() -> None:
    """Tests that a gap, an infeasible placement and a reference that is not proved each break what is asserted."""
    twins = Family("lsap", 2, {"nodes": 6, "tasks": 9})
    assert Check.of("rand", twins, "lsap", max_absolute=0).planned().run().failed
    nowhere = {"heuristic": lambda *_: [None] * 3, "instances": "papers/guo-fig2", "problem": "lsap"}
    outcome = Check.of(**nowhere).planned().run()
    assert "infeasible" in next(outcome.lines())
    assert outcome.cause is None
    assert not Check.of(**nowhere, feasible=False, certify=True).planned().run().failed
    tried = Family("job-times", [0], {"nodes": 2, "tasks": 5, "jobs": 3, "replicas": 1, "reduces": 0, "slots": 1})
    (breach,) = Check.of("dl", tried, "job-times", certify=[]).planned().run().breaches
    assert breach.message.startswith("the reference is not proved: ")
    assert not Check.of("dl", tried, "job-times", certify="enumeration").planned().run().failed


def test_arguments_are_declared_once() -> None:
    """Tests that a file of checks has a key for each argument and no other, and that a wrong name is refused."""
    assert set(_RULES) - {"name", "heuristic", "instances", "family", "problem"} == set(CheckArguments.__annotations__)
    with pytest.raises(UsageError, match="no argument max_gaps"):
        Check.of("dl", "papers/guo-fig2", "lsap", max_gaps=0)


SMALL = """[[check]]
heuristic = "lsap-sched"
problem = "lsap"
instances = "papers/guo-fig2"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with an own heuristic and an own profile."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "own_profile.toml").write_text("node_limit = 7\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def planned(text: str, *only: str) -> list[Planned]:
    """The checks of a file."""
    Path("checks.toml").write_text(text)
    return CheckFile("checks.toml").planned(only)


def faults(text: str) -> list[str]:
    """What is wrong with a file."""
    with pytest.raises(InputError) as caught:
        planned(text)
    assert caught.value.source == "checks.toml"
    return list(map(str, caught.value.faults))


WHOLE = """
heuristic = ["lsap-sched", "dl,reading=heartbeat"]
seeds = "2,4-5"
profile = "own_profile.toml"

[[check]]
name = "all of it"
problem = ["worst-group"]
instances = ["papers/guo-table2"]
family = [{name = "worst-group", seeds = [3], nodes = 10}, {name = "fair-lsap", seeds = 1, weights = [1, 2]}]
max_gap = "5%"
over = 0.9
component = "worst-mean"
feasible = false
baseline = "folder/gaps.json"
certify = ["solver"]
parameters = {levels = [0, 1, 2]}
time_limit = 3

  [[check]]
heuristic = "lsap-sched"
problem = "lsap"
family = {name = "lsap"}
seeds = 2
baseline = true
max_absolute = 1
"""


def test_keys_are_the_arguments_of_a_check() -> None:
    """Tests that each key reaches the check, and that what stands above the tables holds where a check says nothing."""
    first, second = planned(WHOLE)
    check = first.check
    assert (first.name, first.line, first.steps) == ("all of it", 6, 3 * 2 * 3)
    assert [choice.label for choice in check.choices] == ["lsap-sched", "dl,reading=heartbeat"]
    assert check.seeds == (2, 4, 5)
    assert load_profile(check.profile).node_limit == 7
    assert str(check.limit) == "0.9 quantile of the gap in worst-mean at most 5 %"
    assert (check.feasible, check.allowed, check.time_limit) == (False, ("solver",), 3)
    assert check.baseline == Path("folder/gaps.json")
    assert {part.problem.parameters["levels"] for part in first.work} == {(0, 1, 2)}
    assert len({part.group for part in first.work}) == 3
    other = second.check
    assert (second.name, second.line) == ("lsap-sched in lsap", 20)
    assert other.baseline == Path("gaps/lsap-sched-in-lsap.json")
    assert other.seeds == (0, 1)
    assert len(second.work) == 10, "of a family by default the first ten"
    assert str(other.limit) == "worst gap at most 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "check: is missing: write a table [[check]] with heuristic, problem and instances"),
        ("[check]\n", "check: is no list of tables: begin each check with [[check]]"),
        (f'profil = "ci"\n{SMALL}', 'profil: there is no such key; did you mean "profile"?'),
        (f'name = "x"\n{SMALL}', "name: there is no such key; known: heuristic, "),
        (f"seeds = true\n{SMALL}", 'seeds: expected how many, a list of seeds, or a text such as "0-29", got true'),
        (f'{SMALL}seeds = "9-1"', "check[0].seeds: seeds '9-1': give whole numbers from 0 on"),
        (f"{SMALL}maxgap = 1", 'check[0].maxgap: there is no such key; did you mean "max_gap"?'),
        (f"{SMALL}max_gap = 5", 'check[0].max_gap: a share of 5 is 500 %: write "5%" or 0.05'),
        (f"{SMALL}max_gap = 1979-05-27", 'check[0].max_gap: expected a share such as 0.05 or "5%", got a date'),
        (f'{SMALL}component = ""', "check[0].component: expected the name of a component, got an empty text"),
        (f"{SMALL}max_absolute = -1", "check[0].max_absolute: a difference is a number of at least 0, such as 2"),
        (f"{SMALL}max_gap = 0.1\nmax_absolute = 1", "check[0]: give max_gap, a share of the optimum, or max_absolute"),
        (f"{SMALL}over = 2", "check[0].over: over=2: give worst, mean, median, or a quantile"),
        (f'{SMALL}max_gap = 0.1\ncomponent = "locality"', 'check[0]: lsap has no component "locality"; did you mean'),
        (f"{SMALL}feasible = 1", "check[0].feasible: expected true or false, got 1"),
        (
            f'{SMALL}certify = ["solvr"]',
            "check[0].certify: certify='solvr': give true, or claims to allow; did you mean \"solver\"?",
        ),
        (f'{SMALL}baseline = "folder"', "check[0]: folder: cannot be read as a baseline"),
        (f"{SMALL}time_limit = inf", "check[0].time_limit: expected a number of seconds, at least 0, got inf"),
        (f"{SMALL}family = {{seeds = 3}}", "check[0].family: expected a table with a name, such as {name = "),
        (f'{SMALL}family = [{{name = "lsap", nods = 3}}]', 'check[0].family[0]: lsap: no parameter "nods"'),
        (SMALL.replace('"lsap-sched"', '["dl", "dll"]'), 'check[0].heuristic[1]: there is no heuristic "dll"; did you'),
        (SMALL.replace('"papers/guo-fig2"', '"traces/*.json"'), "check[0].instances: traces/*.json: fits no file"),
        (f"{SMALL}{SMALL}", 'check[1].name: check[0] is called "lsap-sched in lsap", too: give each a name of its own'),
    ],
)
def test_each_fault(text: str, message: str) -> None:
    """Tests the place, the value and the mend of each kind of fault, and that it comes alone."""
    (fault,) = faults(text)
    assert fault.startswith(message)


def test_all_faults_at_once() -> None:
    """Tests that faults of form, of names, entries of lists, instances and what does not go together come together."""
    text = f"""seed = 3
{SMALL.replace('"papers/guo-fig2"', '["no/such.json", "traces/*.json"]')}max_gap = "five"
[[check]]
problem = "lsap"
{SMALL.replace("lsap-sched", "labl")}"""
    found = faults(text)
    assert [fault.partition(": ")[0] for fault in found] == [
        "seed",
        "check[1].heuristic",
        "check[1].instances",
        "check[0].instances",
        "check[0].instances",
        "check[0].max_gap",
        "check[2]",
    ]
    text = """[[check]]
heuristic = ["dl", 3, "nope"]
problem = ["lsap", "lsapp"]
instances = [4, "no/such.json"]
certify = [true, "solver"]
max_gap = 0.1
max_absolute = 1
"""
    assert [fault.partition(": ")[0] for fault in faults(text)] == [
        "check[0].heuristic[1]",
        "check[0].instances[0]",
        "check[0].certify[0]",
        "check[0].heuristic[2]",
        "check[0].problem[1]",
        "check[0].instances",
        "check[0]",
    ]


def test_a_fault_of_a_default_is_told_once() -> None:
    """Tests that what stands above the tables is wrong once, however many checks it holds for."""
    second = SMALL.replace("[[check]]", '[[check]]\nname = "second"')
    assert faults(f'profile = "cii"\n{SMALL}{second}') == ['profile: no solver profile "cii": did you mean "ci"?']
