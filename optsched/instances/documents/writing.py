"""Writes a file completely or not at all, and reports what failed.

What exists is never touched before its successor is whole: it is written next to it, then takes its place.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from optsched.core.errors import Fault, InputError

__all__ = ["GrowingFile", "write_whole"]


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that readers find the old content or the new one, never a part; one that exists is replaced.

    InputError if it cannot be written there.
    """
    try:
        target = _resolved(path)
        # A device or pipe (/dev/stdout) cannot be replaced by a file, and has no half-written state to hide.
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
    """A file that grows, part by part, under the name FILE.partial, and takes the name FILE once it is whole.

    Until then a FILE that is there already stays as it is. Each part is written whole or not at all. A device or a
    pipe, which nothing can replace, is written to as it is. InputError if it cannot be written there: at once.
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
        """Add a part; InputError if it cannot be written, and what was written before stays."""
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
        """The file is complete: put it in its place; InputError if that fails."""
        try:
            os.close(self._file)
            if self.partial is not None:
                self.partial.replace(self._target)
        except OSError as error:
            raise _refused(error, self.path) from None

    def abandon(self) -> Path | None:
        """The file will not be complete: return where the written part is, None where there is none."""
        with contextlib.suppress(OSError):
            os.close(self._file)
        if self.partial is None or self._written:
            return self.partial
        self.partial.unlink(missing_ok=True)
        return None


def _resolved(path: str | os.PathLike[str]) -> Path:
    """The file that a link points to: that is replaced, not the link."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)


def _refused(error: OSError | ValueError, path: str | os.PathLike[str]) -> InputError:
    reason, folder = getattr(error, "strerror", None) or error, os.path.dirname(path)
    if isinstance(error, FileNotFoundError) and folder:
        reason = f'there is no folder "{os.fspath(folder)}"; create it first'
    return InputError([Fault("", f"cannot be written: {reason}")], os.fspath(path))
