"""Proofs of bounds, checked in integers and fractions, without the solver that found them.

The checker shares with whoever produced a solution only the nouns and `problems`: a wrong price can make a bound weak,
never wrong. `dual` certificates hold the prices of an assignment problem or of capacities, or the potentials of a flow;
`combinatorial` ones a cover of servers that limits how many tasks of a `latency` problem can be local. Every other kind
(`enumeration`, `agreement`, `solver`) is somebody's word: it is reported as such, never as a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from optsched.errors import CertificateInvalid
from optsched.instance import LARGEST, Bools, Ints
from optsched.problems import AnyProblem, GeneralizedAssignment, Latency, MinCostFlow
from optsched.problems.assignment import AssignmentProblem
from optsched.problems.base import exact
from optsched.results import Certificate, Component, Number, Proof, Sense, Solution, Termination, Value

__all__ = [
    "Check",
    "Verdict",
    "capacity_certificate",
    "certify",
    "cover_certificate",
    "potential_certificate",
    "price_certificate",
    "proved_bound",
]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: what, whether it holds, and what was found."""

    what: str
    holds: bool
    found: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What certifying a solution gave.

    Attributes
    ----------
    checks
        Everything that was checked, in order.
    unproved
        Claims that rest on somebody's word, as sentences.
    """

    checks: tuple[Check, ...]
    unproved: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Whether no claim is false."""
        return all(check.holds for check in self.checks)

    @property
    def proved(self) -> bool:
        """Whether every claim was proved here: nothing is false, nothing rests on a word."""
        return self.valid and not self.unproved

    def raise_if_invalid(self) -> None:
        """Raise CertificateInvalid that names every false claim."""
        false = [f"{check.what}: {check.found}" for check in self.checks if not check.holds]
        if false:
            raise CertificateInvalid("\n".join(false))

    def __str__(self) -> str:
        lines = [f"{'ok   ' if check.holds else 'FALSE'} {check.what}: {check.found}" for check in self.checks]
        return "\n".join([*lines, *(f"word  {sentence}" for sentence in self.unproved)])


def certify(problem: AnyProblem, solution: Solution) -> Verdict:
    """Check a solution: right instance, feasible placement, true value, proved bounds, honest termination.

    Parameters
    ----------
    problem
        The problem, posed afresh on the instance.
    solution
        What somebody claims, from `solve` or from a solution file.

    Returns
    -------
    Verdict
        `valid` unless a claim is false; `proved` if, beyond that, no bound rests on a solver's word.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Lsap
    >>> problem = Lsap(Instance(Cluster(["a"]), Workload(["t"])))
    >>> nothing = Certificate("locality-cost", Proof.DUAL, 1, {"task_price": 1, "node_prices": {}, "pool_prices": {}})
    >>> solution = Solution(
    ...     "lsap", {}, problem.instance.sha256, problem.placement([0]), (1,), (1,), Termination.OPTIMAL, None,
    ...     (nothing,), "by hand", 0.0, 0.0, {}, "")
    >>> certify(problem, solution).proved
    True
    """
    checks: list[Check] = []
    unproved: list[str] = []

    def check(what: str, holds: bool, found: str) -> None:
        checks.append(Check(what, holds, found))

    check("problem", solution.problem == problem.name, f'the solution is of "{solution.problem}"')
    digest = problem.instance.sha256
    same = solution.instance_sha256 == digest
    check("instance", same, f"sha256 {digest[:12]}" + ("" if same else f", claimed {solution.instance_sha256[:12]}"))
    differing = problem.differing(solution.parameters)
    check("parameters", not differing, ", ".join(differing) + " differ" if differing else "as posed")
    if not all(entry.holds for entry in checks):
        return Verdict(tuple(checks), ())
    _check_decision(problem, solution, check)
    _check_bounds(problem, solution, check, unproved)
    return Verdict(tuple(checks), tuple(unproved))


