"""What every problem of the registry must keep, one function each: `check_routes(record)` raises what is broken.

Each check takes a record and seeds, and tries the problem on the instances of `cases`; truth is what trying every
decision gives, judged by the problem's own `objective` and `violations`. Any check can be run alone.
"""

from __future__ import annotations

import functools
import inspect
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from optsched import registry
from optsched.certificates import Enumerated, certify, proved_bound
from optsched.errors import BoundViolated, CertificateInvalid, UsageError
from optsched.gaps import Reference, gap_of, gap_waves
from optsched.heuristics import applicable, run
from optsched.instance import Instance
from optsched.instances.files import from_document
from optsched.instances.importers.dimacs import import_dimacs
from optsched.instances.solution_files import read_solution, write_solution
from optsched.network import FlowNetwork
from optsched.problems import AnyProblem, Problem, network_problem
from optsched.problems.base import GRID
from optsched.registry import Record, imported, record_of
from optsched.results import Certificate, Limit, Proof, Sense, Solution, Termination, Value
from optsched.routes import bounds, frontier, has_frontier, routes_of, solve
from optsched.searches import enumeration
from optsched.testing.cases import SEEDS, Case, cases, columns, size_of
from optsched.testing.changes import emptied, permuted, scaled, starved
from optsched.testing.tampering import tampered

__all__ = ["CHECKS", "EXCLUSIONS", "Check", "ContractBroken", "Exclusion", "check_problem"]


class ContractBroken(AssertionError):
    """A problem does not keep the contract; says which problem, which check, on which instance, and what."""


@dataclass(frozen=True)
class Exclusion:
    """What a problem need not keep, and why. `parameters` and `route` narrow it; the suite tests that it is needed."""

    problem: str
    check: str
    reason: str
    parameters: Mapping[str, Any] | None = None
    route: str | None = None


#: All that is excluded of the shipped problems.
EXCLUSIONS: tuple[Exclusion, ...] = (
    Exclusion(
        "fair-lsap",
        "permutation",
        "Guo et al. 2012 take equal tasks into a group's ration in the order of the file",
        {"selection": "fixed"},
    ),
    Exclusion(
        "utility", "each-placement", "tasks of one job and kind are one another's equals: one of each set is tried"
    ),
    Exclusion(
        "fair-lsap",
        "routes",
        "a dense assignment holds no costs that depend on how many of a group are placed; it says so",
        {"selection": "free"},
        "dense",
    ),
)


@dataclass(frozen=True)
class Check:
    """One check: its name, what it says in one line, and which problems it is about."""

    name: str
    says: str
    function: Callable[..., None]
    applies: Callable[[Record], bool]


#: Every check by name, in the order in which they are reported.
CHECKS: dict[str, Check] = {}


def check_problem(name: str | Record, seeds: Sequence[int] = SEEDS) -> None:
    """Run every check that applies to a problem.

    Parameters
    ----------
    name
        A problem of the registry, or its record.
    seeds
        Seeds of the instances: more seeds, more instances.

    Raises
    ------
    ContractBroken
        At the first thing that is broken: an AssertionError that names problem, check and instance.

    Examples
    --------
    >>> check_problem("generalized-assignment", seeds=[5])
    """
    record = registry.record(name) if isinstance(name, str) else name
    for check in CHECKS.values():
        if check.applies(record):
            check.function(record, seeds)


