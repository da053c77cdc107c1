"""Solver profiles: those that ship, a user's own, and what is wrong with one."""

from pathlib import Path

import pytest

from optsched.core.errors import InputError, UsageError
from optsched.solvers.profiles import Profile, load_profile


def test_users_own_file(tmp_path: Path) -> None:
    """Tests that a path that ends in .toml is read, bears the name of the file, and reaches the solver's options."""
    path = tmp_path / "mine.toml"
    path.write_text('time_limit = 5\nnode_limit = 7\nrandom_seed = 3\n[highs]\nsolver = "ipm"\n', encoding="utf-8")
    profile = load_profile(path)
    assert profile.name == "mine"
    assert profile.options == {
        "log_to_console": False,
        "solver": "ipm",
        "threads": 1,
        "random_seed": 3,
        "mip_rel_gap": 0.0,
        "mip_abs_gap": 0.0,
        "time_limit": 5.0,
        "mip_max_nodes": 7,
    }


def test_with_limits() -> None:
    """Tests that limits are replaced where given and kept where not."""
    profile = Profile("x", time_limit=9.0, node_limit=5)
    assert profile.with_limits(time_limit=1.0) == Profile("x", time_limit=1.0, node_limit=5)
    assert profile.with_limits(node_limit=0) == Profile("x", time_limit=9.0, node_limit=0)
    assert profile.with_limits() == profile


def test_every_fault_of_a_file(tmp_path: Path) -> None:
    """Tests that each unknown key and each wrong value is listed with its place, under the name of the file."""
    path = tmp_path / "wrong.toml"
    path.write_text(
        'time_limt = 1\ntime_limit = "60"\nnode_limit = 1.5\nrelative_gap = -0.1\nabsolute_gap = nan\n'
        "threads = 0\nrandom_seed = true\ndescription = 4\nhighs = 3\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError) as caught:
        load_profile(path)
    assert [fault.place for fault in caught.value.faults] == [
        "time_limt", "description", "time_limit", "node_limit", "relative_gap", "absolute_gap", "threads",
        "random_seed", "highs",
    ]  # fmt: skip
    assert 'did you mean "time_limit"?' in str(caught.value)
    assert str(path) in str(caught.value)


def test_no_such_profile(tmp_path: Path) -> None:
    """Tests that a missing file is bad input that names it, and an unknown name is answered with the nearest one."""
    with pytest.raises(InputError, match=r"absent\.toml: cannot be read"):
        load_profile(tmp_path / "absent.toml")
    with pytest.raises(UsageError, match='no solver profile "exakt": did you mean "exact"'):
        load_profile("exakt")


def test_wrong_value_in_code() -> None:
    """Tests that a profile made in code is checked as one in a file is."""
    with pytest.raises(UsageError, match="profile threads: 0 is not an integer from 1"):
        Profile("x", threads=0)
    with pytest.raises(UsageError, match=r"profile highs\.time_limit: is set by the profile itself"):
        Profile("x", highs={"time_limit": 3.0})
