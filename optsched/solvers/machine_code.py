"""Machine code of kernels that numba compiled once, kept in files and loaded without numba.

Importing numba and having it read a kernel from its own cache takes some 0.5 s of processor time; LLVM alone, which
numba is made on, reads the same code in 0.05 s. So a process that only runs kernels need not import numba. A file holds
a kernel for one kind of arguments. Its name tells the versions of Python, numba, LLVM and NumPy, the processor and the
kernel's source, so that no other file is ever loaded. This is for Linux, where numba's object files are ELF; elsewhere,
and for arguments of other kinds, numba loads its kernels itself.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Kind", "imported_before", "keep", "keeps", "kind_of", "loaded", "note_import"]

#: What tells which machine code arguments take: of each a letter, or what an array is like.
Kind = tuple[Any, ...]

#: By numba's name of it: what a kernel returns; None where it returns nothing.
_RETURNS: dict[str, type[ctypes.c_int64] | type[ctypes.c_uint8] | None] = {
    "int64": ctypes.c_int64,
    "boolean": ctypes.c_uint8,
    "bool": ctypes.c_uint8,
    "none": None,
}

#: What files are like; older ones are not looked for.
_FORMAT = 1

#: Names of what numba brings along, and other ones as long that they are given in files, so that numba, imported later,
#: does not meet them.
_THEIRS, _OURS = (b"\0numba_", b"\0NRT_"), ("optsc_", "OPT_")

#: What kernels call before and after an error is set. They need not do anything, since Python's lock is held. What else
#: numba brings along is for arrays that kernels make, and for wrappers of them in Python: neither is ever called.
_IDLE = ("optsc_gil_ensure", "optsc_gil_release")

#: What a function of numba's returns that has done its work: a value, or None.
_DONE = (0, -2)


def kind_of(arguments: Sequence[Any]) -> Kind | None:
    """The kind of some arguments; None where one is neither an int, nor a bool, nor an array without gaps.

    >>> kind_of([1, True, np.zeros(3, dtype=np.int64)])
    ('i', 'b', ('<i8', 1, True))
    """
    kinds: list[Any] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            if not (argument.flags.c_contiguous and argument.flags.aligned and argument.dtype.kind in "if"):
                return None
            kinds.append((argument.dtype.str, argument.ndim, argument.flags.writeable))
        elif type(argument) in (bool, np.bool_):
            kinds.append("b")
        elif type(argument) in (int, np.int64):
            kinds.append("i")
        else:
            return None
    return tuple(kinds)


def loaded(function: Callable[..., Any], kind: Kind) -> Callable[..., Any] | None:
    """A kernel's machine code for such arguments, if a file has it."""
    place = _place(function, kind)
    if place is None:
        return None
    try:
        content = place.read_bytes()
    except OSError:
        return None
    header, _, code = content.partition(b"\n")
    with suppress(ValueError, KeyError):
        told = json.loads(header)
        if told["sha256"] == sha256(code).hexdigest():
            return _Native(told, code, kind)
    return None


def keeps(function: Callable[..., Any], kind: Kind) -> bool:
    """Whether a file with a kernel's machine code can be written."""
    place = _place(function, kind)
    if place is None:
        return False
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
    return os.access(place.parent, os.W_OK)


def keep(function: Callable[..., Any], kind: Kind, result: str, symbol: str, code: bytes) -> None:
    """Keep a kernel's machine code for such arguments: an object file, the symbol in it, and the type of its result.

    Nothing is kept where no file can be written, or what the kernel returns is of another type than a whole number, a
    bool or nothing.
    """
    place = _place(function, kind)
    if place is None or result not in _RETURNS:
        return
    code, needs = _renamed(code)
    told = {"symbol": symbol, "result": result, "needs": needs, "sha256": sha256(code).hexdigest()}
    _write(place, json.dumps(told).encode() + b"\n" + code)


def imported_before() -> bool:
    """Whether this numba was imported here before, beside the same NumPy, so that one need not try."""
    note = _note()
    return note is not None and note.exists()


def note_import() -> None:
    """Note that numba can be imported."""
    note = _note()
    if note is not None and not note.exists():
        _write(note, b"")