def _check(applies: Callable[[Record], bool] = lambda record: True) -> Callable[[Callable[..., None]], Any]:
    """Make a function one of `CHECKS`: whatever it raises is told with the problem and the check."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        name = function.__name__.removeprefix("check_").replace("_", "-")

        @functools.wraps(function)
        def checked(record: Record | str, seeds: Sequence[int] = SEEDS) -> None:
            entry = registry.record(record) if isinstance(record, str) else record
            try:
                function(entry, seeds)
            except Exception as error:  # a contract is broken by whatever is raised
                told = str(error) if isinstance(error, ContractBroken) else f"{type(error).__name__}: {error}"
                raise ContractBroken(f"{entry.name}, {name}: {told}") from error

        def asked(record: Record) -> bool:
            try:
                return applies(record)
            except Exception as error:  # a record that names no problem says so by whatever is raised
                raise ContractBroken(f"{record.name}, {name}: {type(error).__name__}: {error}") from error

        CHECKS[name] = Check(name, (function.__doc__ or "").splitlines()[0], checked, asked)
        return checked

    return decorate


def _expect(condition: bool, where: str, told: str) -> None:
    if not condition:
        raise ContractBroken(f"{where}: {told}")


def _excluded(problem: AnyProblem, check: str, route: str | None = None) -> bool:
    """Whether a check is excluded of a problem with these parameters (and of one route, where one is named)."""
    return any(
        entry.problem == problem.name
        and entry.check == check
        and entry.route == route
        and all(problem.parameters.get(name) == value for name, value in (entry.parameters or {}).items())
        for entry in EXCLUSIONS
    )


def _kept(record: Record, seeds: Sequence[int], check: str) -> list[Case]:
    """The cases of which the check is not excluded."""
    return [case for case in cases(record, seeds) if not _excluded(case.problem, check)]


def _routes(problem: AnyProblem) -> list[str]:
    """The routes of a problem, less those that are excluded."""
    return [route for route in routes_of(problem) if not _excluded(problem, "routes", route)]


def _places(record: Record) -> bool:
    return issubclass(record.problem_class, Problem)


def _placing(case: Case) -> Problem:
    """The problem of a case, which places tasks."""
    assert isinstance(case.problem, Problem)
    return case.problem


def _told(value: Sequence[object] | None) -> str:
    return "nothing" if value is None else ", ".join(map(str, value))


# Definition --------------------------------------------------------------------------------------------------------


@_check()
def check_record(record: Record, seeds: Sequence[int]) -> None:
    """The record and the class name each other, instances can be drawn, and a subclass inherits nothing of it."""
    kind = record.problem_class
    _expect(kind.name == record.name, record.problem, f'the class is called "{kind.name}"')
    _expect(record_of(kind) == record, record.problem, "the registry has another record of the class")
    for case in cases(record, seeds):
        applies = kind.applies(case.problem.instance)
        _expect(not applies, case.name, "; ".join(map(str, applies)))
    told = "of no instance have two decisions different values: make `sizes` leave more to decide"
    _expect(any(len(case.decisions) > 1 for case in cases(record, seeds)), record.problem, told)
    unsaid = record.routes is not None and hasattr(imported(record.routes), "frontier") and not record.frontier
    _expect(not unsaid, record.problem, "its routes find a frontier: the record has to say so (`frontier=True`)")
    _expect(record.scaling is not None, record.problem, "no scaling: say what its optimum does in other units")
    _variants_differ(record, seeds)
    other = type("Other", (kind,), {"__module__": __name__})
    _expect(record_of(other).routes is None, record.problem, "a subclass has its routes")
    posed = other(cases(record, seeds)[0].problem.instance)
    certificate = Certificate(posed.components[0].name, kind.proof, 0, {})
    try:
        proved_bound(posed, certificate)
    except CertificateInvalid as error:
        _expect("has no proof" in str(error), record.problem, f"a subclass has its provers: {error}")
    else:
        raise ContractBroken(f"{record.problem}: a subclass has its provers")


def _with_usual(seeds: Sequence[int]) -> list[int]:
    """The seeds, after those that show what an instance or two may not: for what has to be seen somewhere."""
    return list(dict.fromkeys((*SEEDS, *seeds)))


def _variants_differ(record: Record, seeds: Sequence[int]) -> None:
    """Each variant gives some decision another value, or makes it feasible or not."""
    number = 1 + len(record.variants)
    held = cases(record, _with_usual(seeds))
    for place, parameters in enumerate(record.variants, 1):
        pairs = zip(held[::number], held[place::number], strict=True)
        told = f"the variant {dict(parameters)} changes no decision's value: choose `sizes` where it does"
        _expect(any(usual.judged != other.judged for usual, other in pairs), record.problem, told)


@_check(_places)
def check_enumeration(record: Record, seeds: Sequence[int]) -> None:
    """The enumeration finds every value, with placements that have it, as judging every placement does."""
    ways = {"judged": enumeration.judged}
    if record.enumeration is not None:
        ways[record.enumeration] = imported(record.enumeration)
    for case in cases(record, seeds):
        problem = _placing(case)
        for way, enumerated in ways.items():
            found: dict[Value, Value] = {}
            for key, nodes in enumerated(problem):
                placement = problem.placement(nodes)
                wrong = problem.violations(placement)
                _expect(not wrong, case.name, f"{way}: an infeasible placement: {'; '.join(map(str, wrong))}")
                value = problem.minimised(problem.objective(placement))
                _expect(found.setdefault(key, value) == value, case.name, f"{way}: {key} stands for two values")
            _expect(set(found.values()) == set(case.decisions), case.name, f"{way}: other values than judging finds")
            _expect(
                [found[key] for key in sorted(found)] == list(case.decisions), case.name, f"{way}: in another order"
            )
        best = enumeration.best_placement(problem)
        _expect((best is None) == (case.best is None), case.name, "the best placement is not there, or should not be")
        if best is not None:
            _expect(
                best[0] == case.best, case.name, f"the best placement is worth {_told(best[0])}, not {_told(case.best)}"
            )


@_check(_places)
def check_each_placement(record: Record, seeds: Sequence[int]) -> None:
    """The enumeration gives each feasible placement once."""
    enumerated = enumeration.judged if record.enumeration is None else imported(record.enumeration)
    for case in _kept(record, seeds, "each-placement"):
        problem = _placing(case)
        found = Counter(tuple(nodes) for _, nodes in enumerated(problem))
        _expect(not found or max(found.values()) == 1, case.name, "a placement is given twice")
        numbers = Counter(problem.minimised(problem.objective(problem.placement(nodes))) for nodes in found)
        for value, number in case.numbers.items():
            told = f"{numbers[value]} of {number} placements of value {_told(problem.minimised(value))}"
            _expect(numbers[value] == number, case.name, told)


# Solutions ---------------------------------------------------------------------------------------------------------


@_check()
def check_routes(record: Record, seeds: Sequence[int]) -> None:
    """Every route finds the optimum, with a bound that closes, a decision that is worth it and a certificate."""
    for case in cases(record, seeds):
        for route in _routes(case.problem):
            _right(case.problem, solve(case.problem, route=route), case.best, f"{case.name}, route {route}")


def _right(problem: AnyProblem, solution: Solution, best: Value | None, where: str) -> None:
    """A solution is the optimum, or INFEASIBLE where there is none, and `certify` agrees."""
    if best is None:
        _expect(solution.termination is Termination.INFEASIBLE, where, f"{solution.termination}, not INFEASIBLE")
        _expect(solution.decision is None and solution.objective is None, where, "INFEASIBLE, with a decision")
    else:
        _expect(solution.termination is Termination.OPTIMAL, where, f"{solution.termination}, not OPTIMAL")
        _expect(solution.objective == best, where, f"{_told(solution.objective)} is called optimal, {_told(best)} is")
        _expect(solution.bound == best, where, f"bound {_told(solution.bound)}, optimum {_told(best)}")
        assert solution.decision is not None
        _expect(problem.evaluate(solution.decision) == best, where, "the decision is not worth the objective")
    verdict = certify(problem, solution, enumerated=Enumerated(best))
    _expect(verdict.valid, where, f"contradicted: {'; '.join(verdict.contradicted)}")
    _expect(verdict.proved, where, f"not proved: {'; '.join(verdict.unproved)}")
    alone = certify(problem, solution)
    checkable = bool(solution.certificates) and all(entry.kind.checkable for entry in solution.certificates)
    _expect(alone.proved or not checkable, where, f"its certificates prove nothing: {'; '.join(alone.unproved)}")


@_check(lambda record: bool(record.provers))
def check_certificates(record: Record, seeds: Sequence[int]) -> None:
    """No changed certificate proves more than is true, and no false claim of value, bound or decision is accepted."""
    for case in cases(record, seeds):
        if case.best is None:
            continue
        seen = set()
        for route in _routes(case.problem):
            solution = solve(case.problem, route=route)
            _false_claims(case, solution, f"{case.name}, route {route}")
            for place, certificate in enumerate(solution.certificates):
                if certificate.kind.checkable and repr(certificate) not in seen:
                    seen.add(repr(certificate))
                    _no_more(case, solution, place, certificate)
    _proofs_are_given(record, seeds)
    kinds = [kind for kind in Proof if kind.checkable and str(kind) not in record.provers]
    problem = cases(record, seeds)[0].problem
    for kind in kinds:
        try:
            value = proved_bound(problem, Certificate(problem.components[0].name, kind, 0, {}))
        except CertificateInvalid:
            continue
        raise ContractBroken(f"a proof of kind {kind}, which has no prover, proves {value}")


def _proofs_are_given(record: Record, seeds: Sequence[int]) -> None:
    """The usual route proves each component by the problem's kind somewhere, and each prover has something to do."""
    kind = record.problem_class.proof
    held = [case.problem for case in cases(record, _with_usual(seeds))]
    usual = [(entry.component, entry.kind) for problem in held for entry in solve(problem).certificates]
    for component in record.problem_class.components:
        told = f"the usual route gives no certificate of {component.name} of kind {kind} anywhere"
        _expect((component.name, kind) in usual, record.problem, told)
    seen = {str(proof) for _, proof in usual}
    for key in set(record.provers) - seen:
        given = (
            str(entry.kind)
            for problem in held
            for route in _routes(problem)
            for entry in solve(problem, route=route).certificates
        )
        _expect(key in given, record.problem, f"no route gives a certificate for the prover of kind {key}")


