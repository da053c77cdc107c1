"""Plans of sweeps: which runs there are, under which names, and what they share."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import optsched
from optsched.core.errors import InputError, UsageError
from optsched.measuring.printing import canonical
from optsched.measuring.studies.choices import chosen
from optsched.measuring.sweeping import plans
from optsched.measuring.sweeping.plans import SweepFile, digest_of, optimum_key, planned, run_key, source_digest
from optsched.problems import Latency
from optsched.solvers.profiles import load_profile


def test_variants_of_parameters() -> None:
    """Tests that each choice of parameters is tried, and that a problem without them is there once."""
    plan = planned("papers/guo-fig2", ["lsap", "latency"], ["dl", "labl"], parameters=[{"w_rem": 3}, {"w_rem": 5}])
    found = [(run.posed.problem.name, run.variant) for run in plan.runs]
    assert found == [("lsap", ""), ("latency", "w_rem=3"), ("latency", "w_rem=5")]
    lists = planned("papers/guo-fig2", "lsap", "dl", parameters=[{"lsap": {"levels": (0, 1, 2)}}, {}])
    assert [run.variant for run in lists.runs] == ["levels=0,1,2", ""]
    (run,) = planned("papers/guo-fig2", "latency", "labl", parameters={"w_rem": 5}).runs
    assert (run.variant, run.posed.problem.parameters["w_rem"]) == ("", 5), "one choice of parameters has no name"


def test_faults_are_found_beforehand() -> None:
    """Tests that what is asked for wrongly, and heuristics that no process can import, are refused."""
    with pytest.raises(UsageError, match="up to 9223372036854775807"):
        planned("papers/guo-fig2", "lsap", "dl", [2**63])
    with pytest.raises(UsageError, match="in processes of their own"):
        planned("papers/guo-fig2", "lsap", lambda problem, rng: [])


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages count as installed also where an environment borrows those of another one."""
    monkeypatch.setitem(plans._PATHS, "platlib", Path(pytest.__file__).resolve().parents[1])


EXACT = load_profile("exact")


FIGURE = optsched.load("papers/guo-fig2")


def test_what_is_in_the_key_of_an_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that instance, problem, parameters, options of the solver and version count, and no name or time limit."""
    posed = Latency(FIGURE)
    found = {
        optimum_key(posed, EXACT),
        optimum_key(Latency(optsched.load("papers/guo-table2")), EXACT),
        optimum_key(optsched.problem("lsap", FIGURE), EXACT),
        optimum_key(Latency(FIGURE, w_rem=5), EXACT),
        optimum_key(posed, replace(EXACT, node_limit=7)),
        optimum_key(posed, replace(EXACT, highs={"presolve": "off"})),
    }
    renamed = Latency(replace(FIGURE, name="another", description="said", labels={"a": "b"}))
    assert optimum_key(renamed, replace(EXACT, name="mine", time_limit=1.0)) in found
    monkeypatch.setattr(plans, "code_version", lambda: "99")
    found.add(optimum_key(posed, EXACT))
    assert len(found) == 7


def test_what_is_in_the_key_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that optimum, heuristic, parameters, seed and source count, and that a default is what it stands for."""
    one = chosen("dl")
    before = run_key("a", one, 0)
    assert run_key("a", chosen("dl,reading=sweep"), 0) == before
    others = {
        run_key("b", one, 0),
        run_key("a", one, 1),
        run_key("a", chosen("rand"), 0),
        run_key("a", chosen("dl,reading=heartbeat"), 0),
        run_key("a", chosen("dl,max_idle_rounds=7"), 0),
    }
    monkeypatch.setattr(plans, "source_digest", lambda name: "edited")
    others.add(run_key("a", one, 0))
    assert len(others - {before}) == 6


