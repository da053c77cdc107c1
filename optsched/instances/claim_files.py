"""Any file of claims: a solution, a frontier, an ordered vector of utilities; its own `format` says which."""

from __future__ import annotations

import os
import re

from optsched.errors import Fault, InputError, expect
from optsched.fronts import Frontier, Leximin
from optsched.instance import Instance
from optsched.instances.files import content
from optsched.instances.frontier_files import parse_frontier
from optsched.instances.leximin_files import parse_leximin
from optsched.instances.solution_files import parse_solution
from optsched.network import FlowNetwork
from optsched.results import Solution

__all__ = ["read_claim"]

#: So many bytes from the beginning are looked at for it.
_BEGIN = 65536

#: What files of the other two say of themselves, in whatever version.
_OTHERS = re.compile(rb'"format"\s*:\s*"optsched-(frontier|leximin)/')


def read_claim(path: str | os.PathLike[str], instance: Instance | FlowNetwork) -> Solution | Frontier | Leximin:
    """Read a solution, a frontier or an ordered vector of utilities.

    Parameters
    ----------
    path
        The file.
    instance
        What it should be of.

    Raises
    ------
    InputError
        If the file is missing, unreadable, of none of these formats, or wrong; lists every fault with its place.
    """
    expect(path, (str, os.PathLike), "read_claim takes a path")
    expect(instance, (Instance, FlowNetwork), "read_claim takes an instance or a flow network")
    text, source = content(path), os.fspath(path)
    told = _OTHERS.search(text[:_BEGIN])
    if told is None:
        return parse_solution(text, instance, source)
    if not isinstance(instance, Instance):
        raise InputError([Fault("format", "it is of an instance, and this is a flow network")], source)
    parse = parse_frontier if told[1] == b"frontier" else parse_leximin
    return parse(text, instance, source)