def _beyond(case: Case, place: int, value: Any) -> bool:
    """Whether a claimed bound of a component is more than is true."""
    assert case.best is not None
    least = case.problem.components[place].sense is Sense.MIN
    return bool(value > case.best[place]) if least else bool(value < case.best[place])


def _no_more(case: Case, solution: Solution, place: int, certificate: Certificate, count: int = 40) -> None:
    """Changed data is refused, or proves no more than the truth."""
    rng = np.random.default_rng(place)
    beyond = certificate.claim + (1 if case.problem.components[place].sense is Sense.MIN else -1)
    for data in tampered(certificate.data, rng, count):
        try:
            proved = proved_bound(case.problem, replace(certificate, data=data, claim=beyond), solution.objective)
        except CertificateInvalid:
            continue
        told = f"of {certificate.component} {data} proves {proved}, the optimum is {_told(case.best)}"
        _expect(not _beyond(case, place, proved), case.name, told)


def _false_claims(case: Case, solution: Solution, where: str) -> None:
    """A better value, a better bound and a worse decision are each contradicted."""
    problem = case.problem
    assert solution.objective is not None
    for place, component in enumerate(problem.components):
        step = 1 if component.sense is Sense.MIN else -1
        for entry in ("objective", "bound", "both"):
            lied: dict[str, Any] = {}
            for name, direction in (("objective", -step), ("bound", step)):
                if entry == name:
                    values = list(getattr(solution, name))
                    values[place] += direction
                    lied[name] = tuple(values)
            if entry == "both":
                values = list(solution.objective)
                values[place] -= step
                lied = {"objective": tuple(values), "bound": tuple(values)}
            claims = dict(
                zip((part.name for part in problem.components), lied.get("bound", solution.bound), strict=True)
            )
            lied["certificates"] = tuple(
                replace(certificate, claim=claims[certificate.component]) for certificate in solution.certificates
            )
            verdict = certify(problem, replace(solution, **lied), enumerated=Enumerated(case.best))
            _expect(not verdict.valid, where, f"accepts a false {entry} of {component.name}")
    for minimised, decision in list(case.decisions.items())[1:2]:
        value = problem.minimised(minimised)
        verdict = certify(problem, replace(solution, decision=decision))
        _expect(not verdict.valid, where, "accepts a decision of another value")
        claims = dict(zip((part.name for part in problem.components), value, strict=True))
        called = tuple(replace(entry, claim=claims[entry.component]) for entry in solution.certificates)
        false = replace(solution, decision=decision, objective=value, bound=value, certificates=called)
        _expect(not certify(problem, false).proved, where, f"{_told(value)} is proved to be the optimum")


