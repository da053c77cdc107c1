"""Gaps: what is measured, against what, and what is said where something is unknown."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from small_problems import FIGURE_2, ONE_PLACE, generalized_assignment, small, small_problem
from transmission_instances import example

from optsched import Placement, generate
from optsched.core.deadline import check, deadline, remaining
from optsched.core.errors import BoundViolated, HeuristicFailed, OutOfTime, TooLarge, UsageError
from optsched.core.results import Bound, Certificate, FrontierPoint, Limit, Proof, Termination, Value
from optsched.heuristics import run
from optsched.measuring.gaps import Reference, frontier_gap_fields, gap, gap_limit, gap_of, ratio
from optsched.measuring.matrix import posable
from optsched.measuring.records import record_fields
from optsched.measuring.studies.tables import gap_row
from optsched.problems import Latency, Lsap, problem
from optsched.routes import Frontier, routes_of, solve
from optsched.solvers.profiles import Profile


def answer(nodes: list[int | None]) -> object:
    """A heuristic that always answers these nodes."""
    return lambda problem, rng: Placement.of(nodes)


def test_nothing_feasible() -> None:
    """Tests why nothing is feasible, in words: what is plain, a proof, or a solver's word; None where something is."""
    crowded = generalized_assignment([[1], [1]], {"weight": [[2], [2]]}, {"weight": [3]})
    stranded = generalized_assignment([[1], [1]], {"weight": [[2], [4]]}, {"weight": [3]})
    found = solve(crowded)
    word = Reference(crowded, solution=replace(found, certificates=()))
    references = [Reference(crowded, solution=found), word, Reference(stranded), Reference(ONE_PLACE)]
    assert [reference.infeasible for reference in references] == [
        "proof: combinatorial",
        "proof: solver",
        "t1 fits on no node that it may use",
        None,
    ]
    report = gap_of(crowded, run(crowded, lambda *_: [0, 0]), 0, references[0])
    assert (report.reference.kind, report.deciding) == (None, None)
    assert gap_row("mine", [report])["note"].startswith("infeasible, like every placement: capacity")


def test_gap_against_the_optimum_is_exact() -> None:
    """Tests absolute and relative gap, reference and proof of a heuristic that is one level off."""
    report = gap(Lsap(FIGURE_2, levels=(1, 3, 3)), answer([0, 1, 2]))
    assert (report.objective, report.reference.value, report.reference.kind) == ((5,), (3,), "optimum")
    assert (report.absolute_gap, report.relative_gap) == ((2,), (Fraction(2, 3),))
    assert report.record()["certificate"] == "dual"
    assert report.record()["relative_gap"] == pytest.approx(2 / 3)


def test_no_gap_without_a_feasible_placement() -> None:
    """Tests that an overfull node, and no answer, give a report with the reason and no gap, and raise if asserted."""
    report = gap(Lsap(FIGURE_2), answer([0, 0, 1]))
    assert (report.objective, report.absolute_gap, report.feasible) == (None, None, False)
    assert [str(violation) for violation in report.violations] == ["slots(n0) by 1"]
    assert report.record()["violations"] == [{"constraint": "slots", "ids": ["n0"], "amount": 1}]
    with pytest.raises(HeuristicFailed, match="infeasible: slots"):
        report.raise_unless_within(0.0)
    report = gap(Lsap(FIGURE_2), lambda problem, rng: None)
    assert report.placement is None
    assert not report.within("100%")
    with pytest.raises(HeuristicFailed, match="None"):
        report.raise_unless_within("100%")


def test_lexicographic_gap_ends_at_the_first_difference() -> None:
    """Tests that components after the first that differs have no gap, and that the frontier says what that hides."""
    problem = Latency(small([[0]] * 5, [1, 1, 1]))
    report = gap(problem, answer([0] * 5))  # the front is (3, 9), (4, 7), (5, 5)
    assert (report.absolute_gap, report.relative_gap) == ((2, None), (Fraction(2, 3), None))
    record = report.record()
    assert (record["work_gap_at_makespan"], record["makespan_gap_at_work"]) == (0, 0)
    assert record["objective"] == [5, 5]
    assert record["sense"] == ["min", "min"]
    wasteful = gap(problem, answer([0, 0, 0, 1, 2])).record()
    assert wasteful["absolute_gap"] == [0, 0]
    assert (wasteful["work_gap_at_makespan"], wasteful["makespan_gap_at_work"]) == (0, 0)
    slow = gap(problem, answer([1, 1, 1, 1, 1])).record()
    assert (slow["work_gap_at_makespan"], slow["makespan_gap_at_work"]) == (10, 12)


