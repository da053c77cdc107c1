"""What the tests of importers share."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Writes a text as a file."""

    def write(text: str | bytes, name: str = "some.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write
