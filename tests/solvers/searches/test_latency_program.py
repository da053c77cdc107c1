"""The compact program at a limit: with its cuts as good as enumeration, and its prices valid whatever they are."""

import numpy as np
import pytest
from small_problems import pareto_front

from optsched import Termination, generate, solve
from optsched.problems import Latency
from optsched.problems.latency_definition import LatencyPrices
from optsched.solvers.highs import solve_arrays
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.latency_program import CompactProgram

EXACT = Profile("exact")


@pytest.mark.parametrize("weights", [(1, 3), (2, 5), (1, 1), (3, 4)])
def test_cuts_take_no_placement_away(weights: tuple[int, int]) -> None:
    """Tests the whole program, its relaxation and its prices at every limit around the frontier of small instances."""
    strong = 0
    for seed in range(3):
        problem = Latency(
            generate("latency", seed=seed, nodes=4, tasks=6, replicas=2), w_loc=weights[0], w_rem=weights[1]
        )
        front = pareto_front(problem)
        for limit in range(int(front[0][0]) - 2, int(front[-1][0]) + 2):
            compact, least = CompactProgram(problem, limit), [work for makespan, work in front if makespan <= limit]
            whole = solve_arrays(compact.program(), EXACT).outcome
            proofs = [problem.priced_remote(limit, prices) for prices in compact.prices(EXACT, 30)]
            proved = None if None in proofs else max(proofs)
            assert proofs
            if not least:
                assert whole.status is Termination.INFEASIBLE
                strong += proved is None
                continue
            assert proved <= round(whole.objective)
            if weights[0] < weights[1]:
                assert weights[0] * 6 + (weights[1] - weights[0]) * round(whole.objective) == min(least)
    assert strong >= 2


def test_no_prices_within_no_time() -> None:
    """Tests that a profile without time gives no prices, and that this is no error."""
    problem = Latency(generate("latency", seed=0, nodes=4, tasks=6, replicas=2))
    assert list(CompactProgram(problem, 4).prices(Profile("none", time_limit=0))) == []


def test_prices_on_a_coarse_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that prices are rounded more coarsely where finer ones could total past 2^53."""
    problem = Latency(generate("latency", seed=0, nodes=4, tasks=6, replicas=2))
    monkeypatch.setattr(LatencyPrices, "largest", staticmethod(lambda tasks: 40))
    (prices,) = CompactProgram(problem, 9).prices(EXACT)
    assert max(prices.weight, prices.remote, int(np.abs(prices.tasks).max())) <= 40


def test_more_cuts_rule_out_what_one_a_server_does_not() -> None:
    """Tests instances at whose last limit all tasks of a server together are no obstacle, but some of them are."""
    for seed, servers, tasks, limit in ((322, 10, 18, 4), (345, 21, 37, 5)):
        rng = np.random.default_rng(seed)
        assert (int(rng.integers(5, 60)), int(servers * rng.uniform(1.5, 2.2))) == (servers, tasks)
        replicas = int(rng.integers(2, 5))
        problem = Latency(generate("latency", seed=seed, nodes=servers, tasks=tasks, replicas=replicas))
        proofs = [problem.priced_remote(limit, prices) for prices in CompactProgram(problem, limit).prices(EXACT, 30)]
        assert len(proofs) > 1
        assert proofs[0] is not None
        assert proofs[-1] is None


def test_rounds_that_gain_nothing_end() -> None:
    """Tests that cuts which gain nothing, though they are broken, are not added for ever."""
    compact = CompactProgram(Latency(generate("latency", seed=160, nodes=343, tasks=656, replicas=3)), 5)
    assert len(list(compact.prices(EXACT, 4))) == 4
    assert len(list(compact.prices(EXACT, 4, patience=1))) == 2


@pytest.mark.parametrize("weights", [(7 * 10**14 - 3, 2 * 10**15 - 7), (6 * 10**14 + 1, 10**15 + 1), (1, 2 * 10**15)])
def test_weights_that_highs_would_refuse(weights: tuple[int, int]) -> None:
    """Tests the program against enumeration with weights that no coefficient may be: it counts tasks in their place."""
    tried = 0
    for seed in range(2):
        posed = generate("latency", seed=seed, nodes=3, tasks=4, replicas=2)
        problem = Latency(posed, w_loc=weights[0], w_rem=weights[1])
        front = pareto_front(problem)
        for makespan, work in front:
            program = CompactProgram(problem, int(makespan)).program()
            assert np.abs(program.matrix.data).max() <= len(problem.tasks)
            found = solve_arrays(program, EXACT).outcome
            remote = round(found.objective)
            assert weights[0] * (len(problem.tasks) - remote) + weights[1] * remote == work
            less = solve_arrays(CompactProgram(problem, int(makespan) - 1).program(), EXACT).outcome
            assert less.status is Termination.INFEASIBLE or round(less.objective or 0) > remote
            tried += 1
        assert solve(problem).objective == front[0]
    assert tried >= 2