def test_limits_on_the_gap() -> None:
    """Tests `within` on later components: equal so far, a known small one, and a large one."""
    problem = Latency(small([[0], [1]]))
    best = gap(problem, answer([0, 1]))
    assert best.within(0.0)
    best.raise_unless_within(0.0)
    swapped = gap(problem, answer([1, 0]))
    assert not swapped.within("190%")
    assert swapped.within(Fraction(2))
    with pytest.raises(UsageError, match="a limit on the gap is a number of at least 0"):
        best.within("x")
    for bare in (5, 5.0, "5", 1, "1.0", np.float64(5)):
        with pytest.raises(UsageError, match=r'a limit on the gap of .* %: write "(5|1)(\.0)?%" or 0\.0[15], or'):
            best.within(bare)
    shares = {"500%": 5, "7/5": Fraction(7, 5), Fraction(7, 5): Fraction(7, 5), 0.999: Fraction("0.999")}
    assert {share: gap_limit(share) for share in shares} == shares
    with pytest.raises(HeuristicFailed, match=r"gap 200 % is over 190 %: 3, 6 against the optimum 1, 2"):
        swapped.raise_unless_within("190%")


def test_each_component_has_its_unit() -> None:
    """Tests that the unit of the first component is not that of the others, such as MB of a number of maps."""
    traffic = problem("traffic", generate("traffic", 0))
    worst = gap(traffic, "joss-t")
    with pytest.raises(HeuristicFailed, match=r": 5280 MB, 36 against the optimum 4768 MB, 31$"):
        worst.raise_unless_within(0)


