"""The former place of what is in `optsched.explaining.schedules`."""

from optsched.deprecated import moved

__getattr__ = moved(__name__, "optsched.explaining.schedules")