def _check_decision(problem: AnyProblem, solution: Solution, check: Callable[[str, bool, str], None]) -> None:
    noun = problem.decided.__name__.lower()
    if solution.decision is None:
        held = solution.objective is None
        check(noun, held, "none" if held else "there is none, but an objective is claimed")
        return
    if not isinstance(solution.decision, problem.decided):
        check(noun, False, f"the decision is a {type(solution.decision).__name__.lower()}")
        return
    violations = problem.violations(solution.decision)
    found = "; ".join(str(violation) for violation in violations[:3]) if violations else "feasible"
    check(noun, not violations, found)
    if not violations:
        value = problem.evaluate(solution.decision)
        check("objective", value == solution.objective, f"the {noun}'s value is {_show(value)}")


def _check_bounds(
    problem: AnyProblem, solution: Solution, check: Callable[[str, bool, str], None], unproved: list[str]
) -> None:
    """Each claimed bound against its certificate, and the termination against objective and bounds."""
    if len(solution.bound) != len(problem.components):
        check("bound", False, f"{len(solution.bound)} entries for {len(problem.components)} components")
        return
    if solution.objective is not None and len(solution.objective) != len(problem.components):
        check("objective", False, f"{len(solution.objective)} entries for {len(problem.components)} components")
        return
    certificates = {certificate.component: certificate for certificate in solution.certificates}
    if len(certificates) < len(solution.certificates):
        check("certificate", False, "a component has more than one")
    known = {component.name for component in problem.components}
    for stranger in sorted(certificates.keys() - known):
        check("certificate", False, f'{problem.name} has no component "{stranger}"')
    for place, (component, claim) in enumerate(zip(problem.components, solution.bound, strict=True)):
        certificate = certificates.get(component.name)
        certified = None if certificate is None else certificate.claim
        if certified != claim:
            claimed, says = ("nothing" if entry is None else entry for entry in (claim, certified))
            check(f"bound of {component.name}", False, f"{claimed} is claimed, but the certificate says {says}")
            continue
        if claim is None or certificate is None:
            continue
        if certificate.kind.checkable:
            _check_proof(problem, solution, component, certificate, check)
        else:
            unproved.append(f"bound {claim} of {component.name} rests on: {certificate.kind}")
        given_earlier = solution.objective is not None and solution.objective[:place] == solution.bound[:place]
        if solution.objective is not None and given_earlier:
            holds = _at_least(component, solution.objective[place], claim)
            check(f"order of {component.name}", holds, f"objective {solution.objective[place]}, bound {claim}")
    _check_termination(problem, solution, check, unproved)


def _check_proof(
    problem: AnyProblem,
    solution: Solution,
    component: Component,
    certificate: Certificate,
    check: Callable[[str, bool, str], None],
) -> None:
    what = f"{certificate.kind} proof of {component.name}"
    try:
        value = proved_bound(problem, certificate, solution.objective)
    except CertificateInvalid as error:
        check(what, False, str(error))
        return
    check(what, _at_least(component, value, certificate.claim), f"proves {value}, claimed {certificate.claim}")


def _check_termination(
    problem: AnyProblem, solution: Solution, check: Callable[[str, bool, str], None], unproved: list[str]
) -> None:
    closed = solution.objective is not None and solution.objective == solution.bound
    optimal = solution.termination is Termination.OPTIMAL
    if optimal or closed:
        check("termination", optimal == closed, f"{solution.termination}, {'closed' if closed else 'a gap is left'}")
    elif solution.termination is Termination.INFEASIBLE:
        noun = problem.decided.__name__.lower()
        if problem.always_feasible or solution.decision is not None:
            told = "there is one" if solution.decision is not None else f"{problem.name} always has a feasible one"
            check("termination", False, f"INFEASIBLE: no {noun}, but {told}")
        elif isinstance(problem, GeneralizedAssignment) and len(problem.stranded):
            task = problem.instance.workload.task_ids[problem.tasks[problem.stranded[0]]]
            check("termination", True, f"INFEASIBLE: {task} fits on no node that it may use")
        elif isinstance(problem, MinCostFlow) and problem.cut_off:
            node = problem.instance.node_ids[problem.cut_off[0]]
            check("termination", True, f"INFEASIBLE: no arc can take what is left to send of {node}")
        else:
            unproved.append(f"that there is no feasible {noun} rests on: {Proof.SOLVER}")
    elif solution.termination is Termination.FEASIBLE and solution.decision is None:
        check("termination", False, f"FEASIBLE, but there is no {problem.decided.__name__.lower()}")


