"""The contract that every problem of the registry keeps, for the tests of optsched and of packages that bring problems.

`check_problem("my-problem")` in a test of a package says what its problem breaks; `CHECKS` has the checks one by one,
and `python -m optsched.testing` prints a report of all problems. It needs nothing but optsched itself: instances are
drawn from the family that the problem's record names, from given seeds.
"""

from optsched.testing import (  # noqa: F401, I001 - the checks are listed in this order
    definition,
    solutions,
    proofs,
    programs,
    neighbours,
    frontiers,
    schedulers,
    explanations,
)

from optsched.testing.cases import SEEDS, NoGenerator, forget
from optsched.testing.contract import CHECKS, Check, ContractBroken, check_problem

__all__ = ["CHECKS", "SEEDS", "Check", "ContractBroken", "NoGenerator", "check_problem", "forget"]
