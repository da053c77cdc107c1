"""The bytes of files: reading up to a size limit, `.npz` archives, and writing a file completely or not at all.

An archive of an instance or network has one array for each column, nothing pickled, and the same bytes for the same
content. An array is named after its field (`tasks.size`, `nodes.capacity.cpu`). References are row numbers, -1 for
none; ragged rows come with `<field>.starts`; racks, datacenters and types with `<field>.names`; ids are UTF-8 at fixed
width. A column that only repeats the defaults is left out. `header` has everything else as JSON text. NumPy can read
the file directly (`numpy.load`). `columns` says what the arrays mean; `files` opens a file and reports its faults.
"""

from __future__ import annotations

import contextlib
import io
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from optsched.core.errors import Fault, InputError

__all__ = [
    "LARGEST_FILE",
    "LARGEST_RATIO",
    "LARGEST_UNPACKED",
    "SUFFIXES",
    "TABLE_SUFFIXES",
    "GrowingFile",
    "content",
    "header_text",
    "holds_integers",
    "kind_of",
    "most_unpacked",
    "pack",
    "read_arrays",
    "write_whole",
]

_Array = npt.NDArray[Any]

#: Larger files, in bytes, are refused; a gibibyte holds about ten million tasks.
LARGEST_FILE = 2**30

#: A packed file may unpack to this many bytes, or to this many times its own size if that is more. Instances shrink to
#: a fifth or a twentieth; a file that shrinks a thousandfold is made to fill the memory.
LARGEST_UNPACKED, LARGEST_RATIO = 2**27, 100

SUFFIXES = (".json", ".json.gz", ".npz")

#: Endings of tables.
TABLE_SUFFIXES = (".csv", ".parquet")


