"""Sparse matrices put together from blocks: how the rows and columns of a program are named while it is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from optsched.core.instance import Ints

__all__ = ["Block", "ones_at", "stacked"]

#: Dense or sparse.
Block = npt.NDArray[Any] | sp.csr_array


def ones_at(rows: Ints, height: int) -> sp.csr_array:
    """A matrix with one 1 in each column, in the given rows; shape (height, len(rows)).

    >>> ones_at(np.array([1, 0]), 2).toarray().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    return sp.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(height, len(rows)))


def stacked(heights: Sequence[int], widths: Sequence[int], blocks: Mapping[tuple[int, int], Block]) -> sp.csr_array:
    """The matrix of blocks of these heights and widths; a block that is not given is 0.

    >>> stacked([1, 1], [1, 2], {(0, 0): np.array([[5.0]]), (1, 1): np.array([[6.0, 7.0]])}).toarray().tolist()
    [[5.0, 0.0, 0.0], [0.0, 6.0, 7.0]]
    """
    below, right = np.cumsum([0, *heights]), np.cumsum([0, *widths])
    parts = [(sp.coo_array(block), below[row], right[column]) for (row, column), block in blocks.items()]
    entries = [(part.data, part.coords[0] + down, part.coords[1] + across) for part, down, across in parts]
    data, rows, columns = (
        np.concatenate([entry[position] for entry in entries] or [np.zeros(0)]) for position in range(3)
    )
    return sp.csr_array((data, (rows, columns)), shape=(below[-1], right[-1]))
