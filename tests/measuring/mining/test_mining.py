"""Mining: deterministic, minimal, for every problem of the registry; and the papers' counterexamples found again."""

import json
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from small_problems import scarcest_first

from optsched import Find, Placement, certify, load, mine, solve
from optsched.core.deadline import remaining
from optsched.core.errors import InputError, OutOfTime, UsageError
from optsched.core.processes.containing import contained
from optsched.core.processes.limits import Limits
from optsched.core.registry import records
from optsched.heuristics import HEURISTICS, run
from optsched.instances.files import from_document, to_json
from optsched.instances.generate import generate, known_optimum
from optsched.measuring.gaps import GapReport, Reference, gap_of
from optsched.measuring.judging.expressions import evaluated
from optsched.measuring.mining import margin, statement
from optsched.measuring.mining.documents import smaller
from optsched.measuring.mining.walking import Aim, Judge
from optsched.measuring.studies.choices import chosen
from optsched.problems import problem, problem_class
from optsched.solvers.profiles import Profile, load_profile

#: Problems that heuristics may serve, and that have a family to start from.
MINED = [
    name
    for name, record in records().items()
    if record.family is not None and record.problem_class.decided is Placement
]


def own(problem: Any, rng: Any) -> Sequence[int | None]:
    """A user's heuristic: each task on a random node, whatever is there."""
    return [int(node) for node in rng.integers(0, len(problem.instance.cluster), len(problem.tasks))]


def mined_anyhow(name: str) -> Find | None:
    """What a few tries find in a problem, by a heuristic that serves it, or one of our own."""
    serving = [entry.name for entry in HEURISTICS.values() if name in entry.problems and entry.name != "observed"]
    heuristic: Any = serving[-1] if serving else own
    return mine(heuristic, name, budget=6, most_tasks=4, most_nodes=3)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.thorough] * (name in ("utility", "flow-congestion"))) for name in MINED],
)
def test_every_problem(name: str) -> None:
    """Tests that a few tries find nothing, or a minimal instance whose label is its optimum."""
    found = mined_anyhow(name)
    if found is None:
        return
    assert found.minimal
    problem = records()[name].problem_class(found.instance())
    assert known_optimum(found.instance())[name] == solve(problem).objective


@pytest.mark.thorough
@pytest.mark.parametrize("name", MINED)
def test_the_same_each_time(name: str) -> None:
    """Tests that the same arguments find the same instance."""
    one, other = (found and (to_json(found.instance()), found.words()) for found in map(mined_anyhow, [name] * 2))
    assert one == other


def minimal(found: Find, heuristic: str, problem: str, **options: Any) -> bool:
    """Whether no smaller document is as bad: judged anew, without what the search remembers."""
    judge = Judge(problem, {}, chosen(heuristic), (0,), Aim(**options), load_profile("exact"))
    whole = judge(found.document)
    return all((step := judge(document)) is None or step.score < whole.score for document in smaller(found.document))


ONE_REPLICA = "guo-2012/4.1-one-replica"


def test_dl_in_the_heartbeat_reading() -> None:
    """Tests that one task with one replica breaks the claim that dl is optimal (Guo et al. 2012, note 1)."""
    found = mine(claim=ONE_REPLICA)
    assert (len(found.document["tasks"]), len(found.document["nodes"])) == (1, 2)
    assert minimal(found, "dl,reading=heartbeat", "lsap", claim=statement(ONE_REPLICA, "dl,reading=heartbeat"))
    assert "the claim is about: one replica" in found.words()
    assert f"--heuristic dl,reading=heartbeat --claim {ONE_REPLICA} --budget 2000" in found.command
    assert "the claim is broken: dl,reading=heartbeat on lsap: locality-cost 1 against the optimum 0" in found.words()


