"""Inputs that no scheduler would send, and claims that nobody should believe: each once gave a traceback or worse."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from small_problems import small

from optsched.certificates import certify
from optsched.core.errors import InputError, SolverDisagreement, TooLarge, UsageError
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.results import Certificate, Proof, Solution, Termination
from optsched.measuring.gaps import Reference, gap
from optsched.problems import FairLsap, Flow, Latency, Lsap, problem
from optsched.routes import frontier, solve
from optsched.solvers.profiles import Profile, load_profile
from optsched.solvers.searches.latency import FixedLimit, LatencySearch


def _latency() -> tuple[Latency, Solution]:
    """Two tasks whose blocks are on the first of two servers, and the proved optimum (2, 2)."""
    posed = Latency(small([[0], [0]]))
    return posed, solve(posed)


@pytest.mark.parametrize("objective", [(), (2,), (2, 2, 2)])
def test_an_objective_of_the_wrong_length_is_a_false_claim(objective: tuple[int, ...]) -> None:
    """Tests that certify says so instead of looking for entries that are not there."""
    posed, solution = _latency()
    verdict = certify(posed, replace(solution, objective=objective))
    assert "objective" in {check.what for check in verdict.checks if not check.holds}


FALSE = Certificate("work", Proof.COMBINATORIAL, 10**9, {"limit": 2, "cover": []})


@pytest.mark.parametrize(
    "claims",
    [
        {"bound": (2, None), "termination": Termination.FEASIBLE, "certificates": ("own", FALSE)},
        {"certificates": ("own", FALSE, "own")},
    ],
    ids=["certificate of no bound", "certificate twice"],
)
def test_no_claim_is_passed_over(claims: dict[str, Any]) -> None:
    """Tests that a false certificate does not hide behind a missing bound, nor behind a true one."""
    posed, solution = _latency()
    own = iter(solution.certificates)
    given = tuple(next(own) if entry == "own" else entry for entry in claims["certificates"])
    assert not certify(posed, replace(solution, **(claims | {"certificates": given}))).valid


@pytest.mark.parametrize("name", ["name", "instance", "self"])
def test_a_parameter_may_have_any_name_and_still_be_unknown(name: str) -> None:
    """Tests that a parameter called like an argument of the call, as a solution file may have one, is wrong usage."""
    posed, _ = _latency()
    with pytest.raises(UsageError, match=f'no parameter "{name}"'):
        problem("latency", posed.instance, **{name: 1})


@pytest.mark.parametrize(("kind", "nodes"), [(Lsap, 4), (Lsap, 0), (Latency, 1)])
def test_enumeration_of_many_tasks_is_refused(kind: type[Lsap] | type[Latency], nodes: int) -> None:
    """Tests that neither the number of ways (too long to print) nor the depth of the recursion ends in a traceback."""
    instance = small([[]] * 20_000, [1] * nodes)
    with pytest.raises(TooLarge, match="brute-force"):
        solve(kind(instance), route="brute-force")


def _flow(rate: float = 3.0, rate_out: float = 85.0, **parameters: Any) -> Flow:
    cluster = Cluster(["a", "b"], rate_out=[rate_out] * 2, rate_in=[85.0] * 2)
    workload = small([[0], [0]], rate_in=[rate] * 2).workload
    return Flow(
        Instance.initial(cluster, workload, out_in_use=[1.0] * 2, running_rates=Ragged.from_rows([[3.0], []], float)),
        **parameters,
    )


@pytest.mark.parametrize(
    "columns",
    [
        {"rate": 2.0**53},
        {"rate_out": 5e-324},
        {"rate": 0.0, "rate_out": 5e-324},
        {"scale": 5e-324},
        {"f_c": (0, 1, 2**53)},
    ],
    ids=["rate", "rate_out", "no number", "scale", "f_c"],
)
def test_costs_beyond_int64_are_refused(columns: dict[str, Any]) -> None:
    """Tests that a penalty too large for the grid does not wrap round to a small one, with a proof to match."""
    with pytest.raises(InputError, match="costs may total too much"):
        _flow(**columns)


def test_costs_beyond_a_double_are_refused() -> None:
    """Tests that the overflow cost of the smallest share that a double can hold is refused, not a traceback."""
    groups = {"job_group": [0], "group_ids": ["g", "h"], "group_weight": [5e-324, 1]}
    workload = Workload(["t"], job=[0], job_ids=["j"], **groups)
    instance = Instance.initial(Cluster(["a"]), workload, group_running_tasks=[3, 3])
    with pytest.raises(InputError, match="costs may total too much"):
        FairLsap(instance)


@pytest.mark.parametrize("levels", [(0, 1, 1), (0, 1, 2)])
@pytest.mark.parametrize("route", ["network", "arrays", "network-simplex", "dense", "pyomo", "brute-force", "pulp"])
def test_slots_without_end(route: str, levels: tuple[int, int, int]) -> None:
    """Tests that time and memory grow with the tasks, however many slots the nodes have."""
    cluster = Cluster(["a", "b", "c"], slots=[2**53, 2**53, 1], rack=[0, -1, 0], rack_ids=["r"])
    posed = Lsap(Instance(cluster, small([[0], [2], [2]]).workload), levels=levels)
    solution = solve(posed, route=route)
    assert solution.objective == (1,)
    assert certify(posed, solution).valid


@pytest.mark.parametrize("load", [10**6, 2**52])
def test_room_without_end(load: int) -> None:
    """Tests that the work that fits on idle servers beside a very loaded one costs no memory."""
    posed = Latency(small([[0], [0], []], loads=[load, 0, 0]))
    assert frontier(posed).values == [(6, 9), (load + 1, 7), (load + 2, 5)]


@pytest.mark.parametrize("route", ["search", "arrays", "pyomo"])
def test_large_weights_do_not_slow_the_search(route: str) -> None:
    """Tests that the search over limits takes steps that fit the weights, not a program for every unit."""
    rows = [[0], [0], [2], [0, 2], [0, 1]]
    least = solve(Latency(small(rows, [1] * 3, [0, 1, 3]), w_loc=2, w_rem=5)).objective
    posed = Latency(small(rows, [1] * 3, [0, 10**5, 3 * 10**5]), w_loc=2 * 10**5, w_rem=5 * 10**5)
    solution = solve(posed, route=route)
    assert solution.objective == tuple(value * 10**5 for value in least)
    assert certify(posed, solution).valid


def test_a_word_is_not_passed_on_as_a_proof() -> None:
    """Tests that the next point of a frontier rests on the solver's word where that settled the limit before it."""

    def decide(_: LatencySearch, known: FixedLimit, __: Profile) -> FixedLimit:
        if known.limit > 3:
            return replace(known, nodes=np.zeros(4, dtype=np.int64), remote=0, feasible=True)
        nodes = np.array([0, 0, 1, 2])  # counting would allow one remote task
        return replace(known, nodes=nodes, remote=2, remote_bound=2, feasible=True, proof=Proof.SOLVER)

    posed = Latency(small([[0]] * 4, [1] * 3))
    search = LatencySearch(posed, load_profile("exact"), decide=decide, shortcuts=False)
    first, second = search.frontier()[0]
    assert (first.objective, second.objective) == ((3, 8), (4, 4))
    assert [proof.kind for proof in first.certificates] == [Proof.COMBINATORIAL, Proof.SOLVER]
    assert [proof.kind for proof in second.certificates] == [Proof.SOLVER, Proof.COMBINATORIAL]


