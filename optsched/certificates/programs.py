"""`dual` certificates of any problem with an integer program (`Programmed`): a tree of cases with multipliers.

The checker builds the program again from the instance. For a class of another package it first checks the program
against the class's `objective` and `violations`: on every placement of a small instance, else on a walk from the
decision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from optsched.certificates.reading import items, number, written
from optsched.certificates.trees import Tree, over_rows, rows_bound
from optsched.core.errors import CertificateInvalid
from optsched.core.results import Certificate, Number, Proof, Value
from optsched.problems.base import exact
from optsched.problems.foreign import is_shipped
from optsched.problems.program_audit import fault_of, samples
from optsched.problems.programs import Limited, Program, limit_unit
from optsched.problems.relaxations import IntegerProgram

#: More units than any value has.
_BEYOND = 2**60


def program_certificate(
    problem: Any, program: Program, before: tuple[Number, ...], tree: Tree, bound: int
) -> Certificate:
    """The certificate of a component by a tree that proves that nothing in the program costs less than `bound` units.

    `before` is the argument of the program: the earlier components, in units of their programs.
    """
    data = {"before": list(map(written, before)), **over_rows(tree, program.names.__getitem__)}
    return Certificate(problem.components[program.component].name, Proof.DUAL, exact(bound, program.unit), data)


def without_costs(program: IntegerProgram) -> IntegerProgram:
    """The same program without costs: if it is empty, its least cost is 1 or more."""
    return replace(program, objective=np.zeros_like(program.objective))


def limit_certificate(problem: Any, claim: Number, program: Program, tree: Tree) -> Certificate:
    """The certificate for a tree that proves a limit: the program with the value below the claim is empty."""
    data = over_rows(tree, program.names.__getitem__)
    return Certificate(problem.components[0].name, Proof.DUAL, claim, {"before": [], **data})


def program_proof(problem: Any, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's tree proves; for a later component, given the earlier ones of `objective`."""
    data = certificate.data
    if "before" not in data:
        raise CertificateInvalid("before: is missing; a proof of an earlier form is no longer read: solve again")
    before = tuple(number({"before": entry}, "before") for entry in items(data, "before"))
    position = len(before)
    names = [component.name for component in problem.components]
    if position >= len(names) or names[position] != certificate.component:
        raise CertificateInvalid(f"before: {position} components go before, unlike for {certificate.component}")
    limited = isinstance(problem, Limited)
    if limited and not before:
        program = program_below(problem, certificate.claim)
        settled = rows_bound(data, without_costs(program.numbers), 1, program.names) >= 1
        return certificate.claim if settled else -_BEYOND * limit_unit(problem)
    program = checked_program(problem, before)
    for place, units in enumerate(before):
        unit = limit_unit(problem) if limited else problem.program(before[:place]).unit
        held = None if objective is None else objective[place] * unit
        if held is None or held > units:
            raise CertificateInvalid(f"before: a proof for a {names[place]} of {units} units does not apply to {held}")
    limit = math.ceil(certificate.claim * program.unit)
    limit = max(-_BEYOND, min(limit, _BEYOND))
    return exact(rows_bound(data, program.numbers, limit, program.names), program.unit)


def program_below(problem: Any, claim: Number, around: Any = None) -> Program:
    """The program with the value below a claim (`Limited`); for another package's class that value is checked.

    CertificateInvalid as for `checked_program`, or if a placement has a value between the two.
    """
    unit = limit_unit(problem)
    below = problem.value_below(claim * unit)
    program = checked_program(problem, (below,), around)
    for placement in () if is_shipped(problem) else samples(problem, around):
        if problem.violations(placement):
            continue
        value = problem.evaluate(placement)[0]
        if below < value * unit < claim * unit:
            low, high = sorted((below * unit, claim))
            message = f"a placement has {value}, though none should be above {low} and below {high}"
            raise CertificateInvalid(f"{problem.name}: {problem.components[0].name}: {message}")
    return program


def check_programs(problem: Any, decision: Any, bound: Sequence[Number | None]) -> None:
    """Hold the programs of another package's class against its definition, near a decision that attains some bounds.

    CertificateInvalid as of `checked_program`, of the first component's program and of each one after a bound that is
    attained.
    """
    before: tuple[Number, ...] = ()
    for position, (value, claim) in enumerate(zip(problem.evaluate(decision), bound, strict=True)):
        if claim is None:
            return
        limited = isinstance(problem, Limited) and not position
        if limited:
            program_below(problem, claim, decision)
        else:
            checked_program(problem, before, decision)
        if value != claim:
            return
        before += (exact(value * (limit_unit(problem) if limited else problem.program(before).unit)),)


def checked_program(problem: Any, before: tuple[Number, ...], around: Any = None) -> Program:
    """The program of a problem; for another package's class it is checked against the class's definition.

    CertificateInvalid if they disagree on a placement.
    """
    program: Program = problem.program(before)
    if not is_shipped(problem):
        fault = fault_of(problem, before, samples(problem, around), around)
        if fault is not None:
            raise CertificateInvalid(f"{problem.name}: {fault}")
    return program
