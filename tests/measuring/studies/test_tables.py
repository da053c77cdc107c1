"""A study as frames, and summed up by problem and heuristic."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import run
from report_records import record
from small_problems import small

from optsched import Limit, Proof, Termination, frontier, generate, solve, study
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.registry import records
from optsched.measuring.gaps import Reference, gap
from optsched.measuring.printing import render
from optsched.measuring.records import Record, Run, record_fields
from optsched.measuring.studies.limits import GapLimit
from optsched.measuring.studies.tables import GapReports, gap_lines, gap_row, summaries
from optsched.problems import Latency, Lsap, Problem
from optsched.solvers.profiles import Profile
from optsched.testing.contract import cases


def row(tasks: int, remote: int, name: str) -> Instance:
    """Task i has its data on node i; `remote` further tasks have theirs on a node without a slot."""
    holders = [[task] for task in range(tasks)] + [[tasks + remote]] * remote
    return small(holders, [1] * (tasks + remote) + [0], name=name)


def turned(problem: Any, rng: Any) -> list[str]:
    """Every task on the node after its own: all are off their data."""
    nodes = problem.instance.cluster.node_ids.tolist()[: len(problem.tasks)]
    return [*nodes[1:], nodes[0]]


def straight(problem: Any, rng: Any) -> list[str]:
    """Every task on its own node: the optimum."""
    return list(problem.instance.cluster.node_ids[: len(problem.tasks)])


#: Optima 1, 2, 1 and 0; `turned` has 4, 4, 2 and 2, which is 300 %, 100 %, 100 % and 2 over an optimum of 0.
ROWS = [row(3, 1, "three"), row(2, 2, "two"), row(1, 1, "one"), row(2, 0, "none")]


def test_frame_of_numbers() -> None:
    """Tests that a frame has one number a column and a row a run, whatever problems and failures there are."""
    found = study(["papers/guo-fig2", ROWS[3]], ["lsap", "latency"], [turned, lambda *_: 1 / 0], seeds=2)
    frame = found.frame()
    assert len(frame) == len(found) == 16
    failed = frame["heuristic"].str.endswith("<lambda>")
    assert frame.loc[failed, "objective_1"].isna().all()
    assert (frame["status"] == "failed").equals(failed)
    latency = frame[(frame["problem"] == "latency") & frame["feasible"]]
    assert latency["component_2"].eq("work").all()
    assert frame.loc[frame["problem"] == "lsap", "objective_2"].isna().all()
    assert latency["work_gap_at_makespan"].notna().all()
    for report, (_, line) in zip(found, frame.iterrows(), strict=True):
        if report.objective is not None:
            assert line["objective_1"] == float(report.objective[0])
            assert line["reference_1"] == float(report.reference.value[0] or 0)
    zero = frame[(frame["instance"] == "none") & (frame["problem"] == "lsap") & frame["feasible"]]
    assert zero["gap"].eq(math.inf).all(), "over an optimum of 0"
    assert zero["absolute_gap"].eq(2).all()


def mixed(frame: pd.DataFrame) -> list[str]:
    """The columns that are neither numbers nor, but for what is unknown, texts alone."""
    kinds = {name: set(map(type, frame[name].dropna())) for name in frame.columns}
    return [name for name, found in kinds.items() if frame[name].dtype.kind not in "bif" and not found <= {str}]


@pytest.mark.parametrize("name", records())
def test_no_frame_mixes_types(name: str) -> None:
    """Tests that frames of gaps, solutions, placements, frontiers and instances hold numbers or texts in a column."""
    problem = cases(records()[name], (2,))[0].problem
    solution = solve(problem)
    frames = {"solution": solution.frame()}
    if records()[name].frontier:
        frames["frontier"] = frontier(problem).frame()
    if isinstance(problem, Problem):
        frames |= problem.instance.to_frames()
        if solution.decision is not None:
            frames["placement"] = solution.decision.frame(problem)
        decisions = [None] * len(problem.tasks), solution.decision
        reports = [gap(problem, lambda *_, decision=decision: decision) for decision in decisions]
        found = GapReports([Run.of(report) for report in reports])
        frames |= {"gaps": found.frame(), "summary": found.summary()}
        components = len(problem.components)
        assert [f"objective_{at}" in found.frame() for at in (1, 2)] == [True, components > 1]
    assert {what: mixed(frame) for what, frame in frames.items() if mixed(frame)} == {}


def test_a_sequence() -> None:
    """Tests that reports are a sequence, with tables for notebooks; of nothing they are empty, with their columns."""
    empty = GapReports([])
    assert repr(empty) == "<GapReports: 0 runs of 0 heuristics in 0 problems on 0 instances>"
    assert len(empty.frame()) == len(empty.summary()) == 0
    assert "mean" in empty.summary().columns
    found = study("papers/guo-fig2", "lsap", ["dl", "lsap-sched"], seeds=2)
    assert [report.seed for report in found] == [0, 1, 0, 1]
    assert isinstance(found[1:3], GapReports)
    assert len(found[1:3]) == 2
    assert found[-1].run.name == "lsap-sched"
    assert "<table" in found._repr_html_()
    assert [set(record) for record in found.records()] == [
        set(record_fields([found[0].problem], policies=report.run.rounds is not None)) for report in found
    ]


def test_summary() -> None:
    """Tests counts and gaps of a row by hand, over an optimum of 0 too, and the heading and table that are printed."""
    summary = study(ROWS, "lsap", [turned, straight]).summary().set_index("heuristic")
    worse, best = (summary.loc[f"{__name__}:{name}"] for name in ("turned", "straight"))
    assert (worse["instances"], worse["runs"], worse["optimal"], worse["over_zero"]) == (4, 4, 0, 1)
    gaps = np.array([3, 1, 1])
    assert worse["mean"] == gaps.mean()
    assert worse["median"] == 1
    assert (worse["worst"], worse["worst_on"]) == (3, "three")
    # Student's t with two degrees of freedom at 97.5 %.
    assert worse["half_width"] == pytest.approx(4.302653 * gaps.std(ddof=1) / math.sqrt(3))
    assert (best["optimal"], best["worst"]) == (4, 0)
    (part,) = summaries(study(ROWS, "lsap", ["dl", "lsap-sched", turned]).measured)
    assert part.heading() == "lsap: 4 instances; optima by proof: 4 dual; gaps in locality-cost"
    assert part.proofs == {str(Proof.DUAL): 4}
    text = render(part.table())
    line = next(line for line in text.splitlines() if "turned" in line)
    assert line.split()[1:4] == ["0/4", "1", "100"]
    assert "1 over 0" in line


def test_told() -> None:
    """Tests the line on all runs and its numbers."""
    found = study(ROWS[:3], "lsap", turned)
    text, numbers = found.in_words(GapLimit.of(max_gap="100%"))
    assert text.endswith(":turned in lsap, 3 runs: worst gap 300 %, mean 166.7 ±287 %")
    assert numbers.pop("half_width") == pytest.approx(2.868, abs=1e-3)
    assert numbers == {"runs": 3, "feasible": 3, "over_zero": 0, "seeds": 1, "worst": 3.0, "mean": pytest.approx(5 / 3)}
    text, numbers = study(ROWS[2:], "lsap", turned).in_words()
    assert text.endswith("2 runs: worst gap 100 %, 1 over 0")
    assert numbers["over_zero"] == 1
    assert study(ROWS[0], "lsap", turned).in_words()[0].endswith("1 run: worst gap 300 %")
    text, _ = study(ROWS[0], ["lsap", "latency"], turned).in_words()
    assert ":turned in lsap, latency, 2 runs: " in text


def kept(heuristic: str, instance: str, outcome: str, gap: float | None = None, problem: str = "lsap") -> Run:
    """A run against the optimum of an instance: 2, or 0 where a gap has no share."""
    status = "done" if outcome in ("optimal", "above", "over_zero", "unknown") else outcome.replace("_", "-")
    best = None if outcome == "unknown" else 0 if outcome == "over_zero" else 2
    value = None if status != "done" else 2 * (1 + gap) if gap is not None else 1
    found = record(value, best, instance, heuristic, problem=problem, status=status, components=["cost"])
    if instance == "zero" and outcome == "optimal":
        found |= {"objective": 0, "reference": 0, "absolute_gap": 0}
    run = Run(Record.of(found))
    assert run.outcome == outcome
    return run


def test_denominators() -> None:
    """Tests over how many instances a mean is, what is counted with a reason, and that a seed over 0 keeps its out."""
    reasons = ("infeasible", "starved", "failed", "out_of_time", "out_of_memory", "crashed", "over_zero", "unknown")
    runs = [kept("dl", name, name) for name in reasons]
    runs += [kept("dl", "a", "optimal", 0.0), kept("dl", "a", "above", 0.5), kept("dl", "b", "above", 0.75)]
    (part,) = summaries(runs)
    (row,) = part.rows
    assert (row.instances, row.runs, row.optimal, row.counted) == (10, 11, 1, 2)
    assert (row.median, row.mean, row.half_width) == (0.5, 0.5, None), "of two instances, of which no interval is told"
    assert (row.worst, row.worst_on) == (0.75, "b")
    assert [getattr(row, name) for name in reasons] == [1] * len(reasons)
    (cells,) = part.table().rows
    assert "1 out of memory, 1 crashed, 1 over 0" in cells[-1]
    runs = [kept("dl", "zero", "optimal", 0.0), kept("dl", "zero", "over_zero"), kept("dl", "a", "above", 0.5)]
    (part,) = summaries(runs)
    (row,) = part.rows
    assert (row.instances, row.counted, row.mean, row.optimal, row.over_zero) == (2, 1, 0.5, 1, 1)


THREE = ("papers/fsy-not-optimal", "papers/labl-figure2", "generated/planted-lsap-n30-t25-remote4-seed0")


#: Two tasks with their data on the first of two nodes.
PILED = small([[0], [0]], [2, 2])


def row_of(problem: Problem, *answers: list[Any]) -> dict[str, str]:
    """The row of a heuristic with these answers, one a seed."""
    reports = [gap(problem, lambda *_, nodes=nodes: nodes, seed) for seed, nodes in enumerate(answers)]
    return gap_row("mine", reports, repeated=len(answers) > 1)


def page(work: list[tuple[Problem, list[str]]], seeds: int = 1, most: int = 80) -> str:
    """What is put out of one run of each heuristic on each problem."""
    runs = (Run.of(gap(problem, name)) for problem, names in work for name in names)
    return "".join(gap_lines(runs, work, seeds, most))


def test_rows_stand_under_what_they_share() -> None:
    """Tests that each instance and problem has a heading with its reference, and its rows no such column."""
    problems = [Lsap(generate("lsap", seed, nodes=4, tasks=4)) for seed in (0, 1)]
    first, second = page([(problem, ["dl", "rand"]) for problem in problems]).split("\n\n")
    (value,) = solve(problems[0]).objective
    assert first.splitlines()[0] == f"lsap-n4-t4-seed0, lsap: optimum {value} (locality-cost), proof: dual"
    assert first.splitlines()[1].split() == ["heuristic", "objective", "gap", "note"]
    assert [line.split()[0] for line in second.splitlines()[3:]] == ["dl", "rand"]


def test_one_heuristic_on_several_instances_is_one_table() -> None:
    """Tests that with one heuristic a problem the rows are by instance, and what never varies is the heading."""
    problems = [Lsap(generate("lsap", seed, nodes=4, tasks=4)) for seed in (0, 1)]
    lines = page([(problem, ["dl"]) for problem in problems], seeds=2).splitlines()
    assert lines[0] == "dl in lsap"
    assert lines[1].split()[:5] == ["instance", "objective", "reference", "proof", "seeds"]
    assert [line.split()[0] for line in lines[3::2]] == ["lsap-n4-t4-seed0", "lsap-n4-t4-seed1"]
    assert lines[4::2] == ["  only 1 of 2 seeds"] * 2, "below its row, where there is no room beside it"
    one = [(problems[0], ["rand"]), (Latency(problems[0].instance), ["round-robin"])]
    (heading, head, *_) = page(one).splitlines()
    assert heading == "lsap-n4-t4-seed0"
    assert head.split()[:2] == ["problem", "heuristic"]
    mixed = [(problems[0], ["dl"]), (Latency(problems[1].instance), ["labl"])]
    (head, *_) = page(mixed, most=200).splitlines()
    assert head.split()[:3] == ["instance", "problem", "heuristic"]


@pytest.mark.parametrize("columns", ["40", "80"])
@pytest.mark.parametrize(
    "args",
    [
        ("gap", *THREE, "--problem", "lsap", "--problem", "latency"),
        ("gap", *THREE, "--problem", "latency", "--heuristic", "labl", "--each"),
        ("gap", "papers/guo-fig2", "--problem", "lsap", "--repeats", "3"),
        ("matrix", "papers/hsu-two-clusters", "--heuristic", "dl", "--heuristic", "labl"),
        ("simulate", "examples/order-of-jobs", "--policy", "fair", "--policy", "fifo"),
    ],
    ids=["summary", "each", "repeats", "matrix", "simulate"],
)
def test_output_fits_the_page(args: tuple[str, ...], columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no line of a table is longer than the page, also where it is a pipe."""
    monkeypatch.setenv("COLUMNS", columns)
    text = run(*args).stdout
    assert text
    assert max(map(len, text.splitlines())) <= int(columns)


