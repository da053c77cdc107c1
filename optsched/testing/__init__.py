"""The contract that every problem of the registry keeps, for the tests of optsched and of packages that bring problems.

`check_problem("my-problem")` in a test of a package says what its problem breaks; `CHECKS` has the checks one by one,
and `python -m optsched.testing` prints a report of all problems. It needs nothing but optsched itself: instances are
drawn from the family that the problem's record names, from given seeds.
"""

from optsched.testing import solutions, programs, neighbours, measured  # noqa: F401, I001 - listed in this order
from optsched.testing.contract import CHECKS, SEEDS, Check, ContractBroken, NoGenerator, check_problem, forget

__all__ = ["CHECKS", "SEEDS", "Check", "ContractBroken", "NoGenerator", "check_problem", "forget"]
