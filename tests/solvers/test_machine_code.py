"""Machine code that is kept: the same answers as numba's, without numba, and never what is not the kernel's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from optsched.solvers import machine_code
from optsched.solvers.compiled import Kernel
from optsched.solvers.machine_code import imported_before, keep, keeps, kind_of, loaded, note_import

#: A module of kernels: one calls another, takes numbers of every kind, and fails where it divides by 0.
KERNELS = """
import numpy as np
from optsched.solvers.compiled import compiled

@compiled
def _half(number):
    return number // 2

@compiled
def filled(table, short, factor, twice):
    total = 0
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            table[row, column] = factor * short[column] * (1 + twice)
            total += table[row, column]
    return _half(total)

@compiled
def any_above(values, limit):
    for value in values:
        if value > limit:
            return True
    return False

@compiled
def cleared(values):
    for place in range(len(values)):
        values[place] = 0

@compiled
def part(values, divisor):
    return values[0] // divisor
"""

ASKED = """
import sys
import numpy as np
import kernels
table, short = np.zeros((2, 3), dtype=np.int64), np.array([1, 2, 3], dtype=np.int32)
print(kernels.filled(table, short, 5, True), table.tolist(), kernels.filled(table, short, 5, False))
numbers = np.arange(4)
numbers.setflags(write=False)
print(kernels.any_above(numbers, 2), kernels.any_above(numbers, 3), kernels.any_above(numbers[:0], 0))
print(kernels.cleared(short), short.tolist(), kernels.part(np.array([-7]), 2))
try:
    kernels.part(numbers[1:2], 0)
except ArithmeticError:
    print("failed")
print("numba" in sys.modules)
import numba
print(numba.njit(lambda values: values.sum() + len(values.copy()))(np.arange(5)))
print(kernels.filled(table[:, ::-1].T.copy().T, short + 0.5, 1, False), kernels._half(9))
"""

TOLD = """60 [[10, 20, 30], [10, 20, 30]] 30
True False False
None [0, 0, 0] -4
failed
{numba}
15
"""


@pytest.mark.skipif(sys.platform != "linux", reason="numba loads its kernels itself elsewhere")
@pytest.mark.thorough
def test_kept_code_gives_the_same_without_numba(tmp_path: Path) -> None:
    """Tests results and arrays of a first process, which compiles, and of a second, which does not import numba.

    In this numba works as ever once it is imported, with arrays of its own, and takes kinds that no file has.
    """
    pytest.importorskip("numba")
    (tmp_path / "kernels.py").write_text(KERNELS)
    folder = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": folder}
    for numba in (True, False):
        command = [sys.executable, "-c", ASKED]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert ran.stderr == ""
        assert ran.stdout.startswith(TOLD.format(numba=numba))
        assert ran.stdout.splitlines()[-1] == "0 4"
    for file in (tmp_path / "kept").glob("kernels.any_above-*.code"):  # of a Python that has not what the code needs
        file.write_bytes(file.read_bytes().replace(b'"needs": [', b'"needs": ["no_such_name", ', 1))
    unknown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    assert unknown.stdout.startswith(TOLD.format(numba=True))
    (tmp_path / "kernels.py").write_text(KERNELS.replace("number // 2", "number // 3"))
    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    assert again.stdout.startswith("40 ")  # another source, other files


def test_kinds_of_arguments() -> None:
    """Tests that arguments of which numba would make other types are of other kinds, and others of none."""
    table = np.zeros((2, 3))
    frozen = np.zeros(2, dtype=np.int32)
    frozen.setflags(write=False)
    assert kind_of([table, frozen, np.int64(3), np.bool_(False)]) == (("<f8", 2, True), ("<i4", 1, False), "i", "b")
    for strange in (table.T, [1], 0.5, np.int32(1), None, np.array(["a"])):
        assert kind_of([strange]) is None


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for files, for an installation that has numba."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(machine_code, "_around", lambda: ("numba",))
    monkeypatch.setattr(machine_code, "_installed", lambda: (b"0", "0"))
    return tmp_path


def test_what_is_not_the_kernels_own_is_not_loaded(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests files that are damaged, cut short or missing, results of other types, and where nothing can be kept."""
    monkeypatch.setattr(machine_code, "_renamed", lambda code: (code, ["abort"]))
    monkeypatch.setattr(machine_code, "_Native", lambda told, code, kind: (told["needs"], code))
    function, kind = kind_of, ("i",)
    assert keeps(function, kind)
    assert loaded(function, kind) is None
    keep(function, kind, "float64", "symbol", b"code")
    assert loaded(function, kind) is None
    keep(function, kind, "int64", "symbol", b"code")
    assert loaded(function, kind) == (["abort"], b"code")
    assert loaded(function, ("b",)) is None
    (file,) = kept.iterdir()
    whole = file.read_bytes()
    for damaged in (whole[:-1], whole.replace(b"sha256", b"sha255"), b"", b"\n", whole[5:]):
        file.write_bytes(damaged)
        assert loaded(function, kind) is None
    monkeypatch.setattr(machine_code, "_around", lambda: None)
    assert not keeps(function, kind)
    keep(function, kind, "int64", "symbol", b"code")
    file.write_bytes(whole)
    assert loaded(function, kind) is None


def test_numba_is_tried_once(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an import of numba is noted for this version of it, and for none where it is not installed."""
    assert not imported_before()
    note_import()
    assert imported_before()
    monkeypatch.setattr(machine_code, "_installed", lambda: (b"1", "0"))
    assert not imported_before()
    monkeypatch.setattr(machine_code, "_installed", lambda: None)
    note_import()
    assert not imported_before()


def test_many_calls_go_to_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a kernel that is called often is left to numba, whose calls are quicker."""
    kernel = Kernel(len)
    monkeypatch.setattr("optsched.solvers.compiled._CALLS", 2)
    monkeypatch.setattr("optsched.solvers.compiled.loaded", lambda function, kind: lambda number: "code")
    monkeypatch.setattr(Kernel, "dispatcher", property(lambda kernel: lambda number: "numba"))
    assert [kernel(number) for number in range(4)] == ["code", "code", "numba", "numba"]