LARGE = {"most_tasks": 25, "most_nodes": 8}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("heuristic", "problem", "claim", "options"),
    [
        ("flow-based", "latency", None, {"component": "makespan", "budget": 600}),
        ("joss-t,policy=B", "traffic", "sharmilarani/2-b-worst-case", {}),
        ("labl,lbar=inf", "latency", "agosta/3.4-theorem-1", {}),
        ("labl,lbar=inf,variant=strict", "latency", "agosta/3.4-theorem-1", {}),
        ("labl,lbar=inf,variant=rescan", "latency", "agosta/3.4-theorem-1", {}),
        ("labl,lbar=l**", "latency", "agosta/3.4-theorem-2", {}),
        ("labl", "latency", "agosta/3.4-theorem-3-bounds", {}),
        ("labl,lbar=inf,variant=strict", "latency", "agosta/3.4-corollary-1", {"budget": 2000}),
        ("labl,lbar=inf", "latency", "agosta/3.4-corollary-1", {}),
        ("labl,lbar=inf,variant=rescan", "latency", "agosta/3.4-corollary-1", {"budget": 3000, **LARGE}),
    ],
)
def test_claims_of_papers_are_broken(heuristic: str, problem: str, claim: str | None, options: dict[str, Any]) -> None:
    """Tests that claims of papers are broken by minimal instances, that of Fischer et al. 2010, note 1, by a gap."""
    found = mine(heuristic, problem, claim=claim, **options)
    assert found.minimal
    if claim is None:
        assert found.report.absolute_gap[0]
        assert minimal(found, heuristic, problem, component=options["component"])
    else:
        stated = statement(claim, heuristic)
        assert stated(found.report) < 0
        assert minimal(found, heuristic, problem, claim=stated)


def test_an_interrupt_gives_the_best_so_far() -> None:
    """Tests that Ctrl-C after a find returns it, not shrunk, and before any find goes on to the caller."""

    def interrupt(text: str) -> None:
        if "worst so far" in text:
            raise KeyboardInterrupt

    found = mine("dl,reading=heartbeat", "lsap", budget=100, step=interrupt)
    assert (found.interrupted, found.minimal) == (True, False)
    assert "not minimal" in found.words()

    def at_once(text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mine("lsap-sched", "lsap", budget=100, step=at_once)


def test_a_time_limit_keeps_time_for_shrinking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that without a budget the search goes on until its share is over, then shrinks, and tells its budget."""
    tries = [0]

    def ticking() -> None:
        """Gives the search, which has seven tenths of the time, thirty looks at the clock."""
        tries[0] += 1
        left = remaining()
        if left is not None and left <= 70 and tries[0] > 30:
            raise OutOfTime("out of time")

    monkeypatch.setattr("optsched.measuring.mining.walking.check", ticking)
    found = mine("dl,reading=heartbeat", "lsap", time_limit=100)
    assert found.minimal
    budget = int(found.command.split("--budget ")[1].split()[0])
    assert budget == 30
    assert str(mine("dl,reading=heartbeat", "lsap", budget=budget)) == str(found)


def raising(problem: Any, rng: Any) -> Sequence[int | None]:
    """A heuristic that never answers."""
    raise ValueError("no licence")


@pytest.mark.parametrize("options", [{"failures": False}, {"claim": lambda report: True}], ids=["gap", "claim"])
def test_nothing_could_be_judged(options: dict[str, Any]) -> None:
    """Tests that a heuristic that never has a placement is reported, and not that the claim holds."""
    with pytest.raises(UsageError, match=r"none of 10 instances .* could be judged: .*no licence"):
        mine(raising, "lsap", budget=10, **options)


def test_random_heuristics_over_several_runs() -> None:
    """Tests that the mean over runs counts where that is asked for, and that the find says so."""
    found = mine("rand", "lsap", budget=60, run_seeds="0-3", over="mean", worst="absolute")
    assert [run.seed for run in found.runs] == [0, 1, 2, 3]
    assert found.score[1] == Fraction(sum(run.deciding[0] for run in found.runs)) / 4
    assert f"gap: {found.score[1]} beyond the optimum (mean of 4 runs)" in found.words()
    assert "--over mean --run-seeds 0,1,2,3" in found.command


def test_another_family_and_parameters() -> None:
    """Tests that a search may start elsewhere, and that the problem's parameters are kept with the instance."""
    begun = {"parameters": {"levels": "0,1,2"}, "family": "lsap", "family_parameters": {"nodes": 3}}
    found = mine("dl,reading=heartbeat", "lsap", budget=20, **begun)
    document = {**found.document, "parameters": {"lsap": {"levels": [0, 1, 2]}}}
    assert from_document(document).sha256 == found.instance().sha256
    assert found.command == (
        "optsched mine --problem lsap --heuristic dl,reading=heartbeat --param levels=0,1,2 --set nodes=3 "
        "--family lsap --budget 20 --seed 0"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"problem": "min-cost-flow"}, "its decision is a flow"),
        ({"heuristic": "labl"}, "heuristic labl serves latency; not lsap"),
        ({"budget": 0}, "budget=0: give a whole number"),
        ({"over": "best"}, "give worst, mean, median"),
        ({"worst": "largest"}, "give relative or absolute"),
        ({"claim": 3}, "a claim is called with a GapReport; give a function, not"),
        ({"component": "speed"}, "no component"),
        ({"worst": "absolute", "problem": "latency", "heuristic": "labl"}, "makespan and work"),
        ({"most_tasks": True}, "most_tasks=True: give a whole number"),
        ({"family": "latncy"}, 'no family "latncy"'),
        ({"family": "lsap", "family_parameters": {"speed": 2}}, 'no parameter "speed"'),
        ({"family": "min-cost-flow"}, "draws flow networks"),
        ({"problem": "utility", "heuristic": "ras", "family": "latency"}, "no instance of family latency can be posed"),
        ({"claim": "claims"}, 'claim "claims": write it as package.module:function'),
        ({"claim": "small_problems:nothing"}, 'there is no "nothing" in it'),
        ({"claim": "math:pi"}, "which is no function"),
        ({"claim": "agosta/theorem-1"}, "no claim .*did you mean agosta/3.4-theorem-1"),
        ({"claim": ONE_REPLICA, "heuristic": "rand"}, "its statements are about dl, lsap-sched, dl,reading=heartbeat"),
        ({"claim": "guo-2012/3.3-more-idle"}, "none of its checks is about each instance alone"),
        ({"claim": "hsu-freeh/5.2-elapsed"}, "none of its checks is about each instance alone"),
        ({"claim": ONE_REPLICA, "heuristic": None, "problem": "latency"}, "is about lsap, not latency"),
        ({"heuristic": None}, "give a heuristic and a problem, or the id of a claim"),
    ],
)
def test_wrong_usage(options: dict[str, Any], message: str) -> None:
    """Tests that what is not there, or does not go together, is reported in a sentence."""
    given = {"heuristic": "dl", "problem": "lsap", "budget": 10, **options}
    with pytest.raises(UsageError, match=message):
        mine(given.pop("heuristic"), given.pop("problem"), **given)