@_check()
def check_bounds(record: Record, seeds: Sequence[int]) -> None:
    """Every cheap bound is of a component, or says what else it bounds, and is no more than is true."""
    for case in cases(record, seeds):
        names = [component.name for component in case.problem.components]
        for bound in (*case.problem.cheap_bounds(), *bounds(case.problem)):
            _expect(bool(bound.bounds), case.name, f"{bound.name} does not say what it bounds")
            if bound.component is None or case.best is None:
                continue
            _expect(bound.component in names, case.name, f"{bound.name} bounds {bound.component}, which is none of it")
            place = names.index(bound.component)
            told = f"{bound.name} is {bound.value}, the optimum {_told(case.best)}"
            _expect(not _beyond(case, place, bound.value), case.name, told)


@_check()
def check_solution_file(record: Record, seeds: Sequence[int]) -> None:
    """A solution in a file comes back as it was, and is judged the same."""
    for case in cases(record, seeds):
        solution = solve(case.problem)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "solution.json")
            write_solution(solution, case.problem.instance, path)
            again = read_solution(path, case.problem.instance)
        for name in ("problem", "instance_sha256", "objective", "bound", "termination", "limit", "route", "raw_status"):
            _expect(getattr(again, name) == getattr(solution, name), case.name, f"{name} is another one")
        found = [None if entry.decision is None else columns(entry.decision) for entry in (solution, again)]
        _expect(found[0] == found[1], case.name, "the decision is another one")
        exact = [type(entry) for entry in again.objective or ()] == [type(entry) for entry in solution.objective or ()]
        _expect(exact, case.name, "the objective is not exact any more")
        missing = set(case.problem.parameters) - set(again.parameters)
        _expect(not missing, case.name, f"parameters are lost: {', '.join(sorted(missing))}")
        _expect(not case.problem.differing(again.parameters), case.name, "parameters are other ones")
        kinds = [
            [(part.component, part.kind, part.claim) for part in entry.certificates] for entry in (solution, again)
        ]
        _expect(kinds[0] == kinds[1], case.name, "certificates are other ones")
        verdicts = [str(certify(case.problem, entry)) for entry in (solution, again)]
        _expect(verdicts[0] == verdicts[1], case.name, f"is judged otherwise: {verdicts[1]}")


