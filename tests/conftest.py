"""Settings that all tests share: determinism, where the real data lies, and what a skip means."""

import gc
import os
import shutil
import signal
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "deterministic",
    derandomize=True,
    deadline=None,
    max_examples=30,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("deterministic")

# Shells start what runs in the background with Ctrl-C ignored, and `nohup` with SIGHUP ignored; so would be the
# commands that tests end by them.
for _name, _usual in (
    ("SIGINT", signal.default_int_handler),
    ("SIGTERM", signal.SIG_DFL),
    ("SIGHUP", signal.SIG_DFL),
):
    _number = getattr(signal, _name, None)  # Windows has no SIGHUP
    if _number is not None and signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)

# Workers of pytest-xdist set the width of the terminal that started them.
os.environ.pop("COLUMNS", None)

#: Packages of their own, which `test_outside` installs and `test_pytest_plugin` runs: no part of the suite.
collect_ignore = ["data"]

ROOT = Path(__file__).resolve().parent.parent


def chromium() -> str | None:
    """Chromium: `OPTSCHED_CHROMIUM`, or the one of the system; None without any."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return os.environ.get("OPTSCHED_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, alone and silent."""
    from playwright.sync_api import sync_playwright

    silent = ("disable-gpu", "disable-background-networking", "disable-component-update", "disable-sync")
    options = [f"--{option}" for option in ("headless", "no-sandbox", *silent)]
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=options)
        yield started
        started.close()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Search for no cycles while tests are collected, nor ever among what was collected, which stays to the end.

    There are millions of such objects and no cycles to free; the search was 40 % of the processor time of collecting.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what needs a browser, or a package with it, where there is none: it could not do what it should.

    Names of tests must be the same in every process: with an address in one, no test runs on several workers.
    """
    unstable = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if unstable:
        raise pytest.UsageError(f"{unstable[0]}: its parameters need ids (pytest.mark.parametrize(..., ids=...))")
    marked = ((item, mark) for item in items if (mark := item.get_closest_marker("browser")) is not None)
    needing = [item for item, mark in marked if not (chromium() and all(map(find_spec, ("playwright", *mark.args))))]
    if needing:
        config.hook.pytest_deselected(items=needing)
        items[:] = [item for item in items if item not in needing]


@pytest.fixture
def wide_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal on which no line is folded."""
    monkeypatch.setenv("COLUMNS", "400")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of the real traces; skips where it is absent, fails instead under OPTSCHED_REQUIRE_DATA=1."""
    folder = Path(os.environ.get("OPTSCHED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        if os.environ.get("OPTSCHED_REQUIRE_DATA") == "1":
            pytest.fail(f"OPTSCHED_REQUIRE_DATA=1, but there is no folder {folder}")
        pytest.skip(f"real data not found at {folder}; set OPTSCHED_DATA")
    return folder
