"""Where a search starts: small random instances of a family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from optsched.errors import InputError, UsageError, nearest
from optsched.instance import Instance
from optsched.instances.files import to_document
from optsched.instances.generate import FAMILIES, generate
from optsched.mining.documents import Document
from optsched.mining.judging import Judge
from optsched.registry import record

__all__ = ["Starts", "starts_of"]

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


class Starts:
    """Small random instances of a family.

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
    """

    def __init__(
        self, family: str, fixed: Mapping[str, Any], sizes: Mapping[str, Any], most: Mapping[str, int]
    ) -> None:
        self.family, self._fixed, self._most = family, dict(fixed), most
        self._sizes = {**sizes, **fixed}

    def draw(self, rng: np.random.Generator) -> Document:
        """The document of one."""
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
        starts = Starts(name, given, missing, most)
        rng = np.random.default_rng(0)
        if any(judge.posed(starts.draw(rng)) is not None for _ in range(_LOOKED_AT)):
            return starts
        assert judge.refused is not None
        refused.append(judge.refused)
    raise UsageError(
        f"no instance of family {names[0]} can be posed as {judge.name} for {judge.choice.entry.name}; choose another "
        f"family: {refused[0].faults[0]}"
    )
