"""The former place of `optsched.tuning`."""

from optsched.deprecated import moved

__getattr__ = moved(__name__, "optsched.tuning")
