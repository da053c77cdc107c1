"""Copies: every noun, problem and result survives pickle and `copy` with the same content, as process pools need."""

import copy
import dataclasses
import enum
import inspect
import pickle
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from types import UnionType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from msgspec import Struct
from small_problems import NAMES, small_problem

import optsched
from optsched.certificates import Verdict
from optsched.core.errors import Fault
from optsched.core.results import Bound
from optsched.heuristics.probabilistic import Tuning, tune_p_min
from optsched.instances.library import Entry, library
from optsched.measuring.decomposing import Decompositions, decompose_all
from optsched.measuring.explaining import ScheduleExplanation
from optsched.measuring.judging import Claim
from optsched.measuring.matrix import GapMatrix, gap_matrix
from optsched.measuring.reproducing import PaperFigure
from optsched.problems.base import BaseProblem, TaskProblem
from optsched.routes import Frontier


def lsap() -> Any:
    """A problem of placing."""
    return optsched.problem("lsap", "papers/guo-fig2")


def latency() -> Any:
    """A problem with a frontier."""
    return optsched.problem("latency", "papers/guo-fig2")


def timed() -> Any:
    """A problem over time."""
    return optsched.problem("makespan", "examples/order-of-jobs")


#: What makes one of each kind; those that a public function returns, and those that users hold besides.
MADE: dict[type, Callable[[Path], Any]] = {
    optsched.Certificate: lambda folder: optsched.solve(lsap()).certificates[0],
    optsched.Decomposition: lambda folder: optsched.decompose(timed(), "fair"),
    optsched.Explanation: lambda folder: optsched.explain(lsap(), "dl"),
    optsched.Family: lambda folder: optsched.Family("lsap", range(2), {"nodes": 4}),
    optsched.Find: lambda folder: optsched.mine("dl,reading=heartbeat", "lsap", budget=30),
    optsched.FlowNetwork: lambda folder: optsched.load("examples/negative-cycle"),
    optsched.GapReport: lambda folder: optsched.gap(lsap(), "dl"),
    optsched.GapReports: lambda folder: optsched.study("papers/guo-fig2", "lsap", "dl"),
    optsched.InputError: lambda folder: optsched.InputError([Fault("tasks[0]", "is wrong")], "a.json"),
    optsched.Instance: lambda folder: optsched.load("papers/guo-fig2"),
    optsched.Limit: lambda folder: optsched.Limit.TIME,
    optsched.OptschedError: lambda folder: optsched.OptschedError("no"),
    optsched.Placement: lambda folder: optsched.Placement(np.array([0, -1])),
    optsched.Proof: lambda folder: optsched.Proof.DUAL,
    optsched.Schedule: lambda folder: optsched.Schedule.of([(0, 0), None]),
    optsched.Simulation: lambda folder: optsched.simulate(timed().instance, "fair"),
    optsched.Solution: lambda folder: optsched.solve(lsap()),
    optsched.State: lambda folder: timed().instance.state,
    optsched.Sweep: lambda folder: optsched.sweep(folder / "a.sqlite", "papers/guo-fig2", "lsap", "dl"),
    optsched.Termination: lambda folder: optsched.Termination.OPTIMAL,
    optsched.UsageError: lambda folder: optsched.UsageError("no"),
    BaseProblem: lambda folder: lsap(),
    Claim: lambda folder: optsched.claims("agosta")[0],
    PaperFigure: lambda folder: optsched.figure("agosta/5a"),
    Bound: lambda folder: optsched.bounds(latency())[0],
    Decompositions: lambda folder: decompose_all(timed(), ["fair", "fifo"]),
    Entry: lambda folder: library()["papers/guo-fig2"],
    Frontier: lambda folder: optsched.frontier(latency()),
    GapMatrix: lambda folder: gap_matrix([lsap(), latency()]),
    ScheduleExplanation: lambda folder: optsched.explain(timed(), "fifo"),
    Tuning: lambda folder: tune_p_min(small_problem("transmission-maps", 2), grid=[0.1, 0.5]),
    Verdict: lambda folder: optsched.certify(lsap(), optsched.solve(lsap())),
}


def kinds_of(hint: Any) -> Iterator[type]:
    """The classes of this package in an annotation."""
    if typing.get_origin(hint) in (UnionType, typing.Union, tuple, list):
        for part in typing.get_args(hint):
            yield from kinds_of(part)
    kind = typing.get_origin(hint) or hint
    if isinstance(kind, type) and kind.__module__.startswith("optsched."):
        yield kind


def test_every_kind_is_here() -> None:
    """Tests that each public class, and each class that a public function returns, is among the above."""
    public = [getattr(optsched, name) for name in optsched.__all__]
    found = {value for value in public if isinstance(value, type)}
    for value in public:
        if inspect.isfunction(value):
            found.update(kinds_of(typing.get_type_hints(value, localns={"Figure": object})["return"]))
    assert found - set(MADE) == set()


def content(value: Any) -> Any:
    """What can be compared of a value: all that it holds but what it worked out, down to numbers and texts."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, repr(value.tolist())
    if isinstance(value, pd.DataFrame):
        return value.to_dict()
    if isinstance(value, Mapping):
        return type(value).__name__, [(key, content(entry)) for key, entry in value.items()]
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return type(value).__name__, [content(entry) for entry in value]
    if isinstance(value, BaseProblem):
        return type(value), content(value.instance), content(value.parameters)
    if isinstance(value, BaseException):
        return type(value), str(value)
    if isinstance(value, partial):
        return value.func, content(value.args), content(value.keywords)
    if isinstance(value, type | enum.Enum) or callable(value) or not type(value).__module__.startswith("optsched."):
        return value
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    elif isinstance(value, Struct):
        names = list(value.__struct_fields__)
    else:
        worked_out = {name for name in dir(type(value)) if isinstance(getattr(type(value), name), cached_property)}
        names = sorted(name for name in vars(value).keys() - worked_out if not name.startswith("_"))
    return type(value), [(name, content(getattr(value, name))) for name in names]


WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


@cache
def made(kind: type, folder: Path) -> Any:
    """One of a kind."""
    return MADE[kind](folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what needs one."""
    return tmp_path_factory.mktemp("copies")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.__name__)
def test_a_copy_is_the_same(kind: type, way: str, folder: Path) -> None:
    """Tests content and what is shown, of the copy and of the original afterwards."""
    first = made(kind, folder)
    assert isinstance(first, kind)
    before = content(first), str(first)
    again = WAYS[way](first)
    assert type(again) is type(first)
    assert (content(again), str(again)) == (content(first), str(first)) == before


@pytest.mark.parametrize("name", NAMES)
def test_a_problem_solved_elsewhere(name: str) -> None:
    """Tests that a copy of each problem of the registry judges, is solved, and has parameters as the problem does."""
    problem = small_problem(name, 3)
    solution = optsched.solve(problem)
    bounds = optsched.bounds(problem)
    if isinstance(problem, TaskProblem):
        str(optsched.explain(problem, solution.decision))
    for way, copied in WAYS.items():
        again = copied(problem)
        assert content(again) == content(problem), way
        assert (again.given, optsched.bounds(again)) == (problem.given, bounds), way
        with pytest.raises(TypeError):
            again.parameters["new"] = 1
        assert optsched.solve(again).objective == solution.objective, way
        if solution.decision is not None:
            assert again.evaluate(copied(solution.decision)) == solution.objective, way
