"""Array types: dtypes and limits, read-only copies, ragged rows (`Ragged`), maps and lists by id (`ById`, `Chosen`).

Certificates use the latter, since that of a large instance has a price for each of many nodes. Its maker and its
checker work on arrays; only files and readers need names.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from types import MappingProxyType
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from optsched.core.brief import brief, counted

__all__ = [
    "LARGEST",
    "Bools",
    "ById",
    "Chosen",
    "Floats",
    "Ints",
    "Part",
    "Ragged",
    "Strings",
    "Whole",
    "contains",
    "grouped",
    "joined",
    "places_in",
    "plain",
    "rank_among",
    "read_only",
    "read_only_strings",
]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Strings = npt.NDArray[np.str_]
Bools = npt.NDArray[np.bool_]

#: Larger numbers are refused: beyond it doubles cannot hold every integer.
LARGEST = 2**53

#: From this many values, SciPy turns rows of numbers into columns faster than the sort here.
_MANY = 20_000


def places_in(lengths: Ints) -> Ints:
    """0, 1, 2, ... within each of some runs of entries, one run after another.

    >>> places_in(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)


def rank_among(sorted_values: npt.NDArray[Any]) -> Ints:
    """0, 1, 2, ... among the equal entries of a sorted array.

    >>> rank_among(np.array([4, 4, 7, 9, 9, 9])).tolist()
    [0, 1, 0, 0, 1, 2]
    """
    return np.arange(len(sorted_values)) - np.searchsorted(sorted_values, sorted_values)


