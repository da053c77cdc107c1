"""A tree of cases over a problem's own program: a `dual` proof of any component of any `Programmed` problem.

The checker makes the program anew from the instance. Of a class of another package it first holds the program against
the class's `objective` and `violations`, on every placement of a small instance and on samples of a large one.
"""

from __future__ import annotations

import math
from typing import Any

from optsched.certificates.reading import integer, items
from optsched.certificates.trees import Tree, over_rows, rows_bound
from optsched.core.errors import CertificateInvalid
from optsched.core.results import Certificate, Number, Proof, Value
from optsched.problems.base import exact
from optsched.problems.programs import Program, fault_of, samples

__all__ = ["checked_program", "program_certificate", "program_proof"]

#: More units than any value has.
_BEYOND = 2**60


def program_certificate(problem: Any, program: Program, before: tuple[int, ...], tree: Tree, bound: int) -> Certificate:
    """The certificate that a tree makes of a component.

    Parameters
    ----------
    program, before
        The program, and what it was made with: the components before, in units of their programs.
    tree, bound
        Proves that nothing in the program costs less than `bound` units.
    """
    names = program.names
    data = over_rows(tree, names.__getitem__)
    component = problem.components[program.component].name
    return Certificate(component, Proof.DUAL, exact(bound, program.unit), {"before": list(before), **data})


def program_proof(problem: Any, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's tree proves; of a later component given the earlier ones of `objective`."""
    data = certificate.data
    before = tuple(integer({"before": entry}, "before") for entry in items(data, "before"))
    position = len(before)
    names = [component.name for component in problem.components]
    if position >= len(names) or names[position] != certificate.component:
        raise CertificateInvalid(f"before: {position} components go before, which is not so of {certificate.component}")
    program = checked_program(problem, before)
    for number, units in enumerate(before):
        held = None if objective is None else objective[number] * problem.program(before[:number]).unit
        if held is None or held > units:
            raise CertificateInvalid(f"before: a proof for a {names[number]} of {units} units says nothing of {held}")
    limit = math.ceil(certificate.claim * program.unit)
    limit = max(-_BEYOND, min(limit, _BEYOND))
    return exact(rows_bound(data, program.whole, limit, program.names), program.unit)


def checked_program(problem: Any, before: tuple[int, ...], around: Any = None) -> Program:
    """The program of a problem; that of a class of another package is held against the class's definition.

    Raises
    ------
    CertificateInvalid
        If the program lacks a feasible placement, or counts one at more than it costs.
    """
    program: Program = problem.program(before)
    if not type(problem).__module__.startswith("optsched."):
        fault = fault_of(problem, before, samples(problem, around))
        if fault is not None:
            raise CertificateInvalid(f"{problem.name}: {fault}")
    return program
