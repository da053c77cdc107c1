"""The former place of `optsched.waves`."""

from optsched.deprecated import moved

__getattr__ = moved(__name__, "optsched.waves")
