"""Where a search starts: small random instances of a family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from optsched.core.errors import InputError, UsageError, nearest
from optsched.core.instance import Instance
from optsched.core.registry import record
from optsched.instances.files import to_document
from optsched.instances.generate import FAMILIES, generate
from optsched.measuring.mining.documents import Document
from optsched.measuring.mining.judging import Judge

__all__ = ["Starts", "hard_shapes", "starts_of"]

#: Sizes of families that a problem's record names none of.
_SMALL = {
    "nodes": 3,
    "tasks": 4,
    "reduces": 2,
    "jobs": 2,
    "groups": 2,
    "racks": 2,
    "datacenters": 2,
    "replicas": 2,
    "slots": 2,
}

#: The family whose instances have the fields of all problems.
_ALL_FIELDS = "mixed"

#: So many instances are drawn to see whether a family's can be posed.
_LOOKED_AT = 8

#: What says nothing of an instance's data, so that a mined instance is given its own.
_OWN = ("name", "description", "source", "labels")


def hard_shapes(family: str, usual: Mapping[str, Any], nodes: int) -> list[tuple[str, dict[str, Any]]]:
    """Families and all that is set of their instances, on which a greedy rule often fails.

    The family itself is made tight: as many tasks as nodes, one idle slot each, up to three replicas and none lost. So
    is the family of the same problem in which an optimum is planted.

    Parameters
    ----------
    family
        Of a problem.
    usual
        Sizes that make its instances small.
    nodes
        How many nodes there are.

    Examples
    --------
    >>> [name for name, _ in hard_shapes("lsap", {}, 4)]
    ['lsap', 'planted-lsap']
    """
    tight = {"nodes": nodes, "tasks": nodes, "slots": 1, "idle_ratio": 1.0, "replicas": min(3, nodes)}
    tight |= {"lost": 0.0, "remote": 0, "racks": 1}
    shapes = []
    for name, sizes in ((family, usual), (f"planted-{family}", {})):
        known = FAMILIES[name].parameters if name in FAMILIES else {}
        values = {key: value for key, value in {**sizes, **tight}.items() if key in known}
        try:
            if {"nodes", "tasks", "replicas"} <= set(known):
                generate(name, 0, **values)
                shapes.append((name, values))
        except UsageError:  # no such instance is so small
            continue
    return shapes


class Starts:
    """Small random instances of a family, and hard ones, if there are any.

    Parameters
    ----------
    family
        Its name.
    fixed
        Parameters that were given.
    sizes
        Others, that make its instances small; half of them differ in each instance.
    most
        How many records a table may have.
    hard
        Whether there are hard ones as well: of `hard_shapes`.
    """

    def __init__(
        self,
        family: str,
        fixed: Mapping[str, Any],
        sizes: Mapping[str, Any],
        most: Mapping[str, int],
        hard: bool = False,
    ) -> None:
        self.family, self._fixed, self._most = family, dict(fixed), most
        self._sizes = {**sizes, **fixed}
        usual = FAMILIES[family].parameters
        reduces = sizes.get("reduces", usual["reduces"].default if "reduces" in usual else 0)
        widest = min(most["nodes"], most["tasks"] - reduces) if hard else 0
        shapes = [hard_shapes(family, sizes, nodes) for nodes in range(3, widest + 1)]
        self._hard = [found for found in shapes if found]

    def kinds(self, seed: int) -> list[tuple[str, int | list[int]]]:
        """The kinds of instances that there are, each with the seed of its own draws: `usual`, and `hard` ones."""
        kinds: list[tuple[str, int | list[int]]] = [("usual", seed)]
        return [*kinds, ("hard", [seed, 1])] if self._hard else kinds

    def draw(self, rng: np.random.Generator, kind: str = "usual") -> Document:
        """The document of one."""
        if kind == "usual":
            return self._usual(rng)
        shapes = self._hard[rng.integers(len(self._hard))]
        name, values = shapes[rng.integers(len(shapes))]
        return _document(generate(name, int(rng.integers(2**31)), **values))

    def _usual(self, rng: np.random.Generator) -> Document:
        values = dict(self._sizes)
        for name, given in self._sizes.items():
            if name not in self._fixed and type(given) is int and rng.random() < 0.5:
                values[name] = int(rng.integers(1, min(2 * given + 1, self._most.get(name, 2 * given)) + 1))
        seed = int(rng.integers(2**31))
        try:
            drawn = generate(self.family, seed, **values)
        except UsageError:  # sizes that do not go together
            drawn = generate(self.family, seed, **self._sizes)
        if not isinstance(drawn, Instance):
            raise UsageError(f"family {self.family} draws flow networks, for which there are no heuristics")
        return _document(drawn)


def _document(drawn: Any) -> Document:
    """The document of an instance, without what says nothing of its data."""
    return {key: value for key, value in to_document(drawn).items() if key not in _OWN}


def starts_of(judge: Judge, family: str | None, given: Mapping[str, Any], most: Mapping[str, int]) -> Starts:
    """The instances of a family; where none is named, of the problem's own or else of the one with all fields.

    Raises
    ------
    UsageError
        If there is no such family or parameter, or its instances cannot be posed for the heuristic.
    """
    own = record(judge.name)
    if family is not None and family not in FAMILIES:
        raise UsageError(f'no family "{family}"; {nearest(family, list(FAMILIES))}')
    names = [_ALL_FIELDS] if family is None else [family]
    if family is None and own.family is not None:
        # What is given is of the problem's own family.
        names = [own.family] if given else [own.family, _ALL_FIELDS]
    refused: list[InputError] = []
    for name in names:
        known = FAMILIES[name].parameters
        sizes = own.sizes if family is None and name == own.family else _SMALL
        missing = {
            key: value for key, value in sizes.items() if key in known and key not in given and not known[key].later
        }
        starts = Starts(name, given, missing, most, hard=family is None and name == own.family and not given)
        rng = np.random.default_rng(0)
        if any(judge.posed(starts.draw(rng)) is not None for _ in range(_LOOKED_AT)):
            return starts
        assert judge.refused is not None
        refused.append(judge.refused)
    raise UsageError(
        f"no instance of family {names[0]} can be posed as {judge.name} for {judge.choice.entry.name}; choose another "
        f"family: {refused[0].faults[0]}"
    )