# Models ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Program:
    """One program of a problem: how it was built, the component that is its objective, and the truth of it."""

    where: str
    kind: str
    model: Any
    limited: bool
    component: int
    truth: Any


def _programs(record: Record, case: Case) -> Iterator[_Program]:
    """Every program of the module of models: compact and literal, with and without a limit."""
    from optsched.models.export import about

    module, problem = imported(str(record.models)), case.problem
    names = [component.name for component in problem.components]
    asked: list[tuple[dict[str, Any], bool, int, Any]] = []
    free = names.index(about(problem).component.name)
    asked.append(({}, False, free, case.best_of(free)))
    if record.limit is not None:
        wanted = names.index(about(problem, limited=True).component.name)
        other = 1 - wanted
        signs = problem.minimised((1, 1))
        reached = sorted({value[other] for value in case.decisions})
        for value in reached[:2] + reached[-1:]:
            limit = signs[other] * value
            options = {"limit": int(limit) if record.limit.denominator == 1 else limit}
            asked.append((options, True, wanted, case.best_of(wanted, (other, limit))))
    for kind in ("build_pyomo", "build_pulp"):
        build = getattr(module, kind)
        for options, limited, component, truth in asked:
            ways = [options]
            if kind == "build_pyomo" and "aggregate" in inspect.signature(build).parameters:
                ways.append({**options, "aggregate": False})
            for way in ways:
                where = ", ".join([case.name, kind, *(f"{key}={value}" for key, value in way.items())])
                try:
                    model = build(problem, **way)
                except UsageError as error:  # nothing is feasible for a plain reason
                    _expect(truth is None, where, f"is refused: {error}")
                    continue
                yield _Program(where, kind, model, limited, component, truth)


def _agrees(found: float | Fraction, truth: Any) -> bool:
    return abs(float(found) - float(truth)) <= 1e-6 * max(1.0, abs(float(truth)))


