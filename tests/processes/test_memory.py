"""Tests of `optsched.processes.memory`: what there is in a container and without one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from optsched.core.errors import TooLarge
from optsched.processes import Limits, memory
from optsched.processes.containing import call


@pytest.mark.parametrize(
    ("limit", "stat", "available"),
    [("max", "", 800), (str(500 << 20), "anon 7\ninactive_file 104857600\n", 300), (str(5 << 30), "", 800)],
)
def test_container_has_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, stat: str, available: int
) -> None:
    """Tests that the limit of a container counts, files that it has read aside, and none or a larger one does not."""
    (tmp_path / "max").write_text(limit)
    (tmp_path / "current").write_text(str(300 << 20))
    (tmp_path / "stat").write_text(stat)
    group = (str(tmp_path / "max"), str(tmp_path / "current"), str(tmp_path / "stat"), "inactive_file")
    monkeypatch.setattr(memory, "_GROUPS", (group, ("/nowhere",) * 4))
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=800 << 20))
    assert memory.available_mb() == available
    monkeypatch.setattr("psutil.Process", lambda: SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=100 << 20)))
    token = memory.allowed_mb.set(250)
    assert memory.available_mb() == 150
    memory.allowed_mb.reset(token)


def see_memory(_job: object) -> int:
    """What a job may take."""
    return memory.available_mb()


def test_job_knows_its_limit() -> None:
    """Tests that what runs contained may take no more than its limit leaves."""
    assert call(see_memory, None, Limits(60, 700)).value < 700


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what would take more than there is is refused, with both, and that few bytes are not looked at."""
    monkeypatch.setattr(memory, "available_mb", lambda: 3000)
    memory.refuse_beyond(3000 * 2**20, "here: a table", "take fewer")
    told = r"^here: a table, and take about 3,001 MB where there are 3,000; take fewer$"
    with pytest.raises(TooLarge, match=told):
        memory.refuse_beyond(3001 * 2**20, "here: a table", "take fewer")
    monkeypatch.delattr(memory, "available_mb")
    memory.refuse_beyond(64 * 2**20, "here: a table", "take fewer")