def test_parameters_in_force() -> None:
    """Tests the values of a heuristic of the list, with defaults, and of a user's own, as given."""
    own = {"max_idle_rounds": "7", "ties": "random", "reading": "sweep"}
    assert plans.heuristic_parameters(chosen("dl,max_idle_rounds=7")) == own
    assert canonical(own) == '{"max_idle_rounds":"7","reading":"sweep","ties":"random"}'  # in any order
    assert plans.heuristic_parameters(chosen("builtins:max,a=1")) == {"a": 1}


def test_a_problem_of_another_package() -> None:
    """Tests that the source of a problem counts where this package does not bring it."""
    posed = Latency(FIGURE)
    assert plans.problem_source(posed) == ""
    again = type("Own", (Latency,), {"__module__": __name__})(FIGURE)
    assert len(plans.problem_source(again)) == 64
    assert optimum_key(again, EXACT) != optimum_key(posed, EXACT)


#: A project of a user's own: a module that imports another two, one of them within a function.
FIRST = "from . import second\nimport numpy\nimport json\n\ndef run(problem, rng):\n    return second.run(problem)\n"
PROJECT = {
    "mine/__init__.py": "",
    "mine/first.py": FIRST,
    "mine/second.py": "def run(problem):\n    from mine.deep import third\n    return third.run(problem)\n",
    "mine/deep/__init__.py": "",
    "mine/deep/third.py": "def run(problem):\n    return [None] * len(problem.tasks)\n",
    "mine/apart.py": "",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The project in the current folder; nothing of it is imported afterwards."""
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    digest_of.cache_clear()
    yield tmp_path
    digest_of.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "mine"]:
        del sys.modules[name]


def digest() -> str:
    """What another process finds now."""
    digest_of.cache_clear()
    return source_digest("mine.first:run")


def test_what_it_needs_counts(project: Path) -> None:
    """Tests that each edit of what a module needs is another digest, no other edit is, and when a process looks."""
    digests = [digest()]
    for name in ("mine/__init__.py", "mine/first.py", "mine/second.py", "mine/deep/third.py"):
        (project / name).write_text((project / name).read_text() + "\n# edited\n")
        digests.append(digest())
    assert len(set(digests)) == 5
    (project / "mine/apart.py").write_text("# edited\n")
    assert digest() == digests[-1]
    before = source_digest("mine.first:run")
    (project / "mine/deep/third.py").write_text("# edited\n")
    assert source_digest("mine.first:run") == before
    assert source_digest("dl") == source_digest("labl") == ""
    plans.look_anew()
    assert source_digest("mine.first:run") != before


def test_other_packages_are_not_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an installed package is not imported to find its modules, and that one's own may raise anything."""
    (project / "site/heavy").mkdir(parents=True)
    (project / "site/heavy/__init__.py").write_text("import sys\nsys.exit(3)\n")
    (project / "mine/deep/__init__.py").write_text("raise RuntimeError('no graphics card')\n")
    (project / "mine/first.py").write_text("def run(problem, rng):\n    import heavy.part, mine.deep.third\n")
    monkeypatch.syspath_prepend(project / "site")
    monkeypatch.setitem(plans._PATHS, "purelib", project / "site")
    before = digest()
    (project / "mine/deep/__init__.py").write_text("raise OSError\n")
    assert digest() != before


def test_a_version_of_another_package_counts(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the version of an installed package counts, also where its distribution has another name."""
    ((name, version),) = plans._versions("_pytest")
    assert (name, version) == ("pytest", pytest.__version__)
    assert plans._versions("no_such_package") == ()
    before = digest()
    plans._versions.cache_clear()
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.0.1")
    assert digest() != before
    plans._versions.cache_clear()


def test_what_cannot_be_read(project: Path) -> None:
    """Tests that modules that are not there, or are no Python, do not keep the others from counting."""
    lines = ["def run(problem, rng):", "import missing", "from . import broken", "from .... import beyond"]
    (project / "mine/first.py").write_text("\n    ".join(lines))
    (project / "mine/broken.py").write_text("def (\n")
    before = digest()
    (project / "mine/broken.py").write_text("def ((\n")
    assert digest() != before


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the file is to be."""
    return tmp_path / "sweep.toml"


def test_one_part(file: Path) -> None:
    """Tests that what is measured stands at the top, and what limits it beside it."""
    file.write_text(
        """
        store = "a.sqlite"
        jobs = 2
        run_limit = 5.5
        memory_limit = 2000
        time_limit = "none"
        instances = "papers/guo-fig2"
        family = {name = "lsap", seeds = "0-1", nodes = 4, tasks = 3}
        problem = ["lsap", "latency"]
        heuristic = ["dl", "labl,variant=strict"]
        seeds = [3, 7]
        parameters = [{w_rem = 3}, {w_rem = 5}]
        profile = "ci"
        """
    )
    found = SweepFile(file)
    options = {"store": "a.sqlite", "jobs": 2, "run_limit": 5.5, "memory_limit": 2000, "time_limit": "none"}
    assert found.options == options
    plan = found.planned()
    assert len(plan) == 3 * 2 * 3
    assert {run.posed.profile.name for run in plan.runs} == {"ci"}
    assert {run.group for run in plan.runs} == {"papers/guo-fig2", "lsap,nodes=4,tasks=3 (2 seeds)"}
    profiles = {"ci": "quick"}  # what limits make of the profile that the file names
    limited = found.planned(limited=profiles.pop)
    assert {run.posed.profile.name for run in limited.runs} == {"quick"}


def told(file: Path, text: str) -> list[str]:
    """What is wrong with a file."""
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        SweepFile(file).planned()
    return [line.removeprefix(f"{file}: ") for line in str(caught.value).splitlines()]


def test_wrong_forms(file: Path) -> None:
    """Tests that every wrong key and value is reported, with its place, before anything is looked for."""
    text = 'stroe = "a"\nrun_limit = 0\nmemory_limit = 0.5\njobs = true\ntime_limit = "x"\nparameters = 3\n'
    assert told(file, text) == [
        'stroe: there is no such key; did you mean "store"?',
        "run_limit: expected a number of seconds above 0, got 0",
        "memory_limit: expected a whole number of MiB, got 0.5",
        "jobs: expected a whole number of processes, got true",
        'time_limit: expected a number of seconds, at least 0, or "none", got the text "x"',
        "parameters: expected a table such as {levels = [0, 1, 2]}, or a list of them; each is tried, got 3",
        "instances: is missing: give a name, file, folder or pattern, or a list of them, or a family",
    ]
    assert told(file, 'part = 3\ninstances = "a"') == ["part: is no list of tables: begin each part with [[part]]"]
    assert told(file, "[[part]]\nstore = 3") == [
        "part[0].store: there is no such key; known: heuristic, problem, instances, family, seeds, parameters, profile",
        "part[0].instances: is missing: give a name, file, folder or pattern, or a list of them, or a family",
    ]


def test_what_is_not_there(file: Path) -> None:
    """Tests that all that is wrong is reported at once, with its place: names, parts and choices of parameters."""
    part = "[[part]]\ninstances = "
    lines = told(file, f'{part}"nowhere"\nheuristic = "dll"\n{part}"papers/guo-fig2"\nproblem = "lap"')
    assert [line.partition(":")[0] for line in lines] == ["part[0].heuristic", "part[0].instances", "part[1].problem"]
    (line,) = told(file, 'instances = "papers/guo-fig2"\nheuristic = "dl"\nproblem = "latency"')
    assert line.startswith("heuristic dl serves ")
    part = '[[part]]\ninstances = "papers/guo-fig2"\nproblem = "latency"\n'
    text = f'{part}heuristic = "labl"\nparameters = [{{w_remm = 3}}, {{w_rem = "x"}}]\n{part}heuristic = "dl"\n'
    lines = told(file, text)
    assert [line.partition(": ")[0] for line in lines] == ["part[0]", "part[0]", "part[1]"]
    assert [word in line for word, line in zip(("w_remm", "w_rem='x'", "serves"), lines, strict=True)] == [True] * 3