def test_a_reference_of_another_problem_is_refused() -> None:
    """Tests that a gap is not measured against other parameters or another problem, solved or not."""
    posed, solution = _latency()
    other = Latency(posed.instance, w_rem=5)
    for reference in (solution, Reference(posed), Reference(Lsap(posed.instance))):
        with pytest.raises(UsageError, match="the reference is of"):
            gap(other, lambda problem, rng: ["n0", "n0"], reference=reference)
    spelled = replace(solution, parameters={"w_rem": "3"})
    assert gap(Latency(posed.instance), lambda problem, rng: ["n0", "n0"], reference=spelled).absolute_gap == (0, 0)


def test_a_claim_that_the_start_refutes_is_a_disagreement() -> None:
    """Tests that a solver's false word does not stand beside a placement that is better."""
    posed, solution = _latency()
    search = LatencySearch.first_feasible

    def late(self: LatencySearch) -> FixedLimit:
        return replace(search(self), limit=4, proof=Proof.SOLVER)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LatencySearch, "first_feasible", late)
        patch.setattr(LatencySearch, "makespan_certificate", lambda *_: Certificate("makespan", Proof.SOLVER, 4))
        with pytest.raises(SolverDisagreement, match="makespan 2 beats the bound 4"):
            solve(posed, start=solution.decision)


def test_a_dense_table_that_cannot_fit_is_refused_at_once() -> None:
    """Tests that the table of all pairs is not built first."""
    instance = small([[]] * 10**5)
    with pytest.raises(TooLarge, match='route "dense" would have a matrix of 100,000 tasks x 100,000 slots'):
        solve(Lsap(instance), route="dense")
