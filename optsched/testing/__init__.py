"""The contract of every problem in the registry: checks for the tests of optsched and of packages with problems.

`check_problem("my-problem")` in a package's test says what its problem breaks. `CHECKS` has the single checks, and
`python -m optsched.testing` prints a report on all problems. It needs only optsched itself: instances are drawn from
the family that the problem's record names, with given seeds.
"""

from optsched.testing import solutions, programs, neighbours, measured  # noqa: F401, I001 - listed in this order
from optsched.testing.contract import CHECKS, SEEDS, Check, ContractBroken, NoGenerator, check_problem, forget

__all__ = ["CHECKS", "SEEDS", "Check", "ContractBroken", "NoGenerator", "check_problem", "forget"]
