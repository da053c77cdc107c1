"""Writing a file whole or not at all, and what is said where that fails. What is written is for other modules."""

from __future__ import annotations

import os
from pathlib import Path

from optsched.errors import Fault, InputError

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that whoever looks finds the old content or the new one, never a part.

    Parameters
    ----------
    path
        The file; one that exists is replaced.
    data
        Its whole content.

    Raises
    ------
    InputError
        If it cannot be written there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/a.txt", b"whole")
    ...     print(Path(folder, "a.txt").read_text(), len(os.listdir(folder)))
    whole 1
    """
    target = Path(path)
    try:
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
        reason = getattr(error, "strerror", None) or error
        raise InputError([Fault("", f"cannot be written: {reason}")], os.fspath(path)) from None