@pytest.mark.parametrize(
    ("sizes", "budget", "gap"),
    [
        ({"most_tasks": 3, "most_nodes": 3}, 600, 1),
        pytest.param({}, 600, 1, marks=pytest.mark.thorough),
        pytest.param({}, 1000, 2, marks=pytest.mark.thorough),
    ],
)
def test_bug_a_greedy_rule_was_not_refuted(sizes: dict[str, int], budget: int, gap: int) -> None:
    """Tests that "scarcest task first" is refuted on three tasks and nodes, and more so by a larger budget."""
    found = mine(scarcest_first, "lsap", seed=0, budget=budget, **sizes)
    assert found.report.absolute_gap == (gap,)
    assert gap > 1 or (len(found.instance().workload), len(found.instance().cluster)) == (3, 3)


#: Heuristics, and the claim that everything is optimal, as a truth and as a number.
PLACER = """
import time

def place(problem, rng):
    "Each task on the next node, from the last one on."
    nodes = problem.instance.cluster.node_ids
    return [nodes[-1 - at % len(nodes)] for at in range(len(problem.tasks))]

def raising(problem, rng):
    raise ValueError("no")

def claim(report):
    return report.absolute_gap[0] == 0

def slack(report):
    return -report.absolute_gap[0]

def hanging(problem, rng):
    time.sleep(1000)

def sometimes(problem, rng):
    if rng.integers(4) == 1:
        raise ValueError("not now")
    return place(problem, rng)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder, with a heuristic that puts the first task last."""
    (tmp_path / "placer_of_mine.py").write_text(PLACER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "placer_of_mine", raising=False)
    return tmp_path


def found_by(heuristic: str, problem: str = "lsap", **options: Any) -> Find:
    """A find within a small budget."""
    return mine(heuristic, problem, budget=80, **options)


@cache
def found_for_dl() -> Find:
    """The find that tests of files and forms share."""
    return found_by("dl,reading=heartbeat")


