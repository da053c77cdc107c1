"""Keys: what is in them, and what is not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import optsched
from optsched.core.errors import UsageError
from optsched.core.instance import Instance
from optsched.heuristics import Heuristic, heuristic
from optsched.measuring.studies.choices import chosen
from optsched.measuring.sweeping import plans
from optsched.measuring.sweeping.plans import (
    canonical,
    digest_of,
    heuristic_parameters,
    look_anew,
    named,
    optimum_key,
    problem_source,
    run_key,
    source_digest,
)
from optsched.problems import Latency
from optsched.solvers.profiles import load_profile

EXACT = load_profile("exact")


def load(name: str) -> Instance:
    """An instance of the library."""
    found = optsched.load(name)
    assert isinstance(found, Instance)
    return found


FIGURE = load("papers/guo-fig2")


def test_what_is_in_the_key_of_an_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that instance, problem, parameters, options of the solver and version count, each by itself."""
    posed = Latency(FIGURE)
    found = {
        optimum_key(posed, EXACT),
        optimum_key(Latency(load("papers/guo-table2")), EXACT),
        optimum_key(optsched.problem("lsap", FIGURE), EXACT),
        optimum_key(Latency(FIGURE, w_rem=5), EXACT),
        optimum_key(posed, replace(EXACT, node_limit=7)),
        optimum_key(posed, replace(EXACT, highs={"presolve": "off"})),
    }
    monkeypatch.setattr(plans, "code_version", lambda: "99")
    found.add(optimum_key(posed, EXACT))
    assert len(found) == 7


def test_what_is_not_in_the_key_of_an_optimum() -> None:
    """Tests that names, and the limit on time, do not count."""
    renamed = Latency(replace(FIGURE, name="another", description="said", labels={"a": "b"}))
    assert optimum_key(renamed, replace(EXACT, name="mine", time_limit=1.0)) == optimum_key(Latency(FIGURE), EXACT)


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
    assert heuristic_parameters(chosen("dl,max_idle_rounds=7")) == {"reading": "sweep", "max_idle_rounds": "7"}
    assert heuristic_parameters(chosen("builtins:max,a=1")) == {"a": 1}


def test_canonical() -> None:
    """Tests that order, tuples and kinds of mappings do not count, and that fractions are written."""
    assert canonical({"b": (1, 2), "a": Fraction(1, 3)}) == canonical({"a": "1/3", "b": [1, 2]})


def test_a_problem_of_another_package() -> None:
    """Tests that the source of a problem counts where this package does not bring it."""
    posed = Latency(FIGURE)
    assert problem_source(posed) == ""
    again = type("Own", (Latency,), {"__module__": __name__})(FIGURE)
    assert len(problem_source(again)) == 64
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
    forget()


def forget() -> None:
    """Nothing of the project is imported any more."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "mine"]:
        del sys.modules[name]


def digest() -> str:
    """What another process finds now."""
    digest_of.cache_clear()
    return source_digest("mine.first:run")


@pytest.mark.parametrize("name", ["mine/__init__.py", "mine/first.py", "mine/second.py", "mine/deep/third.py"])
def test_what_it_needs_counts(project: Path, name: str) -> None:
    """Tests that an edit of the module, or of what it imports at any depth, is another digest."""
    before = digest()
    assert digest() == before
    (project / name).write_text((project / name).read_text() + "\n# edited\n")
    assert digest() != before


def test_what_it_does_not_need_counts_not(project: Path) -> None:
    """Tests that another module of the same project may change."""
    before = digest()
    (project / "mine/apart.py").write_text("# edited\n")
    assert digest() == before


def test_a_process_looks_once(project: Path) -> None:
    """Tests that an edit after the module was imported does not count for what runs."""
    before = digest()
    (project / "mine/first.py").write_text(FIRST + "\n# edited\n")
    assert source_digest("mine.first:run") == before


def test_sources_are_looked_at_anew(project: Path) -> None:
    """Tests that an edit between two sweeps of one process, as in a notebook, counts."""
    before = source_digest("mine.first:run")
    (project / "mine/deep/third.py").write_text("# edited\n")
    look_anew()
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
    """Tests that the version of an installed package that is imported counts."""
    before = digest()
    plans._versions.cache_clear()
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.0.1")
    assert digest() != before
    plans._versions.cache_clear()


def test_a_distribution_of_another_name() -> None:
    """Tests that the version is found where the distribution is not called as the package that it brings."""
    ((name, version),) = plans._versions("_pytest")
    assert (name, version) == ("pytest", pytest.__version__)
    assert plans._versions("no_such_package") == ()


def test_what_cannot_be_read(project: Path) -> None:
    """Tests that modules that are not there, or are no Python, do not keep the others from counting."""
    lines = ["def run(problem, rng):", "import missing", "from . import broken", "from .... import beyond"]
    (project / "mine/first.py").write_text("\n    ".join(lines))
    (project / "mine/broken.py").write_text("def (\n")
    before = digest()
    (project / "mine/broken.py").write_text("def ((\n")
    assert digest() != before


def test_a_shipped_heuristic_counts_by_the_version() -> None:
    """Tests that the version of the package, which is in each key, stands for its own heuristics."""
    assert source_digest("dl") == source_digest("labl") == ""


def nowhere(problem: Any, rng: Any) -> list[None]:
    """A function at the top of a module."""
    return [None] * len(problem.tasks)


@pytest.mark.parametrize("given", [lambda problem, rng: [], Heuristic("dl", "", "", ("lsap",), "", batch=nowhere)])
def test_what_no_name_leads_to(given: Callable[..., Any] | Heuristic) -> None:
    """Tests that a lambda, and an entry that bears another's name, are refused with what to do."""
    with pytest.raises(UsageError, match="define it at the top of a module of yours"):
        named(heuristic(given))


def test_a_heuristic_of_the_main_module() -> None:
    """Tests that a function of a script, which is another module in other processes, is refused."""
    with pytest.raises(UsageError, match="no name leads to it"):
        named(Heuristic("__main__:run", "", "", ("lsap",), "", parameters=None, batch=nowhere))
