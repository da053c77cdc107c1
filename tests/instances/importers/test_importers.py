"""The list of importers: what each can be reported, and what its reader may answer."""

import inspect
import runpy
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from input_files import ASSIGN, DIMACS, GAP, SLS, SWIM, noun

from optsched.certificates import certify
from optsched.core.errors import OptschedError, UsageError
from optsched.instances.importers import IMPORTERS, Imported, Importer, Option
from optsched.instances.importers.libraries import import_dimacs, import_orlib_gap
from optsched.instances.importers.sls import import_sls
from optsched.instances.importers.swim import import_swim
from optsched.problems import problem
from optsched.routes import solve


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("None", "answered None; give an Imported of documents"),
        ("Imported((5,))", "answered an Imported; give an Imported of documents"),
        ("Imported(({}, {}))", "answered 2 documents; give one"),
        ("[][1]", r'importer "mine" raised IndexError: .*\(.*mine.py, line 3\)'),
    ],
)
def test_importer_that_answers_nonsense(file: Callable[..., Path], answer: str, message: str) -> None:
    """Tests that what a package's reader answers or raises is reported with the importer's name, in one line."""
    code = f"from optsched.instances.importers import Imported\ndef read(file, *, name):\n    return {answer}\n"
    reader = runpy.run_path(str(file(code, "mine.py")))["read"]
    with pytest.raises(OptschedError, match=message):
        Importer("mine", "", reader).read("x", name=None)


@pytest.mark.parametrize("importer", IMPORTERS.values(), ids=list(IMPORTERS))
def test_readers_take_what_is_listed(importer: Importer) -> None:
    """Tests that each reader has just the options that its importer lists, by these names and defaults."""
    assert isinstance(importer.reader, str)
    module, _, function = importer.reader.partition(":")
    taken = {
        name: parameter.default
        for name, parameter in inspect.signature(getattr(import_module(module), function)).parameters.items()
    }
    path, name, *_ = taken
    listed = {option.name: option for option in importer.options}
    assert set(taken) - {path, "name", "split"} == set(listed)
    assert ("split" in taken) == importer.splits
    assert taken["name"] is None
    for name, option in listed.items():
        if option.default is not None:
            assert taken[name] == option.default


def test_importer_may_split() -> None:
    """Tests that a reader that was asked for a document of each job may answer any number."""
    many = Imported(({"name": "a"}, {"name": "b"}))
    assert Importer("mine", "", lambda file, **options: many, splits=True).read("x", name=None, split=True) is many


@pytest.mark.parametrize("option", [Option("output", ""), Option("slots", "", flag="--name")])
def test_options_that_every_importer_has(option: Option) -> None:
    """Tests that an importer cannot have an option that every importer has, nor one twice."""
    with pytest.raises(UsageError, match='importer "mine": there are two options'):
        Importer("mine", "", "module:function", (option,))
    with pytest.raises(UsageError, match="there are two options slots"):
        Importer("mine", "", "module:function", (Option("slots", ""), Option("slots", "", flag="--other")))
    assert list(IMPORTERS) == ["rumen", "dimacs", "orlib-gap", "orlib-assign", "sls", "swim"]


@pytest.mark.parametrize("name", list(IMPORTERS))
def test_bug_readers_called_by_themselves_took_any_value(name: str) -> None:
    """Tests that a reader refuses what its options may not be without the command, too: `sense="most"` was min."""
    entry = IMPORTERS[name]
    module, _, function = str(entry.reader).partition(":")
    for option in entry.options:
        if not option.several and (option.choices or option.lowest is not None):
            with pytest.raises(UsageError, match=option.name):
                getattr(import_module(module), function)("/dev/null", **{option.name: "most"})


#: File: sense, and optimum as published.
PUBLISHED = {"a05100": ("min", 1698), "c05100": ("min", 1931)}
PUBLISHED |= {f"gap1-{number}": ("max", best) for number, best in enumerate((336, 327, 339, 341, 326))}

FLOWS = [f"dimacs/{name}" for name in ("gte_bad.60", "negative_weight_cycle.min", "simple_min_cost.min")]
FLOWS += [f"flowlessly/graph_{name}.in" for name in ("2m_1j_10t_10p", "2m_2j_10t_10p", "2m_4j_10t_10p", "4m_2crs_6j")]
FLOWS += [f"flowlessly/{name}" for name in ("small_graph.in", "small_graph_neg_costs.in")]
FLOWS += ["flowlessly/graph_100m_4j_100t_10p.in.gz"]


