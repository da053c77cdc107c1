"""The former place of what is in `optsched.simulating.every_round`."""

from optsched.deprecated import moved

__getattr__ = moved(__name__, "optsched.simulating.every_round")
