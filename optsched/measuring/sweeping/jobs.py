"""What a process of its own does for a sweep: solve one problem, or run one heuristic and judge it.

Jobs and what they answer can be pickled. A process keeps what several jobs in a row share: the problem as it is posed,
and the reference with what was asked of it.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from optsched.core.fingerprint import code_version
from optsched.core.results import Solution
from optsched.heuristics import run
from optsched.measuring.gaps import Reference, gap_of
from optsched.measuring.sweeping.keys import optimum_key, source_digest
from optsched.problems import problem_class
from optsched.problems.base import TaskProblem
from optsched.processes.worker import refused
from optsched.solvers.profiles import Profile

__all__ = ["OptimumJob", "Packed", "Refused", "RunJob", "execute"]

code_version()  # a supervisor that has loaded this module forks for each job, which then need not look


@dataclass(frozen=True)
class Packed:
    """A problem as jobs carry it: packed once, and only unpacked where it is not held already.

    Attributes
    ----------
    key
        Of its optimum.
    content
        The problem as it is posed, and the profile by which it is solved.
    """

    key: str
    content: bytes = field(repr=False)

    @classmethod
    def of(cls, key: str, problem: TaskProblem[Any], profile: Profile) -> Packed:
        """A problem as it is posed."""
        return cls(key, pickle.dumps((problem.name, dict(problem.parameters), problem.instance, profile)))


@dataclass(frozen=True)
class OptimumJob:
    """Solve a problem, within the time limit of its profile."""

    problem: Packed


@dataclass(frozen=True)
class RunJob:
    """Run a heuristic on a problem, and judge it.

    Attributes
    ----------
    problem
        What it is run on.
    reference
        The solution that it is measured against, pickled.
    heuristic, parameters, source
        The name that leads to it, what it is called with, and the digest of its source.
    seed
        As for `optsched.gap`.
    """

    problem: Packed
    reference: bytes = field(repr=False)
    heuristic: str
    parameters: Mapping[str, Any]
    source: str
    seed: int


@dataclass(frozen=True)
class Refused:
    """The job would not give what it is to be kept as; `told` says why."""

    told: str


def execute(job: OptimumJob | RunJob) -> Solution | dict[str, Any] | Refused:
    """The solution of a problem, or the record of a run.

    Examples
    --------
    >>> import optsched
    >>> from optsched.solvers.profiles import load_profile
    >>> problem, profile = optsched.problem("lsap", "papers/guo-fig2"), load_profile("exact")
    >>> packed = Packed.of(optimum_key(problem, profile), problem, profile)
    >>> solution = execute(OptimumJob(packed))
    >>> solution.objective
    (0,)
    >>> record = execute(RunJob(packed, pickle.dumps(solution), "dl", {}, source_digest("dl"), 0))
    >>> record["objective"], record["reference"], record["certificate"]
    (1, 0, 'dual')
    """
    with redirect_stdout(sys.stderr):  # what a heuristic or solver prints is no data
        problem, profile = _posed(job.problem)
        if optimum_key(problem, profile) != job.problem.key:
            told = f"optsched {code_version()} runs there, or a package of another version that brings a problem"
            return Refused(told)
        if isinstance(job, OptimumJob):
            return Reference.solved(problem, profile).solution
        if source_digest(job.heuristic) != job.source:
            return Refused(f"heuristic {job.heuristic} has another source there than when the sweep began")
        ran = run(problem, job.heuristic, job.seed, time_limit=profile.time_limit, **job.parameters)
        if ran.cause is not None and refused(ran.cause):
            raise ran.cause  # there was not memory enough: this is no answer of the heuristic
        reference = _reference(job.problem, job.reference)
        return gap_of(problem, ran, job.seed, reference).record()


@lru_cache(maxsize=4)
def _posed(packed: Packed) -> tuple[TaskProblem[Any], Profile]:
    name, parameters, instance, profile = pickle.loads(packed.content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has warned where it was posed first
        problem = problem_class(name)(instance, **parameters)
    assert isinstance(problem, TaskProblem)  # flow networks have no heuristics, and so no place in a plan
    return problem, profile


@lru_cache(maxsize=4)
def _reference(packed: Packed, solution: bytes) -> Reference:
    problem, profile = _posed(packed)
    return Reference(problem, profile, solution=pickle.loads(solution))
