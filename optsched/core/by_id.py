"""Maps and lists by id (`ById`, `Chosen`), kept as arrays: certificates use them for nodes and tasks.

A certificate of a large instance has a price for each of many nodes. Who makes it and who checks it have arrays; only a
file and a reader want names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from optsched.core.arrays import Bools, Ints, Strings, read_only

__all__ = ["ById", "Chosen", "plain"]


class _Picked:
    """Some of the ids of a column: `positions` (int64, increasing) in `ids`.

    `ids` is the whole column, such as `instance.cluster.node_ids`, shared with its owner. By being the same array it
    tells who reads these that the positions are in their own column.
    """

    def __init__(self, ids: Strings, positions: npt.ArrayLike) -> None:
        self.ids, self.positions = ids, read_only(positions, np.int64)
        at = self.positions
        increasing = at.ndim == 1 and bool((at[1:] > at[:-1]).all())
        if not increasing or (at.size and not (at[0] >= 0 and at[-1] < len(ids))):
            raise ValueError(f"give increasing positions below {len(ids)}, the number of ids")

    def names(self) -> list[str]:
        """The ids."""
        named: list[str] = self.ids[self.positions].tolist() if len(self.positions) else []
        return named

    def __len__(self) -> int:
        return len(self.positions)

    def _own(self) -> tuple[Strings, Ints]:
        """The same by themselves, for another process: without the ids that are not meant."""
        return self.ids[self.positions], np.arange(len(self.positions))


class ById(_Picked, Mapping[str, int]):
    """Whole numbers by id: a mapping over the arrays `positions` (increasing, in the column `ids`) and `numbers`.

    Both are int64 and of one length. ValueError if positions do not increase, there is no id at one, or numbers are
    more or fewer than these.

    >>> prices = ById.nonzero(np.array(["n1", "n2", "n3"]), np.array([0, 4, 1]))
    >>> prices, prices["n2"], prices.positions.tolist()
    ({'n2': 4, 'n3': 1}, 4, [1, 2])
    """

    def __init__(self, ids: Strings, positions: npt.ArrayLike, numbers: npt.ArrayLike) -> None:
        super().__init__(ids, positions)
        self.numbers = read_only(numbers, np.int64)
        if self.numbers.shape != self.positions.shape:
            raise ValueError(f"give a number for each of {len(self.positions)} ids")
        self._table: dict[str, int] | None = None

    @classmethod
    def nonzero(cls, ids: Strings, column: Ints) -> ById:
        """The entries that are not 0 of a column with a number for each id."""
        held = np.flatnonzero(column)
        return cls(ids, held, column[held])

    def column(self) -> Ints:
        """A number for each of `ids`, 0 where there is none: int64."""
        found = np.zeros(len(self.ids), dtype=np.int64)
        found[self.positions] = self.numbers
        return found

    @property
    def _positions_by_id(self) -> dict[str, int]:
        if self._table is None:
            self._table = dict(zip(self.names(), self.numbers.tolist(), strict=True))
        return self._table

    def __getitem__(self, name: str) -> int:
        return self._positions_by_id[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._positions_by_id)

    def __repr__(self) -> str:
        return repr(self._positions_by_id)

    def __reduce__(self) -> tuple[Any, ...]:
        return ById, (*self._own(), self.numbers)


class Chosen(_Picked, Sequence[str]):
    """A list of ids over the array `positions`; parameters as of `ById`.

    >>> cover = Chosen.where(np.array(["n1", "n2", "n3"]), np.array([True, False, True]))
    >>> cover, cover == ["n1", "n3"], cover.chosen().tolist()
    (['n1', 'n3'], True, [True, False, True])
    """

    @classmethod
    def where(cls, ids: Strings, chosen: Bools) -> Chosen:
        """The ids for which it holds."""
        return cls(ids, np.flatnonzero(chosen))

    def chosen(self) -> Bools:
        """Whether each of `ids` is meant: bool."""
        found = np.zeros(len(self.ids), dtype=bool)
        found[self.positions] = True
        return found

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        picked: str | list[str] = self.ids[self.positions[at]].tolist()
        return picked

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list | Chosen) and self.names() == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.names())

    def __reduce__(self) -> tuple[Any, ...]:
        return Chosen, self._own()


def plain(value: Any) -> Any:
    """The same made of what JSON has: dictionaries and lists in place of other mappings and sequences.

    >>> plain({"prices": ById.nonzero(np.array(["a", "b"]), np.array([0, 2]))})
    {'prices': {'b': 2}}
    """
    if isinstance(value, ById):
        return dict(value)
    if isinstance(value, Chosen):
        return value.names()
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    return [plain(entry) for entry in value] if isinstance(value, list | tuple) else value
