"""What files of claims share: numbers, and the versions of what computes."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

import pytest

from optsched.errors import Fault
from optsched.instances.documents import claims
from optsched.instances.documents.claims import numbers_of, versions


def test_numbers() -> None:
    """Tests that null is read where a number may be unknown, and a fault with its place where it may not."""
    faults: list[Fault] = []
    assert numbers_of([None, 1], "bound", faults, unknown=True) == (None, 1)
    assert numbers_of([None, 1], "utilities", faults) == (0, 1)
    assert numbers_of(3, "utilities", faults, each="job") == ()
    assert [str(fault) for fault in faults] == [
        'utilities[0]: expected an integer, or a rational as "p/q"',
        "utilities: expected a list, one entry a job",
    ]


def test_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that packages that are not installed are left out."""
    honest = claims.version

    def version(package: str) -> str:
        if package == "pulp":
            raise PackageNotFoundError(package)
        return honest(package)

    monkeypatch.setattr(claims, "version", version)
    assert {"optsched", "python", "highspy"} <= set(versions())
    assert "pulp" not in versions()
