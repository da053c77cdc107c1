"""Whether there is a browser for the tests that need one, and which."""

from __future__ import annotations

import importlib.util
import os
import shutil

#: Chromium as a test needs it: of its own, and silent.
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str | None:
    """Chromium: `OPTSCHED_CHROMIUM`, or the one of the system; None without any."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return os.environ.get("OPTSCHED_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def browser_found() -> bool:
    """Whether there is Chromium, and the package playwright that drives it."""
    return importlib.util.find_spec("playwright") is not None and chromium() is not None