def test_gap_against_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where nothing is proved optimal the gap is measured against the bound, and said to be."""
    problem = Lsap(FIGURE_2, levels=(1, 3, 3))
    held = replace(solve(problem), bound=(2,), termination=Termination.FEASIBLE, limit=Limit.NODES)
    report = gap(problem, answer([2, 1, 0]), reference=held)
    assert (report.reference.kind, report.absolute_gap, report.relative_gap) == ("bound", (1,), (Fraction(1, 2),))
    monkeypatch.setattr("optsched.measuring.gaps.stated", lambda *asked: tuple)
    unknown = replace(held, bound=(None,))
    report = gap(problem, answer([2, 1, 0]), reference=unknown)
    assert (report.reference.kind, report.absolute_gap, report.record()["reference"]) == (None, None, None)
    with pytest.raises(HeuristicFailed, match=r"gap unknown is over 100 %: 3 against a reference that is unknown$"):
        report.raise_unless_within("100%")


class Doubled(Lsap):
    """A class with its own objective and the name of its base."""

    def objective(self, placement: Placement, /) -> Value:
        """Twice the number of tasks on the first node, less the cost."""
        nodes = self.nodes_of(placement)
        return (2 * int((nodes == 0).sum()) - int(Lsap.objective(self, placement)[0]),)


def test_reference_of_an_equal_problem() -> None:
    """Tests that a reference of a problem that is posed alike serves, and one with other parameters does not."""
    reference = gap(Latency(FIGURE_2), "labl").reference
    assert gap(Latency(FIGURE_2), "labl", reference=reference).reference is reference
    for given in (reference, solve(Latency(FIGURE_2))):
        with pytest.raises(UsageError, match=r"of latency with other parameters: w_rem$"):
            gap(Latency(FIGURE_2, w_rem=5), "labl", reference=given)


def test_bug_solution_of_the_base_class_was_a_proved_reference() -> None:
    """Tests that a derived class which kept the name of its base does not take its base's solution for a reference.

    The gap was one to a proved optimum, of another problem.
    """
    problem = Doubled(FIGURE_2)
    base, own = solve(Lsap(FIGURE_2)), solve(problem)
    priced = replace(base, objective=problem.evaluate(base.decision))
    overfull = replace(own, decision=Placement.of([0, 0, 0]))
    wrong = {
        "is not worth 0$": base,
        "its placement is infeasible: .*n0": overfull,
        "has no proof of kind dual": priced,
    }
    for message, given in wrong.items():
        with pytest.raises(UsageError, match=f"^the reference is of another problem.* as it is posed.* {message}"):
            gap(problem, answer([2, 1, 0]), reference=given)
    assert gap(problem, answer([2, 1, 0]), reference=own).reference.kind == "optimum"


def test_value_beyond_a_proved_bound_is_a_bug() -> None:
    """Tests that a placement better than the reference raises BoundViolated instead of a negative gap."""
    problem = Lsap(FIGURE_2)
    wrong = Reference(problem)
    wrong.solution = replace(solve(problem), objective=(1,), bound=(1,))
    with pytest.raises(BoundViolated, match="beyond the proved 1"):
        gap_of(problem, run(problem, answer([2, 1, 0])), 0, wrong)


def test_records_tell_locality() -> None:
    """Tests the counts of both placements where tasks have data, and none where nothing has, or nothing is proved."""
    posed = problem("transmission", example())
    half = {"node": 1, "rack": 0, "off_rack": 1}
    assert gap(posed, lambda *_: ["D3", "D2", "D1", "D3"]).record()["locality"] == {"map": half, "reduce": half}
    assert gap(posed, lambda *_: [None] * 4).record()["locality"] is None
    report = gap(Lsap(FIGURE_2), answer([0, 1, 2]))
    record = report.record()
    assert record["locality"] == {"map": {"node": 2, "rack": 0, "off_rack": 1}}
    assert record["reference_locality"] == {"map": {"node": 3, "rack": 0, "off_rack": 0}}
    assert gap(Lsap(small([[], []], [2])), answer([0, 0])).record()["locality"] is None
    unknown = Reference(Lsap(FIGURE_2), solution=replace(report.reference.solution, termination=Termination.FEASIBLE))
    assert (unknown.optimum, unknown.locality) == (None, None)


def test_fields_of_all_records_are_told_beforehand() -> None:
    """Tests that `record_fields` has the fields of the records, in their order, for all problems together."""
    posed = posable(generate("mixed", seed=0))
    alone = [record_fields([one], policies=False) for one in posed]
    assert [list(gap(one, answer([None] * 16)).record()) for one in posed] == alone
    assert list(gap(posed[0], "dl").record()) == record_fields(posed[:1], policies=True)
    together = record_fields(posed, policies=True)
    assert len(together) == len(set(together))
    assert all(set(fields) <= set(together) for fields in alone)
    assert frontier_gap_fields(Latency) == ("work_gap_at_makespan", "makespan_gap_at_work"), "of a class, too"


# Limits -----------------------------------------------------------------------------------------------------------


def out_of_time(*_: object, **__: object) -> None:
    """What runs past a deadline."""
    with deadline(0):
        check()


def test_reference_without_time_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that nothing is known of a reference that runs into its limit, and that an earlier deadline is raised."""
    monkeypatch.setattr("optsched.measuring.gaps.solve", out_of_time)
    monkeypatch.setattr("optsched.measuring.gaps.stated", lambda *asked: tuple)
    report = gap(Lsap(FIGURE_2), answer([0, 1, 2]), time_limit=1000)
    assert (report.objective, report.reference.kind, report.absolute_gap) == ((1,), None, None)
    record = report.record()
    assert (record["termination"], record["limit"], record["error"]) == ("NO_SOLUTION", "TIME", None)
    assert Reference.solved(report.problem).solution.limit is Limit.TIME
    assert report.reference.solution.route == routes_of(report.problem)[0]
    monkeypatch.setattr("optsched.measuring.gaps.solve", out_of_time)
    with deadline(0), pytest.raises(OutOfTime):
        _ = Reference(Lsap(FIGURE_2), time_limit=1000).solution


def test_solving_has_the_deadline_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the reference is solved within a deadline, that of the profile where none is given."""
    seen = []
    monkeypatch.setattr(
        "optsched.measuring.gaps.solve", lambda problem, profile: seen.append(remaining()) or solve(problem)
    )
    gap(Lsap(FIGURE_2), answer([0, 1, 2]))
    gap(Lsap(FIGURE_2), answer([0, 1, 2]), profile=Profile("short", time_limit=50))
    gap(Lsap(FIGURE_2), answer([0, 1, 2]), time_limit=100)
    free, short, given = seen
    assert free is None
    assert 0 < short <= 50 < given <= 100


def too_large(*_: object, **__: object) -> None:
    """What is too large to be held."""
    raise TooLarge("too many points")


TWO_GROUPS: Any = {"job": [0, 1], "job_ids": ["a", "b"], "job_group": [0, 1], "group_ids": ["g", "h"]}
TWO_GROUPS["group_weight"] = [1, 1]


@pytest.mark.parametrize("unknown", [out_of_time, too_large])
def test_gaps_to_an_unknown_frontier_are_open(unknown: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that gaps to the frontier are None if the time is too short for it, or it is too large."""
    fair = small([[0], [1]], **TWO_GROUPS)
    assert Reference(problem("lsap-fairness", fair)).frontier_gaps((0, 0))["fairness_gap_at_locality"] == 0
    monkeypatch.setattr("optsched.routes.lsap_fairness.frontier", unknown)
    reference = Reference(problem("lsap-fairness", fair))
    assert reference.frontier_gaps((0, 0))["fairness_gap_at_locality"] is None
    assert reference.frontier_gaps((0, 0))["locality_gap_at_fairness"] is None