def test_row_of_racks() -> None:
    """Tests that the note counts node, rack and off-rack where racks are given and the optimum has others."""
    cluster = Cluster(list("abc"), rack=[0, 0, 1], rack_ids=["r", "s"])
    workload = Workload(["t", "u"], replicas=Ragged.from_rows([[0], [0]]))
    problem = Lsap(Instance(cluster, workload), levels=(0, 1, 2))
    answers = [0, 1], [1, 2], [2, 1]
    notes = [row_of(problem, nodes)["note"] for nodes in answers]
    assert notes == ["", *["0/1/1 node/rack/off-rack, optimum 1/1/0"] * 2]
    assert row_of(problem, *answers)["note"] == ""
    assert row_of(Lsap(Instance(Cluster(list("abc")), workload)), [1, 2])["note"] == ""


def test_repeated_row() -> None:
    """Tests that several seeds are one row, with mean, interval and worst of those that are feasible and known."""
    row = row_of(Lsap(PILED, levels=[1, 2, 2]), [0, 0], [0, 1], [1, 1], [None] * 2)
    assert (row["objective"], row["mean gap ±95 %"], row["worst gap"]) == ("3", "50 ±124 %", "100 %")
    assert row["note"].startswith("1 of 4 infeasible: cardinality")
    row = row_of(Latency(PILED), [0, 0], [0, 0], [1, 1])
    assert (row["mean gap ±95 %"], row["worst gap"]) == ("66.67 ±287 %, 0 %", "200 %, 0 %")


