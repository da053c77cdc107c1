"""Contract checks of certificates: none proves more than is true, and each kind of proof has a prover."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from optsched.certificates import Enumerated, certify, proved_bound
from optsched.core.arrays import plain
from optsched.core.errors import CertificateInvalid
from optsched.core.registry import Record
from optsched.core.results import Certificate, Proof, Sense, Solution
from optsched.routes import routes_of
from optsched.testing.cases import Case, cases
from optsched.testing.contract import ContractBroken, check, expect, is_beyond, listed, solved, with_usual

__all__ = ["tampered"]


@check()
def check_certificates(record: Record, seeds: Sequence[int]) -> None:
    """No changed certificate proves more than the truth. False values, bounds and decisions are rejected."""
    for case in cases(record, seeds):
        if case.best is None:
            continue
        seen = set()
        for route in routes_of(case.problem):
            solution = solved(case, route)
            for given in solution.certificates:
                text = f"gives a proof of kind {given.kind}, for which the record names no prover"
                expect(
                    not given.kind.checkable or str(given.kind) in record.provers, f"{case.name}, route {route}", text
                )
            _false_claims(case, solution, f"{case.name}, route {route}")
            for position, certificate in enumerate(solution.certificates):
                if certificate.kind.checkable and repr(certificate) not in seen:
                    seen.add(repr(certificate))
                    _no_more(case, solution, position, certificate)
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
    if record.routes is None:  # nothing but enumeration, which is no proof that can be checked
        return
    kind = record.problem_class.proof
    held = cases(record, with_usual(seeds))
    usual = [(entry.component, entry.kind) for case in held for entry in solved(case).certificates]
    for component in record.problem_class.components:
        message = f"the usual route gives no certificate of {component.name} of kind {kind} anywhere"
        expect((component.name, kind) in usual, record.problem, message)
    seen = {str(proof) for _, proof in usual}
    for key in set(record.provers) - seen:
        given = (
            str(entry.kind)
            for case in held
            for route in routes_of(case.problem)
            for entry in solved(case, route).certificates
        )
        expect(
            key in given,
            record.problem,
            f"no route gives a certificate for the prover of kind {key}",
        )


def _no_more(case: Case, solution: Solution, position: int, certificate: Certificate, count: int = 40) -> None:
    """Changed data is refused, or proves no more than the truth."""
    rng = np.random.default_rng(position)
    beyond = certificate.claim + (1 if case.problem.components[position].sense is Sense.MIN else -1)
    for data in tampered(certificate.data, rng, count):
        try:
            proved = proved_bound(case.problem, replace(certificate, data=data, claim=beyond), solution.objective)
        except CertificateInvalid:
            continue
        message = f"of {certificate.component} {data} proves {proved}, the optimum is {listed(case.best)}"
        expect(not is_beyond(case, position, proved), case.name, message)


def _false_claims(case: Case, solution: Solution, where: str) -> None:
    """A better value, a better bound and a worse decision are each contradicted."""
    problem = case.problem
    assert solution.objective is not None
    for position, component in enumerate(problem.components):
        step = 1 if component.sense is Sense.MIN else -1
        for entry in ("objective", "bound", "both"):
            lied: dict[str, Any] = {}
            for name, direction in (("objective", -step), ("bound", step)):
                if entry == name:
                    values = list(getattr(solution, name))
                    values[position] += direction
                    lied[name] = tuple(values)
            if entry == "both":
                values = list(solution.objective)
                values[position] -= step
                lied = {"objective": tuple(values), "bound": tuple(values)}
            claims = dict(
                zip((part.name for part in problem.components), lied.get("bound", solution.bound), strict=True)
            )
            lied["certificates"] = tuple(
                replace(certificate, claim=claims[certificate.component]) for certificate in solution.certificates
            )
            verdict = certify(problem, replace(solution, **lied), enumerated=Enumerated(case.best))
            expect(not verdict.valid, where, f"accepts a false {entry} of {component.name}")
    for minimised, decision in list(case.decisions.items())[1:2]:
        value = problem.minimised(minimised)
        verdict = certify(problem, replace(solution, decision=decision))
        expect(not verdict.valid, where, "accepts a decision of another value")
        claims = dict(zip((part.name for part in problem.components), value, strict=True))
        called = tuple(replace(entry, claim=claims[entry.component]) for entry in solution.certificates)
        false = replace(solution, decision=decision, objective=value, bound=value, certificates=called)
        expect(not certify(problem, false).proved, where, f"{listed(value)} is proved to be the optimum")


# Data of a certificate with something changed in it: numbers, names, entries, types ---------------------------------

_STRANGE: tuple[Any, ...] = (None, True, "1", [], {}, 2**53, -(2**53), 2**60)


def tampered(data: Mapping[str, Any], rng: np.random.Generator, count: int) -> Iterator[dict[str, Any]]:
    """`count` copies of a certificate's data, each changed in one to three places."""
    if not data:
        return
    for _ in range(count):
        changed = copy.deepcopy(plain(data))
        for _ in range(int(rng.integers(1, 4))):
            _change(changed, rng)
        yield changed


def _change(data: Any, rng: np.random.Generator) -> None:
    """Change something somewhere in a container."""
    held = data
    while True:
        keys = list(held) if isinstance(held, dict) else list(range(len(held)))
        if not keys:
            return
        key = keys[int(rng.integers(len(keys)))]
        inner = held[key]
        if not isinstance(inner, dict | list) or not inner or rng.random() < 0.3:
            break
        held = inner
    inner, other = held[key], keys[int(rng.integers(len(keys)))]
    if isinstance(inner, int | float) and not isinstance(inner, bool) and rng.random() < 0.7:
        step = int(rng.choice([1, -1, 7, -7, 1000, -1000]))
        held[key] = [inner + step, inner * 2, -inner, 0][int(rng.choice([0, 0, 0, 1, 2, 3]))]
    elif isinstance(inner, dict | list) and rng.random() < 0.5:
        held[key] = _all_numbers(inner, int(rng.choice([1, -1, 1000])))
    else:
        match int(rng.integers(4)):
            case 0:
                held.pop(key)
            case 1:
                held[key], held[other] = held[other], held[key]
            case 2:
                held[key] = copy.deepcopy(held[other])
            case _:
                held[key] = copy.deepcopy(_STRANGE[int(rng.integers(len(_STRANGE)))])


def _all_numbers(value: Any, step: int) -> Any:
    """All whole numbers in something, each raised by as much."""
    if isinstance(value, dict):
        return {key: _all_numbers(entry, step) for key, entry in value.items()}
    if isinstance(value, list):
        return [_all_numbers(entry, step) for entry in value]
    return value + step if isinstance(value, int) and not isinstance(value, bool) else value