def pytest_run(folder: Path) -> subprocess.CompletedProcess[str]:
    """What `pytest`, not `python -m pytest`, says in the folder above, which the modules are not in."""
    plugged = any(entry.name == "optsched" for entry in entry_points(group="pytest11"))
    options = [] if plugged else ["-p", "optsched.measuring.pytest_plugin"]
    start = [sys.executable, "-c", "import sys, pytest; del sys.path[0]; sys.exit(pytest.main())"]
    command = [*start, "-q", "-p", "no:cacheprovider", *options, "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_files(folder: Path) -> None:
    """Tests the instance's name, source, labels, optimum, and that nothing is replaced."""
    found = found_for_dl()
    instance_file, test_file = found.save(folder / "mined", "worst")
    assert (instance_file.name, test_file.name) == ("worst.json", "test_worst.py")
    loaded = load(instance_file)
    assert loaded.name == "worst"
    assert loaded.source == f"mined by {found.command}"
    proved = "the optimum is proved, as optsched certify shows"
    assert loaded.labels["mined"] == f"by {found.command}; minimal; {proved}"
    assert known_optimum(loaded)["lsap"] == found.report.reference.value
    before = instance_file.read_bytes()
    with pytest.raises(UsageError, match="is there already; choose another --name"):
        found.save(folder / "mined", "worst")
    assert instance_file.read_bytes() == before


def test_a_profile_made_in_python_is_named() -> None:
    """Tests that the command and the test name a profile that was given as an object, or the file that it needs."""
    for profile, name in ((load_profile("quick"), "quick"), (Profile("quick", node_limit=9), "quick.toml")):
        found = mine("dl,reading=heartbeat", "lsap", budget=30, profile=profile)
        assert f"--profile {name} --budget" in found.command
        assert f'profile="{name}")' in found.test("worst")


def test_a_whole_gap_is_a_limit_in_per_cent(folder: Path) -> None:
    """Tests that a gap of a whole number is written as a limit that is taken: `max_gap="2"` would be refused."""
    found = found_by("round-robin", "latency", seed=0)
    assert found.score[1] >= 1
    assert f'max_gap="{100 * found.score[1]}%"' in found.save(folder)[1].read_text()


@pytest.mark.thorough
def test_a_test_of_a_gap_goes_red(folder: Path) -> None:
    """Tests that a mined gap passes as it is, and fails once the heuristic is worse on it."""
    found = found_by("placer_of_mine:place", failures=False)
    assert found.report.feasible
    found.save(folder)
    green = pytest_run(folder)
    assert green.returncode == 0, green.stdout
    module = folder / "placer_of_mine.py"
    module.write_text(module.read_text().replace('"Each task', 'return None\n    "Each task'))
    red = pytest_run(folder)
    assert red.returncode == 1, red.stdout


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("heuristic", "options"),
    [
        ("placer_of_mine:place", {"claim": "placer_of_mine:claim"}),
        ("placer_of_mine:place", {"claim": "placer_of_mine:slack"}),
        ("dl,reading=heartbeat", {"claim": "guo-2012/4.1-one-replica"}),
        ("placer_of_mine:raising", {}),
        ("dl,reading=heartbeat", {"worst": "absolute"}),
        ("rand", {"run_seeds": 3, "over": "mean"}),
        ("rand", {"run_seeds": "2-4", "over": "median", "worst": "absolute"}),
        ("placer_of_mine:sometimes", {"problem": "latency", "run_seeds": 8, "over": "0.5"}),
        ("placer_of_mine:sometimes", {"problem": "latency", "run_seeds": 8}),
    ],
)
def test_each_sort_of_test_passes_today(folder: Path, heuristic: str, options: dict[str, Any]) -> None:
    """Tests that the tests of a broken claim, of a failure and of a difference are green when they are written."""
    test = found_by(heuristic, **options).save(folder)[1].read_text()
    assert ("feasible=False" in test) is (options.get("over") == "0.5")
    done = pytest_run(folder)
    assert done.returncode == 0, done.stdout
    fails = "raising" in heuristic or ("sometimes" in heuristic and "over" not in options)
    assert ("1 xfailed" if fails else "1 passed") in done.stdout


