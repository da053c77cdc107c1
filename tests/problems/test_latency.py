"""`latency`: what its program has for servers that are loaded beyond the limit."""

import pytest
from small_problems import small

from optsched.problems import Latency
from optsched.problems.programs import Program

#: Two tasks with replicas on a free server and on one that is loaded.
PROBLEM = Latency(small([[0, 1], [0, 1]], [1, 1], [0, 9]), w_loc=2, w_rem=3)


def labels(program: Program) -> dict[str, list[tuple[object, ...]]]:
    """The labels of each family of variables."""
    return {family.name: list(family.labels) for family in program.variables}


@pytest.mark.parametrize(("limit", "servers"), [(4, {"n0"}), (13, {"n0", "n1"})])
def test_server_loaded_beyond_the_limit_is_left_out(limit: int, servers: set[str]) -> None:
    """Tests that a server takes tasks only if a limit leaves it room; a program per pair says so by its bounds."""
    assert {server for _, server in labels(PROBLEM.program((limit,)))["local"]} == servers
    apart = PROBLEM.apart().program((limit,))
    open_to = apart.numbers.box.upper[apart.family("place")]
    assert {server for (_, server), most in zip(labels(apart)["place"], open_to, strict=True) if most} == servers


def test_loaded_server_is_used_or_not_without_a_limit() -> None:
    """Tests that a program per pair has a binary for it; the compact one begins at a makespan that leaves it out."""
    assert labels(PROBLEM.program())["used"] == []
    assert labels(PROBLEM.apart().program())["used"] == [("n1",)]
