"""`optsched.routes.listing`: which solves get a process, sizes, and models refused before they are built."""

from typing import Any

import pytest
from small_problems import NAMES, small_problem

import optsched
from optsched.core.errors import TooLarge
from optsched.core.processes import Limits, contained, limits
from optsched.core.registry import records
from optsched.instances.generate import generate
from optsched.models import lsap
from optsched.problems import AnyProblem, Lsap
from optsched.routes import routes_of, solve
from optsched.routes.listing import may_overrun, module_of, refuse_beyond_memory, route_sizes
from optsched.solvers.answers import LinearProgram
from optsched.solvers.highs import solve_arrays
from optsched.solvers.searches import assignment as networks

#: Guo et al. 2012, Figure 2.
FIGURE: Any = optsched.problem("lsap", "papers/guo-fig2")


def drawn(name: str, seed: int = 0, **sizes: int) -> AnyProblem:
    """A problem on an instance of its family."""
    return optsched.problem(name, generate(records()[name].family, seed=seed, **sizes))


@pytest.mark.parametrize("name", NAMES)
def test_small_instances_start_no_process(name: str) -> None:
    """Tests that no route of a small instance pays for a process, and that its own routes are those it names."""
    problem = small_problem(name, 0)
    own = getattr(module_of(problem), "OVERRUNS", {})
    assert set(own) <= set(routes_of(problem))
    assert not any(may_overrun(problem, route, own) for route in routes_of(problem))


def test_what_builds_much_may_overrun() -> None:
    """Tests that models of a larger instance may overrun, and of the other routes those of which it is known."""
    lsap, network = drawn("lsap", nodes=100, tasks=300), drawn("min-cost-flow", nodes=500, arcs=2000)
    assert [route for route in routes_of(lsap) if may_overrun(lsap, route, {})] == ["pyomo", "pulp"]
    assert may_overrun(network, "network-simplex", {})
    assert not may_overrun(network, "arrays", {"arrays": 2501})
    assert may_overrun(network, "arrays", {"arrays": 2500})


@pytest.mark.parametrize("name", ["lsap", "fair-lsap", "flow", "transmission-maps"])
def test_large_assignment_may_overrun(name: str) -> None:
    """Tests that engines of large assignment problems get a process: posing and compiling do not look at a deadline."""
    problem = drawn(name, nodes=400, tasks=500)
    own = module_of(problem).OVERRUNS
    assert all(may_overrun(problem, route, own) for route in ("network", "arrays"))
    assert not any(may_overrun(drawn(name, nodes=100, tasks=100), route, own) for route in ("network", "arrays"))


@pytest.fixture(scope="module")
def large() -> AnyProblem:
    """A problem whose literal model takes some 600 MB."""
    return drawn("lsap", nodes=500, tasks=500)


def test_model_beyond_the_memory_is_refused(large: AnyProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that nothing is built where there is no memory for it, and that the message has sizes and the way out."""
    monkeypatch.setattr(lsap, "build_pulp", None)
    monkeypatch.setattr(limits, "available_mb", lambda: 200)
    text = (
        r"lsap: the literal model would have 250,001 variables, 1,000 constraints and 750,001 coefficients, and take "
        r'about 608 MB where there are 200; take route "network", the default$'
    )
    with pytest.raises(TooLarge, match=text):
        solve(large, route="pulp")
    refuse_beyond_memory(large, "pyomo")


def test_limit_of_memory_counts(large: AnyProblem) -> None:
    """Tests that a limit on memory refuses what would be killed at it, in the process of the solve."""
    with contained(Limits(60, 400)), pytest.raises(TooLarge, match="take about 608 MB where there are"):
        solve(large, route="pulp")


def test_default_route_has_no_other(monkeypatch: pytest.MonkeyPatch, large: AnyProblem) -> None:
    """Tests that no other route is named where the default one is a model, and nothing told where nothing is known."""
    monkeypatch.setattr(limits, "available_mb", lambda: 200)
    monkeypatch.setattr("optsched.routes.listing.routes_of", lambda problem: ("pulp",))
    with pytest.raises(TooLarge, match=r"take smaller instances$"):
        refuse_beyond_memory(large, "pulp")
    monkeypatch.delattr(lsap, "literal_size")
    assert "pulp" not in route_sizes(large)
    assert route_sizes(type("Own", (Lsap,), {})(FIGURE.instance)) == {}, "no record names it"
    refuse_beyond_memory(large, "pulp")


@pytest.mark.parametrize("name", NAMES)
def test_every_program_has_its_size(name: str) -> None:
    """Tests that models, arrays and networks of every problem are shown, and nothing of what builds as it searches."""
    posed = small_problem(name, 0)
    sizes = route_sizes(posed)
    engines = {"network", "arrays", "network-simplex", "cost-scaling", "dense", "pyomo", "pulp"}
    assert list(sizes) == [route for route in routes_of(posed) if route in engines]
    assert all(min(size) >= 0 and size.constraints > 0 for size in sizes.values())


@pytest.mark.parametrize(
    ("name", "drawn", "parameters"),
    [
        ("flow", {"nodes": 12, "tasks": 30}, {}),
        ("lsap", {"nodes": 12, "tasks": 30, "racks": 3}, {"levels": (0, 1, 2)}),
        ("fair-lsap", {"nodes": 6, "tasks": 12}, {}),
    ],
)
def test_size_of_a_network(
    name: str, drawn: dict[str, Any], parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests the size of the compact network against the program that HiGHS gets."""
    posed = optsched.problem(name, generate(name, seed=1, **drawn), **parameters)
    seen: list[LinearProgram] = []
    monkeypatch.setattr(
        "optsched.solvers.highs.solve_arrays", lambda program, *_: seen.append(program) or solve_arrays(program, *_)
    )
    assert solve(posed, route="arrays").optimal
    (program,) = seen
    assert route_sizes(posed)["arrays"][:3] == (program.matrix.shape[1], program.matrix.shape[0], program.matrix.nnz)


def test_ways_of_the_network_route(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests what the route `network` is said to build: pairs of a matching, a table, a matrix, or the network."""
    assert route_sizes(FIGURE)["network"].variables == len(FIGURE.idle_replicas.values)
    table = drawn("flow", nodes=12, tasks=30)
    assert route_sizes(table)["network"] == route_sizes(table)["dense"]
    monkeypatch.setattr(networks, "is_transported", lambda problem: problem is table)
    assert route_sizes(table)["network"].variables == table.pairs
    levelled = optsched.problem("lsap", generate("lsap", nodes=12, tasks=30, racks=3), levels=(0, 1, 2))
    assert route_sizes(levelled)["network"] == route_sizes(levelled)["arrays"]
    monkeypatch.setattr(networks, "simplex_compiled", lambda arcs: True)
    assert route_sizes(levelled)["network"] == route_sizes(levelled)["network-simplex"]