class _Native:
    """A function of an object file that numba wrote, with numba's convention of calls.

    An array is given as several numbers: who owns it (nobody here), its sizes, where its entries are, its shape and
    strides. The result goes to an address; what is returned tells whether all went well.
    """

    def __init__(self, told: dict[str, Any], code: bytes, kind: Kind) -> None:
        import llvmlite.binding as llvm

        # Once there is an engine, names of Python and of the C library are found.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target())
        for name in told["needs"]:
            if name.startswith(_OURS):
                llvm.add_symbol(name, llvm.address_of_symbol("getpid" if name in _IDLE else "abort"))
            elif llvm.address_of_symbol(name) is None:
                raise KeyError(name)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        self._symbol, self._result = told["symbol"], _RETURNS[told["result"]]
        self._boolean = self._result is ctypes.c_uint8
        types: list[Any] = [ctypes.c_void_p, ctypes.c_void_p]
        for each in kind:
            types += [_SCALARS[each]] if isinstance(each, str) else _array_types(each[1])
        address = self._engine.get_function_address(self._symbol)
        self._function = ctypes.PYFUNCTYPE(ctypes.c_int32, *types)(address)

    def __call__(self, *arguments: Any) -> Any:
        given: list[int | None] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                data = argument.__array_interface__["data"][0]
                given += (None, None, argument.size, argument.itemsize, data, *argument.shape, *argument.strides)
            else:
                given.append(int(argument))
        result, failed = (self._result or ctypes.c_int64)(0), ctypes.c_void_p()
        code = self._function(ctypes.addressof(result), ctypes.addressof(failed), *given)
        if code not in _DONE:
            raise ArithmeticError(f"{self._symbol}: the compiled loop failed with code {code}")
        if self._result is None:
            return None
        return bool(result.value) if self._boolean else result.value


_SCALARS = {"i": ctypes.c_int64, "b": ctypes.c_uint8}


def _array_types(dimensions: int) -> list[Any]:
    sizes = [ctypes.c_int64] * (2 * dimensions)
    return [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, *sizes]


def _target() -> Any:
    """The processor that code is for; an engine takes it over, so that each needs its own."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(llvm.get_host_cpu_name(), jit=True)


# Where files are ---------------------------------------------------------------------------------------------------


def _place(function: Callable[..., Any], kind: Kind) -> Path | None:
    """The file for a kernel and a kind of arguments; None where there can be none."""
    source = Path(function.__code__.co_filename)
    around = _around()
    if around is None or not source.is_file():
        return None
    digest = sha256(repr((_FORMAT, around, function.__qualname__, kind)).encode() + source.read_bytes()).hexdigest()[
        :32
    ]
    return _folder(source) / f"{source.stem}.{function.__qualname__}-{digest}.code"


def _note() -> Path | None:
    installed = _installed()
    if installed is None:
        return None
    return _folder(Path(__file__)) / f"numba-{sha256(repr((installed, sys.version)).encode()).hexdigest()[:32]}.found"


def _folder(source: Path) -> Path:
    """Where numba's own cache is: beside Python's, unless the environment names a place."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    return Path(named) if named else source.parent / "__pycache__"


@cache
def _around() -> tuple[Any, ...] | None:
    """What machine code depends on beside its source; None where none is kept or loaded."""
    installed = _installed()
    if installed is None or sys.platform != "linux" or sys.byteorder != "little" or sys.maxsize < 2**62:
        return None
    try:
        import llvmlite
        import llvmlite.binding as llvm

        versions = sys.version_info[:2], llvmlite.__version__
        return installed, versions, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    except (ImportError, OSError, RuntimeError):
        return None


@cache
def _installed() -> tuple[bytes, str] | None:
    """What tells numba's version, without importing it, and NumPy's."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return None
    found = find_spec("numba")
    if found is None or found.origin is None:
        return None
    try:
        return Path(found.origin).with_name("_version.py").read_bytes(), np.__version__
    except OSError:
        return None


def _write(place: Path, content: bytes) -> None:
    """Write a file whole or not at all, where this is allowed."""
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=place.stem)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(place)


# Object files ------------------------------------------------------------------------------------------------------

#: Of a file in the format ELF, 64 bits, little-endian: where in its header are place, length and number of sections;
#: what a section and a symbol are made of; and the type of the section that lists symbols.
_SECTIONS, _COUNTS, _SECTION, _SYMBOL, _SYMBOLS = (40, "<Q"), (58, "<HH"), "<IIQQQQIIQQ", "<IBBHQQ", 2


def _renamed(code: bytes) -> tuple[bytes, list[str]]:
    """An object file with names of ours for what numba brings along, and the names that it uses and does not define."""
    (at,) = struct.unpack_from(_SECTIONS[1], code, _SECTIONS[0])
    length, number = struct.unpack_from(_COUNTS[1], code, _COUNTS[0])
    sections = [struct.unpack_from(_SECTION, code, at + length * each) for each in range(number)]
    used: list[str] = []
    for _, kind, _, _, begin, size, link, _, _, entry in sections:
        if kind != _SYMBOLS:
            continue
        names, end = sections[link][4], sections[link][4] + sections[link][5]
        told = code[names:end]
        for theirs, ours in zip(_THEIRS, _OURS, strict=True):
            told = told.replace(theirs, b"\0" + ours.encode())
        code = code[:names] + told + code[end:]
        for symbol in range(begin, begin + size, entry):
            name, _, _, section, _, _ = struct.unpack_from(_SYMBOL, code, symbol)
            if name and not section:
                used.append(told[name : told.index(b"\0", name)].decode())
    return code, used
