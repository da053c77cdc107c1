"""Data of a certificate with something changed in it: numbers, names, entries, types."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from optsched.core.by_id import plain

__all__ = ["tampered"]

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
