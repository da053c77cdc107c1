"""The gap matrix: where a heuristic is run, what is carried over, and the one word for each cell without a gap."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from report_records import record
from small_problems import small

from optsched import gap, generate, load
from optsched.core.errors import InputError, MissingField, UsageError
from optsched.core.instance import Topology
from optsched.heuristics import HEURISTICS
from optsched.measuring.matrix import GapMatrix, gap_matrix, posable
from optsched.measuring.records import Record, Run, legend
from optsched.problems import PROBLEMS, Latency, Lsap, problem
from optsched.showing.tables import matrices
from optsched.showing.trade_offs import matrix_picture

INSTANCE = generate("latency", seed=1, nodes=6, tasks=4, replicas=2)


def test_cells_are_the_gaps_of_gap() -> None:
    """Tests that a cell is the gap of `gap`, and that a placement carried over is judged as it is."""
    problems = posable(INSTANCE)
    matrix = gap_matrix(problems, seed=3)
    assert matrix.problems == tuple(posed.name for posed in problems)
    assert {"dl", "labl"} <= set(matrix.heuristics)
    for posed in problems:
        for row in matrix.heuristics:
            cell = matrix[row, posed.name]
            if posed.name not in HEURISTICS[row].problems:
                assert cell.ran_in != posed.name
                continue
            assert cell.ran_in == posed.name
            expected = gap(posed, row, seed=3)
            assert (cell.report.objective, cell.report.absolute_gap) == (expected.objective, expected.absolute_gap)
    both = [problem("lsap", INSTANCE), problem("latency", INSTANCE)]
    cell = gap_matrix(both)["dl", "latency"]
    assert cell.ran_in == "lsap"
    assert cell.report.objective == both[1].evaluate(gap(both[0], "dl").placement)
    assert cell.reason is None


def test_reasons_are_one_word() -> None:
    """Tests that each cell without a gap says why: the constraint, starved, failed, unproved."""
    instance = small([[0], [0], [1]], [1, 1])
    posed = [Lsap(instance), Latency(instance)]
    crowd: Any = (lambda problem, rng: [0] * len(problem.tasks)), {}
    never: Any = type("Never", (), {"offer": lambda self, offer, view: ()})
    rows = {"crowd": crowd, "broken": (lambda problem, rng: 1 / 0, {}), "dl": ("dl", {}), "never": (never, {})}
    matrix = gap_matrix(posed[:1], rows)
    assert [matrix[row, "lsap"].reason for row in rows] == ["slots", "failed", None, "starved"]
    assert gap_matrix(posed, {"dl": ("dl", {})})["dl", "latency"].reason == "every-task-placed"
    cell = gap_matrix(posed, {"crowd": crowd})["crowd", "latency"]
    assert (cell.ran_in, cell.reason) == ("latency", None)
    for cell_record in matrix.records():
        assert cell_record["reason"] is None or " " not in cell_record["reason"]


def test_what_one_problem_refuses_leaves_the_others() -> None:
    """Tests that costs past 2^53 cost the column of the problem that cannot sum them, unless it was asked for."""
    topology = Topology("distance", np.array([[0.0, 1.0], [1.0, 0.0]]))
    instance = small([[0], [1]], size=[2.0**53, 2.0**53])
    instance = replace(instance, cluster=replace(instance.cluster, topology=topology))
    assert [posed.name for posed in posable(instance)] == ["lsap", "latency"]
    with pytest.raises(InputError, match="costs may total too much"):
        posable(instance, ["transmission-maps"])


@pytest.mark.parametrize("name", [name for name, kind in PROBLEMS.items() if len(getattr(kind, "components", ())) > 1])
def test_bug_gaps_of_several_components_were_mixed_in_one_column(name: str) -> None:
    """Tests that in each problem with several components a gap of a later one is marked wherever a matrix is shown."""
    first, second, *_ = names = [part.name for part in PROBLEMS[name].components]
    rest = [None] * (len(names) - 2)
    base = record(problem=name, ran_in=name, components=names, objective=[4] * len(names), reference=[2] * len(names))
    gaps = {"early": [[2, None, *rest], [1, None, *rest]], "late": [[0, 1, *rest], [0, 0.5, *rest]]}
    records = [
        Record.of({**base, "heuristic": label, "absolute_gap": differences, "relative_gap": shares})
        for label, (differences, shares) in gaps.items()
    ]
    matrix = GapMatrix("i", tuple(gaps), (name,), {(made.heuristic, name): Run(made) for made in records})
    text = f"(2) in {name}: gap in {second}, where {first} is at the optimum"
    assert [str(run.cell()) for run in matrix.cells.values()] == ["100 %", "50 % (2)"]
    assert matrix.frame()["component"].tolist() == [first, second]
    assert text in matrix._repr_html_()
    (table,) = matrices(records)
    assert [row[1] for row in table.rows] == ["100 %", "50 % (2)"]
    assert text in table.note
    figure = matrix_picture(matrix)
    assert text in " ".join(figure.get_supxlabel().split())
    reds, blues = figure.axes[0].images
    assert [image.get_array().mask.ravel().tolist() for image in (reds, blues)] == [[False, True], [True, False]]
    assert reds.get_cmap() != blues.get_cmap()


def test_bug_gaps_against_a_bound_had_no_mark() -> None:
    """Tests that a gap against a bound is marked, and not one where nothing is known."""
    known = Run(Record.of(record(reference_kind="bound", absolute_gap=2, relative_gap=1.0)))
    unknown = Run(Record.of(record(reference_kind="bound", absolute_gap=None, relative_gap=None)))
    assert str(known.cell()) == "100 % ~"
    assert "~" not in str(unknown.cell())
    assert sum(line.startswith("~:") for line in legend([known, unknown])) == 1


def test_bug_large_differences_lost_their_digits() -> None:
    """Tests that a difference over 0 that is a whole number has all its digits, as the record has it as a double."""
    assert Run(Record.of(record(reference=0, absolute_gap=1234567, relative_gap=None))).cell() == "+1234567"


def test_seeds_of_numpy() -> None:
    """Tests that a seed may be any whole number, as for a single gap."""
    matrix = gap_matrix([problem("lsap", "papers/guo-fig2")], {"dl": ("dl", {})}, seed=np.int64(1))  # type: ignore[arg-type]
    assert matrix["dl", "lsap"].record.seed == 1


def test_what_cannot_be_posed_is_reported() -> None:
    """Tests that a problem that was asked for is an error where its fields are missing, and left out else."""
    with pytest.raises(MissingField):
        posable(INSTANCE, ["fair-lsap"])
    with pytest.raises(UsageError, match="decides no placement"):
        posable(INSTANCE, ["min-cost-flow"])
    with pytest.raises(UsageError, match="no problem with tasks to place"):
        posable(small([], [1]))
    with pytest.raises(UsageError, match="of one instance, not of 2"):
        gap_matrix([Lsap(INSTANCE), Lsap(small([[]]))])
    with pytest.raises(UsageError, match="labl serves none of lsap"):
        gap_matrix([Lsap(INSTANCE)], {"labl": ("labl", {})})


def test_frame_and_page() -> None:
    """Tests a row for each cell, numbers or the reason, and a page with the cells of the command line."""
    instance, answers = small([[0]], [1, 1]), {"right": [0], "wrong": [1], "none": [None]}
    rows = {name: (lambda problem, rng, nodes=nodes: nodes, {}) for name, nodes in answers.items()}
    frame = gap_matrix([Lsap(instance), Latency(instance)], rows).frame().set_index(["heuristic", "problem"])
    assert frame["gap"].loc[["right", "wrong"]].tolist() == [0, 0, math.inf, 2]
    assert frame["absolute_gap"].loc[["right", "wrong"]].tolist() == [0, 0, 1, 2]
    assert frame["reason"].tolist() == [None, None, None, None, "cardinality", "every-task-placed"]
    assert frame["gap"].dtype == frame["absolute_gap"].dtype == float
    assert frame["ran_in"].tolist() == ["lsap", "latency"] * 3
    page = gap_matrix(posable(INSTANCE, ["lsap", "latency"]), {"<b>": ("labl", {})})._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    for cell in ("<th>latency</th>", "<td>slots *</td>", "<td>25 %</td>"):
        assert cell in page
    named = replace(gap_matrix(posable(INSTANCE, ["lsap"]), {"dl": ("dl", {})}), instance="<i>")
    assert named._repr_html_().startswith("<p>&lt;i&gt;</p>")


def test_schedules_and_placements_are_not_judged_by_each_other() -> None:
    """Tests that a problem over time is a column where it is named, and says of whose runs it knows no schedule."""
    problems = posable(load("examples/order-of-jobs"), ["lsap", "makespan"])
    matrix = gap_matrix(problems, {name: (name, {}) for name in ("dl", "lsap-sched", "joss-t")})
    for name in matrix.heuristics:
        assert (matrix[name, "makespan"].reason, matrix[name, "makespan"].ran_in) == (None, "makespan")
    assert matrix["joss-t", "lsap"].reason == "no-placement"
    assert matrix["dl", "lsap"].ran_in == "lsap"
    assert {posed.name for posed in posable(load("examples/order-of-jobs"))} == {"lsap", "latency"}


def test_bug_a_policy_of_ones_own_ended_the_matrix_where_no_slot_is_offered() -> None:
    """Tests that a user's policy is not run in a problem without slots: its placement is carried over to it."""

    class First:
        def offer(self, offer: Any, view: Any) -> Any:
            return view.pending_of(offer.kind)[:1]

    both = [problem("lsap", INSTANCE), problem("latency", INSTANCE)]
    cells = gap_matrix(both, {"first": (First, {})}).cells
    assert [cell.ran_in for cell in cells.values()] == ["lsap", "lsap"]
    with pytest.raises(UsageError, match="first serves none of latency"):
        gap_matrix(both[1:], {"first": (First, {})})