def pack(header: bytes, arrays: Mapping[str, _Array]) -> bytes:
    """The bytes of an archive: uncompressed, integers in their narrowest type, without a date."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, values in {"header": np.frombuffer(header, dtype=np.uint8), **arrays}.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, _narrow(values), allow_pickle=False)
    return buffer.getvalue()


def _narrow(values: _Array) -> _Array:
    if values.dtype.kind == "U":
        return np.strings.encode(values, "utf-8") if values.size else np.zeros(0, dtype="S1")
    if values.dtype == np.int64 and values.size and max(abs(int(values.min())), int(values.max())) < 2**31:
        return values.astype(np.int32)
    return np.ascontiguousarray(values)


def read_arrays(data: bytes, largest: int) -> dict[str, _Array]:
    """The arrays of an archive, read-only, with nothing unpickled.

    InputError if it is no valid archive of plain arrays, or declares more than `largest` unpacked bytes.
    """
    arrays: dict[str, _Array] = {}
    faults = []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            total = sum(entry.file_size for entry in entries)
            if total > largest:
                raise InputError([Fault("", f"unpacks to {total} bytes; at most {largest} are read")])
            for entry in entries:
                name = entry.filename.removesuffix(".npy")
                if not name.isprintable():
                    faults.append(Fault("", f"{name[:40]!r} is no name of a column"))
                elif name in arrays:
                    faults.append(Fault(name, "the column is given more than once"))
                elif entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or entry.flag_bits & 1:
                    faults.append(Fault(name, "is encrypted, or compressed in a way that NumPy does not use"))
                else:
                    try:
                        arrays[name] = _array(archive.read(entry))
                    except _CORRUPT as error:
                        faults.append(Fault(name, f"is no sound NumPy array: {_first_line(error)}"))
    except _CORRUPT as error:
        faults.append(Fault("", f"is no sound .npz archive: {_first_line(error)}"))
    if faults:
        raise InputError(faults)
    return arrays


def header_text(arrays: dict[str, _Array], form: str) -> bytes:
    """The JSON text of an archive, removed from its arrays; InputError, which names its `form`, if there is none."""
    text = arrays.pop("header", None)
    if text is None or text.dtype.kind not in "uSU":
        message = f'the column is missing; it holds the JSON text {{"format": "{form}", ...}}'
        raise InputError([Fault("header", message)])
    return text.tobytes()


def holds_integers(values: _Array) -> bool:
    """Whether an array has only whole numbers that fit int64."""
    return values.dtype.kind in "iu" and values.dtype != np.uint64


def kind_of(values: _Array) -> str:
    """The kind of an array, for messages."""
    return f"{values.dtype} of shape {values.shape}"


#: The exceptions of zipfile, zlib and NumPy on damaged bytes.
_CORRUPT = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, TypeError, SyntaxError),
    *(KeyError, IndexError, OverflowError, MemoryError, struct.error, tokenize.TokenError),
)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]


def _array(data: bytes) -> _Array:
    """An array over the bytes of an `.npy` entry."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    else:
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream)
    if dtype.hasobject or dtype.kind not in "iufbSU":
        raise ValueError(f"it holds {dtype}, neither numbers nor fixed-width strings")
    count = 1
    for length in shape:
        count *= length
    rest = len(data) - stream.tell()
    if any(length < 0 for length in shape) or count * dtype.itemsize != rest:
        raise ValueError(f"its shape {shape} of {dtype} does not fit its {rest} bytes")
    if dtype.itemsize == 0:  # any number of them takes no bytes at all
        raise ValueError("its strings have no width")
    values = np.frombuffer(data, dtype=dtype, offset=stream.tell())
    return values.reshape(shape, order="F" if fortran else "C")


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that readers find the old content or the new one, never a part; an existing file is replaced.

    InputError if the file cannot be written.
    """
    try:
        target = _resolved(path)
        # A device or pipe (/dev/stdout) cannot be replaced by a file, and has no incomplete state to hide.
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
        try:
            draft.write_bytes(data)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    except (OSError, ValueError) as error:  # ValueError: no name, or a NUL character in it
        raise _refused(error, path) from None


class GrowingFile:
    """A file that grows, part by part, under the name FILE.partial, and is renamed to FILE when it is complete.

    Until then an existing FILE stays as it is. Each part is written completely or not at all. A device or a pipe, which
    cannot be replaced, is written directly. InputError at once if it cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        try:
            self._target = _resolved(path)
            replaceable = not self._target.exists() or self._target.is_file()
            self.partial = self._target.with_name(f"{self._target.name}.partial") if replaceable else None
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if replaceable else os.O_WRONLY
            self._file = os.open(self.partial or self._target, flags | getattr(os, "O_BINARY", 0), 0o666)
        except (OSError, ValueError) as error:
            raise _refused(error, path) from None
        self._written = 0

    def write(self, part: bytes) -> None:
        """Add a part; InputError if it cannot be written, and earlier parts stay."""
        left = memoryview(part)
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except BaseException as error:
            if self.partial is not None:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, self._written)
                    os.lseek(self._file, self._written, os.SEEK_SET)
            if isinstance(error, OSError):
                raise _refused(error, self.path) from None
            raise
        self._written += len(part)

    def finish(self) -> None:
        """The file is complete: rename it; InputError if that fails."""
        try:
            os.close(self._file)
            if self.partial is not None:
                self.partial.replace(self._target)
        except OSError as error:
            raise _refused(error, self.path) from None

    def abandon(self) -> Path | None:
        """The file stays incomplete: return the path of the written part, None if there is none."""
        with contextlib.suppress(OSError):
            os.close(self._file)
        if self.partial is None or self._written:
            return self.partial
        self.partial.unlink(missing_ok=True)
        return None


def _resolved(path: str | os.PathLike[str]) -> Path:
    """The target of a link, which is replaced instead of the link."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)


def _refused(error: OSError | ValueError, path: str | os.PathLike[str]) -> InputError:
    reason, folder = getattr(error, "strerror", None) or error, os.path.dirname(path)
    if isinstance(error, FileNotFoundError) and folder:
        reason = f'there is no folder "{os.fspath(folder)}"; create it first'
    return InputError([Fault("", f"cannot be written: {reason}")], os.fspath(path))


def most_unpacked(packed: bytes) -> int:
    """How many bytes a packed file may unpack to.

    >>> most_unpacked(b"") == LARGEST_UNPACKED
    True
    """
    return min(LARGEST_FILE, max(LARGEST_UNPACKED, LARGEST_RATIO * len(packed)))


def content(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file; InputError if it cannot be read, or has more than `LARGEST_FILE`."""
    source = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the name
        raise InputError([Fault("", f"cannot be read: {getattr(error, 'strerror', None) or error}")], source) from None
    if len(data) > LARGEST_FILE:
        raise InputError([Fault("", f"holds more than {LARGEST_FILE} bytes; so much is not read")], source)
    return data