@_check(lambda record: record.models is not None)
def check_models(record: Record, seeds: Sequence[int]) -> None:
    """Every program finds the truth of its objective, and decodes into a decision that is worth it."""
    from optsched.models.export import about
    from optsched.solvers.algebraic import solve_pulp, solve_pyomo
    from optsched.solvers.profiles import load_profile

    exact, module = load_profile("exact"), imported(str(record.models))
    for case in cases(record, seeds):
        problem = case.problem
        for program in _programs(record, case):
            outcome = (solve_pulp if program.kind == "build_pulp" else solve_pyomo)(program.model, exact)
            if program.truth is None:
                _expect(outcome.status is Termination.INFEASIBLE, program.where, f"{outcome.status}, not INFEASIBLE")
                continue
            _expect(outcome.status is Termination.OPTIMAL, program.where, str(outcome.status))
            assert outcome.objective is not None
            told = about(problem, program.limited).of(outcome.objective)
            _expect(_agrees(told, program.truth), program.where, f"finds {float(told)}, the truth is {program.truth}")
            decision = module.decode(program.model, problem)
            wrong = problem.violations(decision)
            _expect(not wrong, program.where, f"decodes into what is infeasible: {'; '.join(map(str, wrong))}")
            worth = problem.evaluate(decision)[program.component]
            _expect(worth == program.truth, program.where, f"decodes into what is worth {worth}, not {program.truth}")
        if case.best is not None:
            size, model = module.literal_size(problem), module.build_pulp(problem)
            built = len(model.variables()), len(list(model.constraints()))
            _expect(built == (size.variables, size.constraints), case.name, f"literal_size says {size}, built {built}")


@_check(lambda record: record.models is not None)
def check_export(record: Record, seeds: Sequence[int]) -> None:
    """LP and MPS files of every program, and networks as DIMACS, mean the same to who reads them."""
    from optsched.models.export import about, write_lp, write_mps

    for case in cases(record, seeds[:1]):
        problem = case.problem
        with tempfile.TemporaryDirectory() as folder:
            for program in _programs(record, case):
                meaning = about(problem, program.limited)
                for suffix, write in ((".lp", write_lp), (".mps", write_mps)):
                    path = Path(folder, f"program{suffix}")
                    write(program.model, path, meaning.notes())
                    found = _read_by_highs(path)
                    _expect((found is None) == (program.truth is None), program.where, f"{suffix} says {found}")
                    if found is not None:
                        told = meaning.of(found, negated=suffix == ".mps" and meaning.component.sense is Sense.MAX)
                        where = f"{program.where}, {suffix}"
                        _expect(
                            _agrees(told, program.truth), where, f"says {float(told)}, the truth is {program.truth}"
                        )
            network = _network(record, problem)
            if network is not None:
                path = Path(folder, "network.dimacs")
                path.write_text(network.to_dimacs())
                (document,) = import_dimacs(path).documents
                least = solve(network_problem(_as_network(from_document(document)))).objective
                units = getattr(problem, "grid", 1)
                told_best = None if case.best is None else (case.best[0] * units,)
                _expect(least == told_best, case.name, f"the network costs {_told(least)}, in units {_told(told_best)}")


def _as_network(noun: Instance | FlowNetwork) -> FlowNetwork:
    assert isinstance(noun, FlowNetwork)
    return noun


def _network(record: Record, problem: AnyProblem) -> FlowNetwork | None:
    """What is exported as a network, where there is one."""
    if isinstance(problem.instance, FlowNetwork):
        return problem.instance
    return None if record.network is None else _as_network(imported(record.network)(problem))


def _read_by_highs(path: Path) -> float | None:
    """The optimum of a file as HiGHS reads it; None where it is infeasible."""
    import highspy

    highs = highspy.Highs()
    highs.silent()
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_abs_gap", 0.0)
    _expect(highs.readModel(str(path)) != highspy.HighsStatus.kError, path.name, "HiGHS cannot read it")
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return None
    if status == highspy.HighsModelStatus.kModelEmpty:
        return float(highs.getObjectiveOffset()[1])
    _expect(status == highspy.HighsModelStatus.kOptimal, path.name, f"HiGHS says {status}")
    return float(highs.getInfo().objective_function_value)


