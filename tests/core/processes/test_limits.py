"""Tests of `optsched.core.processes.limits`: limits and outcomes."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from optsched.core.errors import TooLarge
from optsched.core.processes import Limits, Outcome, Status, limits
from optsched.core.processes.containing import call


def test_outcome_tells_what_went_wrong() -> None:
    """Tests the text of an outcome, and that its repr does not show a large value."""
    assert str(Outcome(Status.CRASHED, message="ended by SIGKILL")) == "crashed: ended by SIGKILL"
    done = Outcome(Status.DONE, list(range(100_000)))
    assert (done.done, str(done)) == (True, "done")
    assert len(repr(done)) < 50


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
    monkeypatch.setattr(limits, "_GROUPS", (group, ("/nowhere",) * 4))
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=800 << 20))
    assert limits.available_mb() == available
    monkeypatch.setattr("psutil.Process", lambda: SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=100 << 20)))
    token = limits.allowed_mb.set(250)
    assert limits.available_mb() == 150
    limits.allowed_mb.reset(token)


def test_job_knows_its_limit() -> None:
    """Tests that what runs contained may take no more than its limit leaves."""
    assert call(lambda _: limits.available_mb(), None, Limits(60, 700)).value < 700


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what would take more than there is is refused, with both, and that few bytes are not looked at."""
    monkeypatch.setattr(limits, "available_mb", lambda: 3000)
    limits.refuse_beyond(3000 * 2**20, "here: a table", "take fewer")
    text = r"^here: a table, and take about 3,001 MB where there are 3,000; take fewer$"
    with pytest.raises(TooLarge, match=text):
        limits.refuse_beyond(3001 * 2**20, "here: a table", "take fewer")
    monkeypatch.delattr(limits, "available_mb")
    limits.refuse_beyond(64 * 2**20, "here: a table", "take fewer")
