"""LABL in all its readings: against a plain transcription of Fig. 1, and against what Agosta et al. claim of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from replica_instances import latency_at_scale, small

from optsched.core.placement import NONE, Placement
from optsched.heuristics import HEURISTICS, run
from optsched.heuristics.labl import LINES_6, VARIANTS, labl
from optsched.instances.files import load
from optsched.problems import Latency
from optsched.routes import bounds, frontier, solve

RNG = np.random.default_rng(0)


def latency(loads: list[int], replicas: list[list[int]], **parameters: int) -> Latency:
    """Servers with initial loads, and tasks with blocks on these servers."""
    return Latency(small(replicas, [1] * len(loads), loads), **parameters)


def value(problem: Latency, variant: str, **options: int | float | str) -> tuple[int, int]:
    """Makespan and work of a run."""
    makespan, work = problem.evaluate(labl(problem, RNG, variant=variant, **options))
    return int(makespan), int(work)


def final_loads(problem: Latency, variant: str, **options: int | float | str) -> list[int]:
    """Final load of every server."""
    local, remote = problem.counts(labl(problem, RNG, variant=variant, **options))
    return (problem.initial_load + problem.w_loc * local + problem.w_rem * remote).tolist()


@st.composite
def problems(draw: st.DrawFn, w_loc: int | None = None) -> Latency:
    """Small instances, some with tasks that have no replica, of even and of skewed placement and load."""
    loads = draw(st.lists(st.integers(0, draw(st.sampled_from([0, 5, 20]))), min_size=1, max_size=6))
    holders = st.integers(0, len(loads) - 1)
    if draw(st.booleans()):
        holders = st.one_of(st.just(0), holders)
    replicas = draw(st.lists(st.lists(holders, unique=True, min_size=draw(st.integers(0, 1)), max_size=3), max_size=25))
    w_loc = draw(st.integers(1, 3)) if w_loc is None else w_loc
    return latency(loads, replicas, w_loc=w_loc, w_rem=w_loc + draw(st.integers(0, 4)))


def transcription(problem: Latency, variant: str, lbar: float, limit: int, line6: str = "mended") -> list[int]:
    """Fig. 1 line by line, with sets that are computed anew each time and limits that rise by 1 (Agosta et al., note
    7).
    """
    rho = [row.tolist() for row in problem.replicas]
    phi, w_loc, w_rem = problem.initial_load.tolist(), problem.w_loc, problem.w_rem
    nodes = [NONE] * len(rho)
    margin = 0 if variant in ("literal", "restructured") else w_loc

    def place(task: int, server: int, work: int) -> None:
        nodes[task] = server
        phi[server] += work

    def waiting() -> list[int]:
        return [task for task, node in enumerate(nodes) if node == NONE]

    def fill(server: int, highest: int) -> None:
        for task in sorted(
            (task for task in waiting() if server in rho[task]), key=lambda task: (len(rho[task]), task)
        ):
            if phi[server] <= highest:
                place(task, server, w_loc)

    def stranded() -> list[int]:
        if line6 == "printed":
            return [task for task in waiting() if not any(phi[server] >= limit for server in rho[task])]
        return [task for task in waiting() if all(phi[server] >= limit for server in rho[task])]

    def phase_3() -> None:
        for task in waiting():
            if rho[task]:
                server = min(rho[task], key=lambda server: (phi[server], server))
                if phi[server] + w_loc <= limit:
                    place(task, server, w_loc)

    while waiting():
        considered = limit <= lbar
        if variant == "restructured" and not considered:
            lists = [
                sorted((task for task in waiting() if server in rho[task]), key=lambda task: (len(rho[task]), task))
                for server in range(len(phi))
            ]
            while any(lists):
                for server, tasks in enumerate(lists):
                    if tasks and nodes[task := tasks.pop(0)] == NONE:
                        place(task, server, w_loc)
        by_load = sorted(range(len(phi)), key=lambda server: (phi[server], server))
        inf = [server for server in range(len(phi)) if limit - w_rem < phi[server] < limit]
        sup = [server for server in by_load if phi[server] <= limit - w_rem]
        remote = stranded()
        for server in sorted(inf, key=lambda server: (-phi[server], server)):
            fill(server, limit - margin)
        if variant == "rescan":
            remote = stranded()
        if variant == "local-first":
            phase_3()
            remote = waiting()
        queue = [server for server in sup if phi[server] <= limit - w_rem]
        if variant == "local-first":
            queue = sorted(
                (server for server in range(len(phi)) if phi[server] <= limit - w_rem),
                key=lambda server: (phi[server], server),
            )
        for task in remote if considered else [task for task in remote if not rho[task]]:
            if queue and nodes[task] == NONE:
                server = queue.pop(0)
                place(task, server, w_rem)
                if phi[server] <= limit - w_rem:
                    queue.append(server)
        if variant == "restructured":
            for server in sorted(sup, key=lambda server: (phi[server], server)):
                fill(server, limit - w_loc)
        elif variant != "local-first":
            phase_3()
        limit += 1
    return nodes


@pytest.mark.parametrize("line6", LINES_6)
@pytest.mark.parametrize("variant", VARIANTS)
@given(
    problem=problems(),
    lbar=st.one_of(st.sampled_from(["l**", "l**+1", "l**+3", "inf"]), st.integers(-1, 12)),
    start=st.one_of(st.sampled_from(["l**", "l**+2"]), st.integers(0, 15)),
)
def test_is_figure_1(variant: str, line6: str, problem: Latency, lbar: int | str, start: int | str) -> None:
    """Tests that the heaps and skipped limits give, task by task, the placement of the plain transcription."""
    bound = problem.counting_bound()
    named = {"l**": bound, "l**+1": bound + 1, "l**+2": bound + 2, "l**+3": bound + 3, "inf": math.inf}
    expected = transcription(problem, variant, named.get(str(lbar), lbar), int(named.get(str(start), start)), line6)
    assert labl(problem, RNG, variant=variant, lbar=lbar, start=start, line6=line6) == problem.placement(expected)


class TestTheorem1:
    """With remote tasks at every limit, max phi <= min phi + w_rem (`agosta/3.4-theorem-1` has where it is false)."""

    @given(problems())
    def test_valid_form(self, problem: Latency) -> None:
        """Tests the valid form (Agosta et al., note 8): V3, ending above l**, where no load is above that end."""
        loads = final_loads(problem, "local-first", lbar="inf")
        end = value(problem, "local-first", lbar="inf")[0]
        if end > problem.counting_bound() and int(problem.initial_load.max()) <= end:
            assert max(loads) <= min(loads) + problem.w_rem


class TestTheorem2:
    """With remote tasks at l** alone, C <= l** |S| - sum phi_s (claim `agosta/3.4-theorem-2` has where it is false)."""

    @pytest.mark.parametrize("variant", ["literal", "strict"])
    @given(problem=problems(w_loc=1))
    def test_corrected(self, variant: str, problem: Latency) -> None:
        """Tests C <= sum max(0, l** - phi_s): the remote tasks are T_rem[l**], and condition 2 of l** counts them."""
        room = int(problem.room(problem.counting_bound()).sum())
        assert value(problem, variant, lbar="l**")[1] <= room

    @given(problem=problems())
    def test_strict_never_considers_remote_again(self, problem: Latency) -> None:
        """Tests Agosta et al., note 6: lbar does not matter to V0, whose Phase II places nothing later."""
        assert labl(problem, RNG, variant="strict", lbar="l**") == labl(problem, RNG, variant="strict", lbar="inf")


def test_paper_scale() -> None:
    """Tests the shape of Agosta et al.'s figures at 2000 servers and 3450 tasks: latency 5 to 8 for C from 3450 to
    4500.

    Between readings: V2 and V3 pay for a latency of 6 with remote tasks, V1 and V0 save work at 7 or 8.
    """
    problem = Latency(latency_at_scale(2000, 3450, 0))
    found = {variant: value(problem, variant) for variant in VARIANTS}
    assert problem.counting_bound() == 5
    assert all(found[variant][0] in (7, 8) for variant in ("literal", "strict", "restructured"))
    assert all(found[variant][0] in (5, 6) for variant in ("rescan", "local-first"))
    assert found["strict"][1] <= found["literal"][1] < found["local-first"][1] < found["rescan"][1] < 4500


def test_far_limits_are_skipped() -> None:
    """Tests that a busy server that local tasks wait for costs one step, not a billion."""
    problem = latency([0, 10**9], [[1]] * 5)
    assert value(problem, "literal", lbar=0) == (10**9 + 5, 5)
    assert value(problem, "strict", lbar=0) == (10**9 + 5, 5)


def parsed(name: str, given: object) -> object:
    """The value of a parameter."""
    return {parameter.name: parameter for parameter in HEURISTICS["labl"].parameters}[name].parse(given)


def test_limits_parse() -> None:
    """Tests the forms of a limit on the command line and in Python."""
    assert [parsed("lbar", given) for given in ("l** + 1", math.inf, "7")] == ["l**+1", "inf", 7]
    assert [parsed("start", given) for given in ("l**", 4)] == ["l**", 4]


@pytest.mark.parametrize(("name", "given"), [("lbar", "l*"), ("lbar", 1.5), ("start", "inf"), ("variant", "V1")])
def test_wrong_parameters(name: str, given: object) -> None:
    """Tests that what is no limit or reading is refused, by the table and by the function itself."""
    with pytest.raises(ValueError, match=r"give|did you mean|literal"):
        parsed(name, given)
    with pytest.raises(ValueError, match=r"give|did you mean|literal"):
        labl(latency([0], [[0]]), RNG, **{name: given})


def test_figures_2_to_4() -> None:
    """Tests the eight numbers of Agosta et al.'s worked example, and that they decide which readings are the defaults.

    The flow-based algorithm spends 26 at latency 6, with three remote tasks, only if it keeps the first threshold. LABL
    with l**+1 makes t8 and t13 remote only if Phase I may end above the limit, as line 11 is printed.
    """
    problem = Latency(load("papers/labl-figure2"))
    assert {bound.name: bound.value for bound in bounds(problem)}["l**"] == 4
    assert frontier(problem).values == [(6, 24), (7, 22), (8, 20)]

    def remote_tasks(placement: Placement) -> list[int]:
        nodes = problem.nodes_of(placement).tolist()
        return [task for task, node in enumerate(nodes) if node not in problem.replicas[task]]

    def found(name: str, **parameters: Any) -> tuple[Any, int]:
        placement = run(problem, name, **parameters).raise_if_failed()
        return problem.evaluate(placement), len(remote_tasks(placement))

    assert found("round-robin") == ((8, 32), 6)
    assert found("flow-based") == ((6, 26), 3)
    assert found("flow-based", ties="work") == ((6, 24), 2)
    assert found("labl", lbar="l**") == ((8, 20), 0)
    assert found("labl") == ((6, 24), 2)
    remote = remote_tasks(labl(problem, RNG))
    assert problem.instance.workload.task_ids[problem.tasks[remote]].tolist() == ["t8", "t13"]
    as_in_the_paper = {variant for variant in VARIANTS if found("labl", variant=variant) == ((6, 24), 2)}
    assert as_in_the_paper == {"literal", "restructured"}


def test_average_bound_does_not_bound_the_job() -> None:
    """Tests that l* = 51 exceeds the latency 1 of the job, so that "l** improves l*" fails too: l** = 1."""
    problem = Latency(load("papers/labl-theorem2-a"))
    assert solve(problem).objective == (1, 1)
    found = {bound.name: (bound.value, bound.component) for bound in bounds(problem)}
    assert (found["l*"], found["l**"]) == ((51, None), (1, "makespan"))
    assert problem.cluster_makespan(problem.placement([0])) == 100
