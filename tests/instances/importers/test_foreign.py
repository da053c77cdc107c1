"""What all importers share: files that are broken, or whose compressed data end too early, are told."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from foreign_files import ASSIGN, DIMACS, GAP, NODES, QUEUES, SLS, SWIM, faults, noun

from optsched.errors import InputError, UsageError
from optsched.instances.importers.dimacs import import_dimacs
from optsched.instances.importers.foreign import Imported
from optsched.instances.importers.orlib import import_orlib_assign, import_orlib_gap
from optsched.instances.importers.sls import import_sls
from optsched.instances.importers.swim import import_swim


def test_cut_compressed_files(file: Callable[..., Path]) -> None:
    """Tests that compressed data that end too early are told, in each format of lines and in XML."""
    cut = file(gzip.compress(random.Random(0).randbytes(400).hex().encode())[:-40], "cut.gz")
    for importer in (import_dimacs, import_orlib_gap, import_orlib_assign, import_swim):
        assert faults(importer, cut) == ["the compressed data were cut before their end"]
    assert "cut before their end" in faults(import_sls, file(SLS, "jobs"), file(NODES, "nodes"), cut)[0]


def broken(text: str, rng: random.Random) -> bytes:
    """A text with some of its bytes, words or lines changed, doubled or cut."""
    data = text.encode()
    for _ in range(rng.randint(1, 3)):
        at, to = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        pick = rng.randrange(6)
        if pick == 0:
            data = data[:at]
        elif pick == 1:
            data = data[:at] + data[to:]
        elif pick == 2:
            data = data[:to] + data[at:to] + data[to:]
        elif pick == 3:
            data = data[:at] + rng.randbytes(rng.randint(1, 3)) + data[at:]
        elif pick == 4:
            odd = [b"-1", b"1e9", b"nan", b"99999999999999999999", b"\x00", b"{}", b"null", b"\t", b"\n", "é".encode()]
            data = data[:at] + rng.choice(odd) + data[at:]
        else:
            words = data.split(b" ")
            rng.shuffle(words)
            data = b" ".join(words)
        data = data or b" "
    return data


IMPORTERS: dict[str, Callable[[Callable[..., Path], random.Random], Imported]] = {
    "dimacs": lambda file, rng: import_dimacs(file(broken(DIMACS, rng))),
    "orlib-gap": lambda file, rng: import_orlib_gap(file(broken(GAP, rng)), number=1),
    "orlib-assign": lambda file, rng: import_orlib_assign(file(broken(ASSIGN, rng))),
    "sls": lambda file, rng: import_sls(file(broken(SLS, rng))),
    "sls-nodes": lambda file, rng: import_sls(file(SLS, "jobs"), file(broken(NODES, rng))),
    "sls-queues": lambda file, rng: import_sls(file(SLS, "jobs"), queues=file(broken(QUEUES, rng))),
    "swim": lambda file, rng: import_swim(file(broken(SWIM, rng))),
}


def check_broken(name: str, file: Callable[..., Path], count: int) -> None:
    """Every broken file is told of as bad input or wrong usage, in lines fit to print, or gives a sound document."""
    read = 0
    for seed in range(count):
        told = ""
        try:
            noun(IMPORTERS[name](file, random.Random(f"{name} {seed}")))
            read += 1
        except (InputError, UsageError) as error:
            told = str(error)
        assert all(line.isprintable() for line in told.splitlines()), (name, seed)
    assert read < count


@pytest.mark.parametrize("name", IMPORTERS)
def test_broken_files(name: str, file: Callable[..., Path]) -> None:
    """Tests that 300 seeded mutants of each format end in a clear fault or a sound noun, never in anything else."""
    check_broken(name, file, 300)


@pytest.mark.thorough
@pytest.mark.parametrize("name", IMPORTERS)
def test_broken_files_at_length(name: str, file: Callable[..., Path]) -> None:
    """Tests the same on 4000."""
    check_broken(name, file, 4000)
