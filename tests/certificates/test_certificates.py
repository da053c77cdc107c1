"""The names of the package: each is there when it is asked for, and no module of a problem before."""

import subprocess
import sys
from importlib import import_module

import pytest

from optsched import certificates


def test_each_name_is_made_where_it_is_said() -> None:
    """Tests that each function comes from the module that is named for it, and that other names are none."""
    made = {name: module for module, names in certificates._MADE.items() for name in names}
    assert set(made) == set(certificates.__all__) - set(vars(certificates))
    for name, module in made.items():
        own = import_module(module, certificates.__name__)
        assert getattr(certificates, name) is getattr(own, name)
        assert getattr(own, name).__module__ == own.__name__
    with pytest.raises(AttributeError, match="has no attribute 'prices'"):
        _ = certificates.prices


def test_a_proof_of_one_problem_imports_no_other() -> None:
    """Tests that making a certificate of `lsap` does not import the problems that have proofs of their own."""
    program = "import sys; from optsched.certificates import assignment_certificate; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(ended.stdout.split())
    assert "optsched.certificates.assignment" in loaded
    assert not {"optsched.problems.utility", "optsched.problems.traffic", "optsched.certificates.utility"} & loaded