def read_only(values: npt.ArrayLike, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """A read-only array of `dtype`; shares memory with `values` if they are already a read-only array of it."""
    array: npt.NDArray[Any] = np.asarray(values, dtype=dtype)
    if array.flags.writeable:
        array = array.copy() if array is values else array
        array.setflags(write=False)
    return array


def read_only_strings(values: npt.ArrayLike) -> Strings:
    """Ids as an array: read-only, contiguous in memory and no wider than the longest."""
    array = np.asarray(values)
    if array.dtype.kind != "U":
        array = np.asarray(values, dtype=np.str_) if array.size else np.zeros(array.shape, dtype="<U1")
    width = max(1, int(np.strings.str_len(array).max(initial=0)))
    array = np.ascontiguousarray(array, dtype=f"=U{width}") if array.ndim else array
    return read_only(array, array.dtype)


def joined(ids: Strings) -> bytes:
    r"""Ids, one a line, in UTF-8.

    >>> joined(np.array(["n1", "n12", "\u00f6"]))
    b'n1\nn12\n\xc3\xb6'
    """
    return "\n".join(ids.tolist()).encode()


def contains(ordered: Ints, wanted: Ints) -> Bools:
    """Whether each of `wanted` is in the increasing array `ordered`.

    >>> contains(np.array([2, 5]), np.array([5, 6])).tolist()
    [True, False]
    """
    if not len(ordered):
        return np.zeros(len(wanted), dtype=bool)
    at = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    found: Bools = ordered[at] == wanted
    return found


def grouped(values: Ints) -> Iterator[tuple[int, Ints]]:
    """Each distinct value, increasing, with its positions, increasing.

    >>> [(value, positions.tolist()) for value, positions in grouped(np.array([7, -1, 7]))]
    [(-1, [1]), (7, [0, 2])]
    """
    order = np.argsort(values, kind="stable")
    found, starts = np.unique(values[order], return_index=True)
    if len(found):
        yield from zip(found.tolist(), np.split(order, starts[1:]), strict=True)


def _counts_before(holds: Bools) -> npt.NDArray[Any]:
    """How many entries of `holds` are true before each one, and in total; in the shortest integers that suffice."""
    counts = np.zeros(len(holds) + 1, dtype=np.int64 if len(holds) >= 2**31 else np.int32)
    np.cumsum(holds, out=counts[1:], dtype=counts.dtype)
    return counts


def _read_only_mapping(entries: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(entries)


# Nouns and results hold read-only mappings, which Python can neither pickle nor copy by itself.
copyreg.pickle(MappingProxyType, lambda mapping: (_read_only_mapping, (dict(mapping),)))


class Part:
    """Pickles by its fields, so that a copy in another process is type-checked and read-only again."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, column.name) for column in fields(self))  # type: ignore[arg-type]


#: What instances and networks are compared by: the digest of the columns, and what the digest leaves out.
_COMPARED = attrgetter("sha256", "name", "description", "source", "labels")


class Whole(Part):
    """Base of instances and networks; two are equal if everything in them is."""

    name: str

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return other is self or bool(_COMPARED(other) == _COMPARED(self))

    def __hash__(self) -> int:
        return hash((type(self), self.name))  # the digest takes longer


@dataclass(frozen=True, eq=False)
class Ragged(Part):
    """Rows of different length in compressed form: row `i` is `values[starts[i]:starts[i + 1]]`.

    Attributes
    ----------
    starts
        int64, shape (rows + 1,).
    values
        int64 indices or float64 numbers, shape (total,).
    """

    starts: Ints
    values: npt.NDArray[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", read_only(self.starts, np.int64))
        kind = np.float64 if np.asarray(self.values).dtype.kind == "f" else np.int64
        object.__setattr__(self, "values", read_only(self.values, kind))

    @classmethod
    def empty(cls, rows: int, dtype: type = np.int64) -> Ragged:
        """`rows` rows without an entry."""
        return cls(np.zeros(rows + 1, dtype=np.int64), np.zeros(0, dtype=dtype))

    @classmethod
    def from_rows(cls, rows: list[list[Any]], dtype: type = np.int64) -> Ragged:
        """Make it from a list of rows."""
        return cls.of_lengths(
            [len(row) for row in rows], np.array([value for row in rows for value in row], dtype=dtype)
        )

    @classmethod
    def of_lengths(cls, lengths: npt.ArrayLike, values: npt.NDArray[Any]) -> Ragged:
        """Rows of these lengths, one after another.

        >>> Ragged.of_lengths([2, 0, 1], np.array([5, 6, 7])).starts.tolist()
        [0, 2, 2, 3]
        """
        return cls(np.append(0, np.cumsum(lengths, dtype=np.int64)), values)

    @classmethod
    def _own(cls, starts: Ints, values: npt.NDArray[Any]) -> Ragged:
        """Make it from arrays that no other object holds; they are not copied."""
        starts.setflags(write=False)
        values.setflags(write=False)
        return cls(starts, values)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __repr__(self) -> str:
        return brief(f"Ragged: {counted(len(self), 'row')}, {counted(self.values.size, 'number')}")

    def __getitem__(self, row: int) -> npt.NDArray[Any]:
        return self.values[self.starts[row] : self.starts[row + 1]]

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        return (self[row] for row in range(len(self)))

    def lists(self) -> list[list[Any]]:
        """The rows as lists, which Python's own loops read faster."""
        values = self.values.tolist()
        return [values[begin:end] for begin, end in pairwise(self.starts.tolist())]

    @cached_property
    def lengths(self) -> Ints:
        """Number of entries of each row, shape (rows,)."""
        return np.diff(self.starts)

    @cached_property
    def row_of(self) -> Ints:
        """Row of each entry, shape (total,)."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)

    def take(self, rows: npt.ArrayLike) -> Ragged:
        """The given rows, in the given order."""
        rows = np.asarray(rows, dtype=np.int64)
        lengths = self.lengths[rows]
        starts = np.append(0, np.cumsum(lengths, dtype=np.int64))
        picks = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], lengths)
        return Ragged._own(starts, self.values[picks])

    def first(self, rows: int) -> Ragged:
        """The first `rows` rows, as views of the same memory."""
        return Ragged(self.starts[: rows + 1], self.values[: self.starts[rows]])

    def ordered(self) -> Ragged:
        """The same rows of indices, each in increasing order."""
        beyond = int(self.values.max(initial=0)) + 1
        return Ragged(self.starts, np.sort(self.row_of * beyond + self.values) % beyond)

    def kept(self, keep: Bools) -> Ragged:
        """The same rows with only the entries where `keep` (shape (total,)) holds."""
        kept = np.flatnonzero(keep)
        return Ragged._own(_counts_before(keep)[self.starts].astype(np.int64, copy=False), self.values[kept])

    def any_in_row(self, holds: Bools) -> Bools:
        """Whether `holds` (bool, shape (total,)) is true for any entry of each row; shape (rows,).

        >>> Ragged.of_lengths([2, 0, 1], np.array([5, 6, 7])).any_in_row(np.array([False, True, False])).tolist()
        [True, False, False]
        """
        before = _counts_before(holds)[self.starts]  # three times as fast as np.logical_or.reduceat
        return np.asarray(before[1:] > before[:-1])

    def padded(self, rows: int) -> Ragged:
        """The same rows, with empty ones after them."""
        return Ragged(np.append(self.starts, np.full(rows, self.starts[-1])), self.values)

    def count_any(self, holds: Bools) -> int:
        """The number of rows with an entry for which `holds` (bool, shape (total,)) is true.

        >>> Ragged.of_lengths([2, 0, 1], np.array([5, 6, 7])).count_any(np.array([True, True, False]))
        1
        """
        return int(np.count_nonzero(self.any_in_row(holds)))

    def transposed(self, columns: int, first: Ints | None = None) -> Ragged:
        """For each of `columns` values, the rows that contain it, increasing.

        With `first` (int64, at least 0, shape (rows,)), rows with the least number come first.

        >>> two = Ragged.from_rows([[0, 1], [1]])
        >>> [row.tolist() for row in two.transposed(2)], [row.tolist() for row in two.transposed(2, two.lengths)]
        ([[0], [0, 1]], [[0], [1, 0]])
        """
        if first is None and len(self.values) >= _MANY:
            from scipy.sparse import csr_array  # its import takes longer than sorting a few numbers

            marks = np.ones(len(self.values), dtype=np.int8)
            turned = csr_array((marks, self.values, self.starts), shape=(len(self), columns)).tocsc()
            return Ragged._own(turned.indptr.astype(np.int64), turned.indices.astype(np.int64))
        below = max(1, len(self) - 1).bit_length()
        above = below + (0 if first is None else int(first.max(initial=0)).bit_length())
        lengths = np.bincount(self.values, minlength=columns)
        if above + columns.bit_length() > 63:
            numbers = (self.row_of,) if first is None else (self.row_of, first[self.row_of])
            return Ragged.of_lengths(lengths, self.row_of[np.lexsort((*numbers, self.values))])
        # Sorting integers made of value, first and row is far faster than finding an order of them.
        rows = np.arange(len(self), dtype=np.int64)
        key = np.repeat(rows if first is None else rows | first << below, self.lengths)
        key |= self.values << above
        key.sort()
        key &= (1 << below) - 1
        return Ragged.of_lengths(lengths, key)


class _Picked:
    """Some of the ids of a column: `positions` (int64, increasing) in `ids`.

    `ids` is the whole column, such as `instance.cluster.node_ids`, shared with its owner. If it is the same array as a
    reader's own column, the reader knows that the positions are valid there.
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
        """The same with only its own ids, for another process."""
        return self.ids[self.positions], np.arange(len(self.positions))


class ById(_Picked, Mapping[str, int]):
    """Whole numbers by id: a mapping over the arrays `positions` (increasing, in the column `ids`) and `numbers`.

    Both are int64 and equally long. ValueError if positions do not increase or have no id, or if there are more or
    fewer numbers than positions.

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
        """The nonzero entries of a column that has a number for each id."""
        held = np.flatnonzero(column)
        return cls(ids, held, column[held])

    def column(self) -> Ints:
        """A number for each of `ids`, 0 if it has none: int64."""
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
    """A list of ids over the array `positions`; parameters as for `ById`.

    >>> cover = Chosen.where(np.array(["n1", "n2", "n3"]), np.array([True, False, True]))
    >>> cover, cover == ["n1", "n3"], cover.chosen().tolist()
    (['n1', 'n3'], True, [True, False, True])
    """

    @classmethod
    def where(cls, ids: Strings, chosen: Bools) -> Chosen:
        """The ids for which `chosen` is true."""
        return cls(ids, np.flatnonzero(chosen))

    def chosen(self) -> Bools:
        """Whether each of `ids` is in the list: bool."""
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
    """The same value in JSON's types: dictionaries, lists and Python's numbers instead of others of their kind.

    >>> plain({"prices": ById.nonzero(np.array(["a", "b"]), np.array([0, 2]))})
    {'prices': {'b': 2}}
    """
    if isinstance(value, ById):
        return dict(value)
    if isinstance(value, Chosen):
        return value.names()
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value.item() if isinstance(value, np.generic) else value
