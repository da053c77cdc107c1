"""The benchmark of the engine of simulations: its runs end."""

from types import ModuleType

from optsched.heuristics.simulating import simulate
from optsched.problems.makespan import Makespan


def test_its_workload_runs_to_the_end(study: ModuleType) -> None:
    """Tests that the policy of the yardstick starts every task, feasibly."""
    run = simulate(study.workload(120), study.InOrder)
    assert run.unfinished == ""
    assert Makespan(run.instance).violations(run.schedule) == []