def marked(names: Iterable[str]) -> list[Any]:
    """The names of files, those that take long marked as thorough."""
    long = {"c05100", "gap1-0", "gap1-1", "gap1-2", "gap1-4", FLOWS[0], FLOWS[-1]}
    return [pytest.param(name, marks=[pytest.mark.thorough] * (name in long)) for name in names]


def test_every_file_is_checked(real_data: Path) -> None:
    """Tests that no file of the folders is left out."""
    paths = (path for name in ("dimacs", "flowlessly", "gap") for path in (real_data / name).iterdir())
    assert {f"{path.parent.name}/{path.name}" for path in paths} == {*FLOWS, *(f"gap/{name}" for name in PUBLISHED)}


@pytest.mark.parametrize("name", marked(PUBLISHED))
def test_published_optimum(name: str, real_data: Path) -> None:
    """Tests that three routes prove the optimum that the literature gives, and that each solution certifies."""
    sense, optimum = PUBLISHED[name]
    posed = problem("generalized-assignment", noun(import_orlib_gap(real_data / "gap" / name, sense)))
    for route in ("arrays", "pyomo", "pulp"):
        solution = solve(posed, route=route)
        assert (solution.objective, solution.bound) == ((optimum,), (optimum,)), route
        assert certify(posed, solution).proved  # by the default route's tree, whichever route found it


@pytest.mark.parametrize("name", marked(FLOWS))
def test_flow_file(name: str, real_data: Path, tmp_path: Path) -> None:
    """Tests that every route finds the same least cost, potentials prove it, and DIMACS reads back as the same."""
    network = noun(import_dimacs(real_data / name))
    posed = problem("min-cost-flow", network)
    solutions = [solve(posed, route=route) for route in ("cost-scaling", "network-simplex", "arrays", "pyomo", "pulp")]
    assert len({solution.objective for solution in solutions}) == 1
    assert all(solution.optimal and certify(posed, solution).proved for solution in solutions)
    again = tmp_path / "again.dimacs"
    again.write_text(network.to_dimacs())
    assert noun(import_dimacs(again)).sha256 == network.sha256


def test_parallel_arcs_are_kept(real_data: Path) -> None:
    """Tests that the parallel half of the arcs of `gte_bad.60` is still there, and a cycle of negative cost is used."""
    network = noun(import_dimacs(real_data / "dimacs" / "gte_bad.60"))
    pairs = set(zip(network.tail.tolist(), network.head.tolist(), strict=True))
    assert (network.arcs, len(pairs)) == (520, 260)
    cycle = noun(import_dimacs(real_data / "dimacs" / "negative_weight_cycle.min"))
    assert solve(problem("min-cost-flow", cycle)).objective == (46,)


def test_sls_files(real_data: Path) -> None:
    """Tests SLS's own files: two jobs, four nodes of one rack, queue weights from the allocation file."""
    folder = real_data / "sls"
    names = ("inputsls.json", "nodes-with-resources.json", "fair-scheduler.xml")
    imported = import_sls(*(folder / name for name in names))
    instance = noun(imported)
    assert (len(instance.cluster), len(instance.workload), len(instance.workload.job_ids)) == (4, 5, 2)
    assert instance.workload.group_weight.tolist() == [0.25, 0.25]
    assert instance.workload.arrival.tolist() == [0, 105.204]
    assert [note for note in imported.notes if "another rack" in note]
    assert solve(problem("lsap", instance)).optimal


def test_swim_files(real_data: Path) -> None:
    """Tests the Facebook workload: all arrivals and sizes in the first 50 jobs, and the first 300 of the whole hour."""
    folder = real_data / "swim"
    first = noun(import_swim(folder / "FB-2009_samples_24_times_1hr_0_first50jobs.tsv"))
    assert len(first.workload.job_ids) == 50
    assert first.workload.arrival.tolist()[:3] == [49, 101, 122]
    whole = noun(import_swim(folder / "FB-2009_samples_24_times_1hr_0.tsv.gz", first=300))
    assert len(whole.workload.job_ids) == 300
    assert whole.workload.arrival.tolist()[:50] == first.workload.arrival.tolist()


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("dimacs {}", DIMACS),
        ("orlib-gap {} --sense max", GAP),
        ("orlib-assign {}", ASSIGN),
        ("sls {}", SLS),
        ("swim {} --first 1", SWIM),
    ],
)
def test_import_commands(command: str, text: str, file: Callable[..., Path], tmp_path: Path) -> None:
    """Tests that the command line imports each format to a file that it describes, and says what is missing."""
    target = str(tmp_path / "imported.json")
    result = run("import", *command.format(file(text)).split(), "--output", target)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "applies" in run("describe", target).stdout
    assert run("import", *command.format(tmp_path / "no.txt").split()).exit_code == 3
