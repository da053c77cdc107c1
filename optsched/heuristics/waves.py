"""The former place of `optsched.waves`, which the documents once named."""

from optsched.waves import IDLE, Wave, waves

__all__ = ["IDLE", "Wave", "waves"]
