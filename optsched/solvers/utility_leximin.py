"""The former place of `optsched.searches.utility_leximin`, which README and docs once named."""

from optsched.searches.utility_leximin import Leximin, leximin

__all__ = ["Leximin", "leximin"]
