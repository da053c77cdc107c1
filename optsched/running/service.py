"""The former place of what is in `optsched.running.course`."""

from optsched.deprecated import moved

__getattr__ = moved(__name__, "optsched.running.course")