# Other instances ---------------------------------------------------------------------------------------------------


@_check()
def check_permutation(record: Record, seeds: Sequence[int]) -> None:
    """The order of nodes, tasks and arcs in a file does not matter, to no route on the first seed's instance."""
    first = cases(record, seeds[:1])
    for case in _kept(record, seeds, "permutation"):
        for turn in range(2):
            other = permuted(case.problem, np.random.default_rng(turn))
            for route in [None, *(_routes(other) if case in first and not turn else ())]:
                _right(
                    other, solve(other, route=route), case.best, f"{case.name}, permuted, route {route or 'as usual'}"
                )


@_check()
def check_scaling(record: Record, seeds: Sequence[int]) -> None:
    """An instance in other units, tenths where numbers need not be whole, has the same optimum in these units."""
    law = record.scaling
    _expect(law is not None, record.problem, "no scaling: say what its optimum does in other units")
    assert law is not None
    for case in cases(record, seeds):
        for factor in (Fraction(3),) if law.whole else (Fraction(3), Fraction(1, 10)):
            where = f"{case.name}, times {factor}"
            other = scaled(case.problem, law, factor)
            found, best = solve(other).objective, case.best
            if best is None or found is None:
                _expect(found == best, where, f"{_told(found)} instead of {_told(best)}")
                continue
            slack = size_of(other) * (1 + factor) / GRID if law.rounded else 0
            for entry, known, power in zip(found, best, law.powers, strict=True):
                told = f"{entry} instead of {known * factor**power}"
                _expect(abs(entry - known * factor**power) <= slack, where, told)


@_check()
def check_empty(record: Record, seeds: Sequence[int]) -> None:
    """Where there is nothing to decide every route says so, proved, and with the value that nothing has."""
    for case in cases(record, seeds[:1]):
        posed = emptied(case.problem)
        _expect(bool(posed), case.name, "cannot be posed where there is nothing to decide")
        for problem in posed:
            _expect(not size_of(problem), case.name, "emptied, and there is something to decide")
            best = Case(problem, case.name).best
            for route in _routes(problem):
                _right(problem, solve(problem, route=route), best, f"{case.name}, emptied, route {route}")
            if has_frontier(problem):
                found = frontier(problem)
                _expect(found.complete and found.values == [best], case.name, f"emptied, frontier {found.values}")


@_check()
def check_no_room(record: Record, seeds: Sequence[int]) -> None:
    """Without room every route says INFEASIBLE, or finds what can be had still; INFEASIBLE is tried where it can be."""
    infeasible = False
    for case in cases(record, seeds[:1]):
        problem = starved(case.problem)
        best = Case(problem, case.name).best
        _expect(
            best is not None or not problem.always_feasible, case.name, "nothing is feasible, but something always is"
        )
        infeasible |= best is None
        for route in _routes(problem):
            _right(problem, solve(problem, route=route), best, f"{case.name}, without room, route {route}")
    told = "no instance without room is infeasible; name a variant of which some is"
    _expect(infeasible or record.problem_class.always_feasible, record.problem, told)


@_check()
def check_no_time(record: Record, seeds: Sequence[int]) -> None:
    """A limit of no time leaves what is true: a feasible decision or none, a bound or none, and the limit's name."""
    for case in cases(record, seeds):
        problem = case.problem
        for route in _routes(problem):
            solution, where = solve(problem, route=route, time_limit=0), f"{case.name}, no time, route {route}"
            if solution.termination in (Termination.OPTIMAL, Termination.INFEASIBLE):
                _right(problem, solution, case.best, where)
                continue
            _expect(solution.limit is Limit.TIME, where, f"limit {solution.limit}")
            verdict = certify(problem, solution, enumerated=Enumerated(case.best))
            _expect(verdict.valid, where, f"contradicted: {'; '.join(verdict.contradicted)}")
            if case.best is not None:
                place = problem.beaten(case.best, solution.bound)
                _expect(place is None, where, f"bound {solution.bound}, optimum {_told(case.best)}")
        if has_frontier(problem):
            found = frontier(problem, time_limit=0)
            _expect(set(found.values) <= set(case.front), case.name, f"no time, frontier {found.values}")
            _expect(found.complete == (found.values == case.front), case.name, "no time: complete is not what it is")