def _at_least(component: Component, value: Number, claim: Number) -> bool:
    """Whether `value` is on the feasible side of `claim`."""
    return value >= claim if component.sense is Sense.MIN else value <= claim


def _show(value: Value) -> str:
    return ", ".join(str(entry) for entry in value)


def proved_bound(problem: AnyProblem, certificate: Certificate, objective: Value | None = None) -> Number:
    """The bound that a certificate proves, recomputed from its data; nothing it claims is believed.

    Parameters
    ----------
    problem, certificate
        What it is about, of a kind that can be checked.
    objective
        Value of the placement that it comes with: the earlier components of it are what a proof of a later one takes
        as given.

    Raises
    ------
    CertificateInvalid
        If the data is not what its kind needs, or the kind cannot be checked for the problem.
    """
    if certificate.kind is Proof.DUAL and isinstance(problem, AssignmentProblem):
        return _price_proof(problem, certificate.data)
    if certificate.kind is Proof.DUAL and isinstance(problem, GeneralizedAssignment):
        return _capacity_proof(problem, certificate.data)
    if certificate.kind is Proof.DUAL and isinstance(problem, MinCostFlow):
        return _potential_proof(problem, certificate.data)
    if certificate.kind is Proof.COMBINATORIAL and isinstance(problem, Latency):
        return _cover_proof(problem, certificate, objective)
    raise CertificateInvalid(f"{problem.name} has no proof of kind {certificate.kind}")


# Prices of an assignment problem ---------------------------------------------------------------------------------


def price_certificate(problem: AssignmentProblem, task: int, nodes: Ints, pools: Ints) -> Certificate:
    """The certificate that prices make (see `AssignmentProblem.price_bound`); it claims just what they prove."""
    ids = problem.instance.cluster.node_ids
    data = {
        "task_price": int(task),
        "node_prices": {str(ids[node]): int(nodes[node]) for node in np.flatnonzero(nodes).tolist()},
        "pool_prices": {
            pool.name: int(price) for pool, price in zip(problem.pools, pools.tolist(), strict=True) if price
        },
        "unit": f"1/{problem.grid}" if problem.grid > 1 else "1",
    }
    claim = exact(problem.price_bound(task, nodes, pools), problem.grid)
    return Certificate(problem.components[0].name, Proof.DUAL, claim, data)


def _price_proof(problem: AssignmentProblem, data: Mapping[str, Any]) -> Number:
    task = _integer(data, "task_price")
    nodes = np.zeros(len(problem.capacity), dtype=np.int64)
    prices = _mapping(data, "node_prices")
    for node in prices:
        if node not in problem.instance.node_index:
            raise CertificateInvalid(f'node_prices: there is no node "{node}"')
        nodes[problem.instance.node_index[node]] = _integer(prices, node)
    pools = np.zeros(len(problem.pools), dtype=np.int64)
    place = {pool.name: position for position, pool in enumerate(problem.pools)}
    prices = _mapping(data, "pool_prices")
    for pool in prices:
        if pool not in place:
            raise CertificateInvalid(f'pool_prices: there is no pool "{pool}"')
        pools[place[pool]] = _integer(prices, pool)
    return exact(problem.price_bound(task, nodes, pools), problem.grid)


def _mapping(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key)
    if not isinstance(value, Mapping):
        raise CertificateInvalid(f"{key}: must be an object, not {value!r}")
    return value


def _integer(data: Mapping[str, Any], key: str) -> int:
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST:
        raise CertificateInvalid(f"{key}: must be an integer up to 2^53, not {value!r}")
    return value


# Covers of a latency problem -------------------------------------------------------------------------------------


