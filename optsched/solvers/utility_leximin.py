"""The former place of `optsched.searches.utility_leximin`."""

from optsched.deprecated import moved

__getattr__ = moved(__name__, "optsched.searches.utility_leximin")