def test_gaps_beside_a_frontier_that_is_cut_short() -> None:
    """Tests that a gap is reported where a later point shows that no earlier one is missing, and else is open."""
    reference = Reference(problem("lsap-fairness", small([[0], [1]], **TWO_GROUPS)))
    proofs = (Certificate("", Proof.SOLVER, 0, {}),) * 2
    values = (0, Fraction(1, 2)), (2, Fraction(1, 4))
    known = tuple(FrontierPoint(value, Placement.of([0, 1]), proofs) for value in values)
    names = ("locality-cost", "fairness-distance")
    vars(reference)["_frontier"] = Frontier("lsap-fairness", names, known, complete=False, limit=Limit.TIME)
    # The next point has 2 tasks off their data.
    assert reference.frontier_gaps((1, 1))["fairness_gap_at_locality"] == Fraction(1, 2)
    assert reference.frontier_gaps((-1, 1))["fairness_gap_at_locality"] is None  # no point has so few
    assert reference.frontier_gaps((3, 1))["fairness_gap_at_locality"] is None  # there may be one with 3
    assert reference.frontier_gaps((3, Fraction(1, 4)))["locality_gap_at_fairness"] == 1
    assert reference.frontier_gaps((3, Fraction(1, 8)))["locality_gap_at_fairness"] is None
    vars(reference)["_frontier"] = Frontier("lsap-fairness", names, known, complete=True, limit=None)
    assert reference.frontier_gaps((3, 1))["fairness_gap_at_locality"] == Fraction(3, 4)


def test_report_prints_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the line that a report prints: a gap, an infeasible placement, an error, nothing to compare with."""
    problem = Lsap(FIGURE_2)
    best = solve(problem)
    unknown = replace(best, bound=(None,), termination=Termination.FEASIBLE, limit=Limit.TIME)
    measured = str(gap(problem, answer([0, 1, 2])))
    assert measured.startswith("small, lsap, ")
    assert measured.endswith(": 1 against the optimum 0 (dual): 1 beyond")
    assert str(gap(problem, answer([0, 0, 1]))).endswith("infeasible: slots(n0) by 1")
    failed = gap(problem, lambda problem, rng: None)
    assert str(failed).endswith(str(failed.error))
    with monkeypatch.context() as patched:
        patched.setattr("optsched.measuring.gaps.stated", lambda *asked: tuple)
        assert str(gap(problem, answer([0, 1, 2]), reference=unknown)).endswith("1, no reference")
    cheap = str(gap(problem, answer([0, 1, 2]), reference=unknown))
    assert cheap.endswith("1 against the bound 0 (cheap bound best-node): 1 beyond")
    two = Latency(small([[0], [1]]))
    held = replace(solve(two), bound=(1, None), termination=Termination.FEASIBLE, limit=Limit.TIME)
    assert " 1, 2 against the bound 1, unknown (" in str(gap(two, answer([0, 1]), reference=held))
    assert str(gap(two, answer([0, 1]), reference=held)).endswith("): 0, - beyond")


def test_report_names_five_violations_and_the_instance() -> None:
    """Tests that of many violations the first five are reported, and that an instance without a name is called one."""
    text = "infeasible: " + "; ".join(f"slots(n{node}) by 1" for node in range(5)) + "; and 2 more"
    for name, called in (("small", "small"), ("", "the instance")):
        report = gap(Lsap(small([[0]] * 14, [1] * 7, name=name)), answer([task // 2 for task in range(14)]))
        assert str(report).endswith(f": {text}")
        with pytest.raises(HeuristicFailed) as caught:
            report.raise_unless_within("100%")
        assert str(caught.value).endswith(f" on {called}, lsap: {text}")


class Alone(Lsap):
    """`lsap` as a class of its own: without a record it is enumerated, and too large soon."""

    name = "alone"

    def cheap_bounds(self) -> tuple[Bound, ...]:
        return (Bound("weak", "locality-cost", 1, ""), Bound("strong", "locality-cost", 2, ""), Bound("x", None, 9, ""))


def test_bug_a_reference_was_unknown_where_a_cheap_bound_is_known() -> None:
    """Tests that a problem too large to be solved is measured against its best cheap bound, which the row names."""
    large = Alone(small([[0]] * 40, [20, 20]))
    with pytest.raises(TooLarge):
        solve(large)
    reference = Reference.solved(large)
    report = gap(large, answer([1] * 20 + [0] * 20), reference=reference)
    assert (reference.kind, reference.value, reference.certificate) == ("bound", (2,), None)
    assert (report.absolute_gap, report.relative_gap) == ((18,), (9,))
    assert report.record()["reference_kind"] == "bound"
    assert gap_row("mine", [report])["note"] == "against the cheap bound strong"


def test_cheap_bounds_stand_for_nothing_that_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests where no cheap bound is taken: beside a proved one, where nothing is feasible, where there is none."""
    assert Reference(Alone(small([[0], [0], [0]]))).cheap is None
    large = Alone(small([[0]] * 40, [20, 20]))
    for termination, cheap in ((Termination.INFEASIBLE, None), (Termination.NO_SOLUTION, 2)):
        found = replace(Reference.solved(large).solution, termination=termination)
        reference = Reference(large, solution=found)
        assert (reference.cheap and reference.cheap.value) == cheap
    monkeypatch.setattr(Alone, "cheap_bounds", lambda self: ())
    assert Reference.solved(large).value is None

    def too_large() -> tuple[Bound, ...]:
        raise TooLarge("too large")

    monkeypatch.setattr("optsched.measuring.gaps.stated", lambda *asked: too_large)
    assert Reference.solved(large).cheap is None