def cover_certificate(problem: Latency, component: str, claim: int, limit: int, cover: Bools) -> Certificate:
    """The certificate that a cover of servers makes at a limit on the makespan (`Latency.least_remote`).

    For the makespan, `limit` is the largest value that the cover rules out; for the work, the makespan that is given.
    """
    ids = problem.instance.cluster.node_ids
    data = {"limit": int(limit), "cover": [str(ids[node]) for node in np.flatnonzero(cover).tolist()]}
    return Certificate(component, Proof.COMBINATORIAL, int(claim), data)


def _cover_proof(problem: Latency, certificate: Certificate, objective: Value | None) -> Number:
    limit = _integer(certificate.data, "limit")
    named = certificate.data.get("cover")
    if not isinstance(named, list):
        raise CertificateInvalid(f"cover: must be a list of servers, not {named!r}")
    cover = np.zeros(len(problem.initial_load), dtype=bool)
    for server in named:
        if not isinstance(server, str) or server not in problem.instance.node_index:
            raise CertificateInvalid(f"cover: there is no server {server!r}")
        cover[problem.instance.node_index[server]] = True
    remote = problem.least_remote(limit, cover)
    if certificate.component == "makespan":
        ruled_out = bool(len(problem.tasks)) and not problem.fits(limit, remote)
        return limit + 1 if ruled_out else 0
    if objective is None or objective[0] > limit:
        raise CertificateInvalid(f"limit: a proof for makespans up to {limit} says nothing of this placement's")
    return problem.w_loc * (len(problem.tasks) - remote) + problem.w_rem * remote


# Prices of capacities --------------------------------------------------------------------------------------------


def capacity_certificate(problem: GeneralizedAssignment, prices: Ints, scale: int) -> Certificate:
    """The certificate that prices make (`GeneralizedAssignment.price_bound`); it claims just what they prove."""
    ids = problem.instance.cluster.node_ids
    data = {
        "prices": {
            resource: {str(ids[node]): int(row[node]) for node in np.flatnonzero(row).tolist()}
            for resource, row in zip(problem.resources, prices, strict=True)
        },
        "scale": scale,
    }
    return Certificate("cost", Proof.DUAL, exact(problem.price_bound(prices, scale), problem.grid), data)


def _capacity_proof(problem: GeneralizedAssignment, data: Mapping[str, Any]) -> Number:
    scale = _integer(data, "scale")
    if scale < 1:
        raise CertificateInvalid(f"scale: must be above 0, not {scale}")
    prices = np.zeros_like(problem.capacity)
    given = _mapping(data, "prices")
    for resource in given:
        if resource not in problem.resources:
            raise CertificateInvalid(f'prices: there is no resource "{resource}"')
        row = _mapping(given, resource)
        for node in row:
            if node not in problem.instance.node_index:
                raise CertificateInvalid(f'prices.{resource}: there is no node "{node}"')
            prices[problem.resources.index(resource), problem.instance.node_index[node]] = _integer(row, node)
    return exact(problem.price_bound(prices, scale), problem.grid)


# Potentials of a flow --------------------------------------------------------------------------------------------


def potential_certificate(problem: MinCostFlow, potentials: Ints) -> Certificate | None:
    """The certificate that potentials make (`MinCostFlow.potential_bound`).

    None where they prove nothing, or one is past 2^53, which no certificate may hold.
    """
    if any(abs(value) > LARGEST for value in np.asarray(potentials).tolist()):
        return None
    claim = problem.potential_bound(potentials)
    if claim is None:
        return None
    names = problem.instance.node_ids
    data = {"potentials": {str(names[node]): int(potentials[node]) for node in np.flatnonzero(potentials).tolist()}}
    return Certificate("cost", Proof.DUAL, claim, data)


def _potential_proof(problem: MinCostFlow, data: Mapping[str, Any]) -> Number:
    given = _mapping(data, "potentials")
    potentials = [0] * len(problem.instance)
    for node in given:
        if node not in problem.instance.node_index:
            raise CertificateInvalid(f'potentials: there is no node "{node}"')
        potentials[problem.instance.node_index[node]] = _integer(given, node)
    bound = problem.potential_bound(potentials)
    if bound is None:
        raise CertificateInvalid("potentials: an arc without limit has a negative reduced cost, so they prove nothing")
    return bound