# More than one value -----------------------------------------------------------------------------------------------


@_check(lambda record: record.frontier)
def check_frontier(record: Record, seeds: Sequence[int]) -> None:
    """Every route finds all Pareto-optimal points, each with a decision that is worth it and its certificates."""
    for case in cases(record, seeds):
        problem = case.problem
        for route in _routes(problem):
            found, where = frontier(problem, route=route), f"{case.name}, frontier by {route}"
            _expect(found.complete, where, f"is not complete: {found.limit}")
            _expect(found.values == case.front, where, f"{found.values}, not {case.front}")
            for point in found:
                _expect(problem.evaluate(point.placement) == point.objective, where, "a point is worth something else")
            names = [component.name for component in problem.components]
            for number, point in enumerate(found):
                # The first certificate is about what is as good as the point before in the second component: what is
                # worse in the first is not, or what is better in the second is not where the first is better.
                before = found[max(0, number - 1)].objective
                claims = [(certificate.component, certificate.claim) for certificate in point.certificates]
                true = [(names[0], point.objective[0])], [(names[1], point.objective[1])]
                true[0].extend([(names[1], before[1])] if number else [])
                for claim, allowed in zip(claims, true, strict=True):
                    _expect(claim in allowed, where, f"a certificate claims {_told(claim)}, not {_told(allowed[-1])}")
                for value, certificate in zip((before, point.objective), point.certificates, strict=True):
                    if certificate.kind.checkable:
                        proved = proved_bound(problem, certificate, value)
                        told = f"proves {proved}, claimed {certificate.claim}"
                        _expect(proved >= certificate.claim, where, told)


@_check(lambda record: bool(record.problem_class.has_waves))
def check_waves(record: Record, seeds: Sequence[int]) -> None:
    """Wave after wave each is optimal by its own reference where the heuristic is the optimum, until all tasks ran."""

    def optimal(problem: Problem, rng: np.random.Generator) -> Any:
        return solve(problem).decision

    for case in cases(record, seeds):
        problem = _placing(case)
        reports = gap_waves(record.name, problem.instance, optimal, problem_parameters=dict(problem.parameters))
        _expect(bool(reports), case.name, "no wave at all")
        for report in reports:
            where = f"{case.name}, wave {report.wave}"
            _expect(report.error is None and report.feasible, where, f"{report.error}, {report.violations}")
            if report.wave is not None:
                _expect(set(report.absolute_gap or ()) <= {0}, where, f"the optimum has a gap: {report.absolute_gap}")
        first = reports[0]
        _expect(first.objective == case.best, case.name, f"the first wave is worth {_told(first.objective)}")
        ran = sum(report.run.placement.placed for report in reports if report.wave is not None and report.run.placement)
        stuck = not problem.due
        _expect(stuck or ran == len(problem.tasks), case.name, f"{ran} of {len(problem.tasks)} tasks ran")


@_check(_places)
def check_heuristics(record: Record, seeds: Sequence[int]) -> None:
    """No heuristic and no rival beats the optimum, and each heuristic that serves the problem answers a placement."""
    for case in cases(record, seeds):
        problem = _placing(case)
        if case.best is None:
            continue
        reference = Reference(problem, solution=solve(problem))
        for entry in applicable(problem, by_default=True):
            try:
                report = gap_of(problem, run(problem, entry, seed=1), 1, reference)
            except BoundViolated as error:
                raise ContractBroken(f"{case.name}, {entry.name}: {error}") from error
            _expect(report.error is None, case.name, f"{entry.name}: {report.error}")
            if report.feasible and report.objective is not None:
                value = problem.minimised(report.objective)
                _expect(value in case.decisions, case.name, f"{entry.name}: {_told(report.objective)} is no value")
    for rival in record.rivals:
        if ":" in rival:
            for case in cases(record, seeds):
                found = imported(rival)(case.problem)
                wrong = [] if found is None else case.problem.violations(found)
                _expect(not wrong, case.name, f"{rival}: {'; '.join(map(str, wrong))}")