def test_notes_are_short() -> None:
    """Tests that a row shows two violations, how many more there are, and an error in short."""
    note = row_of(Lsap(row(6, 0, "six")), ["n0", "n0", "n1", "n1", "n2", "n2"])["note"]
    assert note == "infeasible: slots(n0) by 1; slots(n1) by 1; and 1 more"
    failed = row_of(Lsap(PILED), ["nowhere" * 50, 1])
    assert failed["gap"] == failed["objective"] == "-"
    assert failed["note"].startswith("error: heuristic ")
    assert len(failed["note"]) < 70


def test_row_out_of_time() -> None:
    """Tests that a run and a reference that were cut short are told in the note, with the limit, together."""
    problem = Lsap(PILED)
    late = gap(problem, "dl", time_limit=0, reference=Reference(problem))
    row = gap_row("dl", [late])
    assert (row["gap"], row["objective"], row["note"]) == ("-", "-", "out of time after 0 s")
    held = replace(solve(problem), bound=(None,), termination=Termination.FEASIBLE, limit=Limit.TIME)
    unproved = Reference(problem, Profile("short", time_limit=7.5), solution=held)
    row = gap_row("dl", [gap(problem, "dl", 0, unproved)])
    told = "against the cheap bound best-node; reference out of time after 7.5 s"
    assert (row["kind"], row["note"]) == ("bound", told)
    row = gap_row("dl", [late, gap(problem, "dl", 1, unproved)], repeated=True)
    assert row["note"] == f"1 of 2 out of time after 0 s; 1 of 2 {told}"
    row = gap_row("dl", [gap(problem, "dl", 0, held)])
    assert row["note"] == "against the cheap bound best-node; reference out of time"