def test_what_has_no_name_is_not_saved(folder: Path) -> None:
    """Tests that a test needs names of heuristic and claim, that its own is one of files, and a folder one."""
    with pytest.raises(UsageError, match=r"give them as package\.module:function"):
        found_by("dl,reading=heartbeat", claim=lambda report: report.absolute_gap == (0,)).save(folder)
    found = found_for_dl()
    with pytest.raises(UsageError, match="is no name for files"):
        found.save(folder, "../worst")
    (folder / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        found.save(folder / "file")


@pytest.mark.thorough
def test_limits_of_runs_are_kept(folder: Path) -> None:
    """Tests that a heuristic that hangs is found under a limit, and that command and test hold to it."""
    with contained(Limits(1.5, None)):
        found = found_by("placer_of_mine:hanging", "latency")
    assert "--run-limit 1.5" in found.command
    found.save(folder)
    done = pytest_run(folder)
    assert (done.returncode, "1 xfailed" in done.stdout) == (0, True), done.stdout


@pytest.mark.parametrize(
    ("heuristic", "problem"),
    [
        ("labl", "latency"),
        pytest.param("dl", "worst-group", marks=pytest.mark.thorough),
        pytest.param("balancing", "flow", marks=pytest.mark.thorough),
        pytest.param("joss-t", "traffic", marks=pytest.mark.thorough),
    ],
)
def test_the_optimum_is_certified(heuristic: str, problem: str, tmp_path: Path) -> None:
    """Tests that the file that is kept, solved again, has the labelled optimum, and what it rests on is shown truly."""
    found = found_by(heuristic, problem)
    loaded = load(found.save(tmp_path)[0])
    posed = problem_class(problem)(loaded)
    solution = solve(posed)
    assert solution.objective == known_optimum(loaded)[problem]
    report = certify(posed, solution)
    report.raise_if_invalid()
    assert found.rests_on == tuple(sorted({str(claim.kind) for claim in report.claims}))
    assert f"certify={list(found.rests_on) or True}" in found.test("x")
    assert f"the optimum {'rests on' if found.rests_on else 'is proved'}" in found.words()


def test_json() -> None:
    """Tests that a find is JSON, with the gap exact, and what a notebook shows of it."""
    find = found_for_dl()
    found = json.loads(json.dumps(find.to_dict()))
    assert (Fraction(found["gap"]), found["rests_on"]) == (find.aim.gap(find.report), [])
    assert repr(find).startswith("<Find: dl,reading=heartbeat on lsap")


# Claims of the registry -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <= b", 3),
        ("b <= a", -3),
        ("a < 2", -1),
        ("a <= 2", 0),
        ("a == 2", True),
        ("a == b", False),
        ("a < b < 9", True),
        ("(a < b) & (a > 1.5)", Fraction(1, 2)),
        ("(b > 4) | (a > b)", 1000),
        ("(b > 5) | (a > b)", -3),
        ("abs(a - b) + max(a, b) >= 8", 0),
    ],
)
def test_margin(text: str, expected: Any) -> None:
    """Tests that a margin is exact, and below 0 (or False) exactly where the expression is false."""
    measured = {"a": Fraction(2), "b": Fraction(5)}
    found = margin(text, measured)
    assert (found, type(found) is bool) == (expected, type(expected) is bool)
    assert (found is not False and found >= 0) == bool(evaluated(text, measured))


def test_statements() -> None:
    """Tests which check is taken, that it is measured on the problem of the report, and holds where it cannot be."""
    assert not statement("guo-2012/4.1-one-replica").check.holds
    assert statement("agosta/3.4-corollary-1").heuristic == "labl,lbar=inf"
    assert statement("agosta/3.4-corollary-1", "labl,variant=strict,lbar=inf").check.says == "labl <= optimum + 3"
    assert statement("fischer-2010/5-flow-bound").parameters == {"w_rem": "2"}
    stated = statement("agosta/3.4-theorem-3-bounds")
    posed = problem("latency", generate("latency", 1, nodes=2, tasks=3, max_load=0, replicas=2), w_rem=7)
    report = report_of("labl", posed)
    assert stated(report) == Fraction(3 * 3, 2) - report.objective[0]
    stated = statement("guo-2012/3.4-fixed-selection")
    posed = problem("lsap", generate("lsap", 0, nodes=4, tasks=3))
    assert stated(report_of("dl", posed)) is True


def report_of(heuristic: str, posed: Any) -> GapReport:
    """What a heuristic comes to."""
    return gap_of(posed, run(posed, heuristic, 0), 0, Reference.solved(posed, load_profile("exact")))
