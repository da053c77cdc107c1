"""Files that are whole or not there: what is written at once, and what grows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from optsched.core.errors import InputError
from optsched.instances.documents.writing import GrowingFile, write_whole


def test_growing_file(tmp_path: Path) -> None:
    """Tests that the file is there only once it is whole, and what is beside it holds each part by then."""
    target = tmp_path / "a.txt"
    target.write_text("old")
    growing = GrowingFile(target)
    growing.write(b"one\n")
    assert (target.read_text(), growing.partial and growing.partial.read_text()) == ("old", "one\n")
    growing.write(b"two\n")
    growing.finish()
    assert target.read_text() == "one\ntwo\n"
    assert list(tmp_path.iterdir()) == [target]


def test_growing_file_that_is_abandoned(tmp_path: Path) -> None:
    """Tests that what was written stays under the other name, and nothing where nothing was written."""
    target = tmp_path / "a.txt"
    assert GrowingFile(target).abandon() is None
    assert not list(tmp_path.iterdir())
    growing = GrowingFile(target)
    growing.write(b"one")
    assert growing.abandon() == tmp_path / "a.txt.partial"
    assert not target.exists()


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_part_is_written_whole_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException) -> None:
    """Tests that a fault, or Ctrl-C, in the middle of a part takes back the whole part, and no other."""
    real, calls = os.write, []

    def write(file: int, data: bytes) -> int:
        calls.append(1)
        if len(calls) == 3:
            raise fault
        return real(file, data[:4] if len(calls) == 2 else data)

    growing = GrowingFile(tmp_path / "a.txt")
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", write)
        growing.write(b"first\n")
        with pytest.raises(InputError if isinstance(fault, OSError) else KeyboardInterrupt):
            growing.write(b"second\n")
    growing.write(b"third\n")
    growing.finish()
    assert (tmp_path / "a.txt").read_text() == "first\nthird\n"


def test_links_stay(tmp_path: Path) -> None:
    """Tests that through a link the file is replaced that it leads to."""
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "a.txt", tmp_path / "link.txt"
    link.symlink_to(target)
    write_whole(link, b"whole")
    assert (link.is_symlink(), target.read_text()) == (True, "whole")
    growing = GrowingFile(link)
    growing.write(b"grown")
    assert growing.partial == tmp_path / "real" / "a.txt.partial"
    growing.finish()
    assert (link.is_symlink(), target.read_text()) == (True, "grown")


@pytest.mark.parametrize("name", ["", "a\0b", "no/such/folder/a.txt", "."])
def test_names_that_are_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Tests that what cannot be written is told as bad input, with its name."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        GrowingFile(name)
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(name, b"")