def test_a_cheap_bound_leaves_later_components_open() -> None:
    """Tests that the value has an entry for each component, and only the first is known."""
    problem = Latency(small([[0], [0]]))
    solution = replace(solve(problem), termination=Termination.NO_SOLUTION, objective=None, decision=None)
    reference = Reference(problem, solution=replace(solution, bound=(None, None), certificates=()))
    assert reference.value == (reference.cheap.value, None)


@pytest.mark.parametrize("given", [0.05, "0.05", "5%", "5 %", "1/20", Fraction(1, 20)])
def test_ratio(given: Any) -> None:
    """Tests that every way of writing a share is the same number, to the last digit."""
    assert ratio(given) == Fraction(1, 20)
    assert ratio("inf") == ratio(float("inf")) == float("inf")


@pytest.mark.parametrize(
    "given",
    [-1, "-5%", "much", "", None, True, float("nan"), "-inf", "1/0", [5], "1e400", "1e400%", 10**400, "1e-999999999"],
    ids=lambda given: str(given)[:12],
)
def test_ratio_of_nonsense(given: Any) -> None:
    """Tests that what is no share is wrong usage, with the value."""
    with pytest.raises(UsageError, match="a number of at least 0"):
        ratio(given)


def test_what_was_decided_elsewhere() -> None:
    """Tests that a placement, a mapping, a solution and a schedule are measured, and wrong ones told."""
    posed = Lsap(small([[0], [0, 1], [1]], [1, 1, 1]))
    best = solve(posed)
    for given in (best, best.decision, {"t0": "n0", "t1": "n1", "t2": 2}, {"t0": 0, "t1": "n2", "t2": "n1"}):
        assert gap(posed, given).relative_gap == (0,)
    report = gap(posed, {"t0": "n1", "t1": "n0"})
    assert [violation.constraint for violation in report.violations] == ["cardinality"]
    assert report.run.name == "given"
    timed = small_problem("makespan", 0)
    assert gap(timed, solve(timed)).relative_gap == (0,)
    unknown = gap(posed, {"t9": "n0"})
    assert unknown.error == 'heuristic "given" names task "t9", which is none of problem.tasks'
    other = gap(Lsap(small([[0], [0, 1], [2]], [1, 1, 1])), best)
    assert other.error == 'heuristic "given" is a solution of another instance; solve this one'
    with pytest.raises(UsageError, match="the solution has no placement or schedule to measure"):
        gap(posed, replace(best, decision=None))
