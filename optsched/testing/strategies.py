"""Strategies of hypothesis: small instances of each problem's family, which shrink to smaller ones.

For property tests of your own scheduler::

    from hypothesis import given
    from optsched.testing.strategies import problems

    @given(problems("lsap"))
    def test_places_all_that_fit(problem):
        ...

Sizes and seed of the family are drawn, and which records stay; a failing example loses tasks, nodes and replicas as
long as it fails. Half the instances are hard for greedy rules: they have as many tasks as slots, several replicas of
each block, and some a planted optimum. The document of the final example is printed with it, for `optsched.load`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from optsched.core.errors import InputError, UsageError, expect_known, nearest
from optsched.core.instance import Instance
from optsched.core.network import FlowNetwork
from optsched.core.registry import record
from optsched.instances.files import from_document, to_document
from optsched.instances.generate import FAMILIES, generate
from optsched.measuring.mining.documents import Document, numbered_anew, without
from optsched.measuring.mining.walking import hard_shapes
from optsched.problems import AnyProblem
from optsched.problems.parameters import resolve

try:
    from hypothesis import note, reject
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError("optsched.testing.strategies needs hypothesis: pip install optsched[hypothesis]") from error

__all__ = ["instances", "problems"]

#: The largest seed: enough variety, and short to read.
_SEEDS = 2**16

#: Settings that cannot exceed the number of nodes.
_WITHIN_NODES = ("replicas", "racks", "datacenters", "types")

#: A record that draws 0 of 0 to this number is dropped, and so is a replica; most instances stay whole.
_STAY = 24


def problems(
    problem: str,
    *,
    family: str | None = None,
    most_nodes: int = 5,
    most_tasks: int = 8,
    sizes: Mapping[str, Any] | None = None,
    **parameters: Any,
) -> st.SearchStrategy[Any]:
    """A problem posed on small instances, by its name.

    Parameters
    ----------
    problem
        Its name.
    family, most_nodes, most_tasks, sizes
        As for `instances`.
    parameters
        Of the problem, the same in every example.

    Raises
    ------
    UsageError
        If there is no such problem, family or setting, or a size is invalid.

    Examples
    --------
    >>> strategy = problems("latency", w_rem=5)
    >>> strategy.filter(lambda drawn: drawn.w_rem == 5) is not None
    True
    """
    entry, given = record(problem), dict(sizes or {})
    name = family if family is not None else entry.family
    if name is None or name not in FAMILIES:
        raise UsageError(f'no family "{name}" to draw {problem} from; {nearest(str(name), list(FAMILIES))}')
    if most_nodes < 1 or most_tasks < 1:
        raise UsageError(
            f"most_nodes={most_nodes}, most_tasks={most_tasks}: an instance has one node and task at least"
        )
    for setting, value in given.items():
        expect_known(setting, FAMILIES[name].parameters, f'{name}: no parameter "{setting}"')
        FAMILIES[name].parameters[setting].check(name, setting, value)
    resolve(problem, entry.problem_class.parameter_table, parameters)
    usual = dict(entry.sizes) if name == entry.family else {}
    most = {"nodes": most_nodes, "tasks": most_tasks}
    plain = _posed(entry.problem_class, name, usual, most, given, parameters)
    if family is not None:
        return plain
    hard = [
        _posed(entry.problem_class, shape, {}, most, {**values, **given}, parameters)
        for nodes in range(3, min(most_nodes, most_tasks) + 1)
        for shape, values in hard_shapes(name, usual, nodes)
        if set(given) <= set(FAMILIES[shape].parameters)
    ]
    return plain | st.one_of(hard) if hard else plain


def instances(
    problem: str,
    *,
    family: str | None = None,
    most_nodes: int = 5,
    most_tasks: int = 8,
    sizes: Mapping[str, Any] | None = None,
) -> st.SearchStrategy[Any]:
    """Small instances on which a problem can be posed; flow networks for `min-cost-flow`.

    Parameters
    ----------
    problem
        Its name.
    family
        The source, a name of `optsched list families`; by default the problem's own family, its instances made tight,
        and those with a planted optimum.
    most_nodes, most_tasks
        No instance has more.
    sizes
        Settings of the family that are fixed: `{"replicas": 3}`.

    Raises
    ------
    UsageError
        If there is no such problem, family or setting, or a size is invalid.

    Examples
    --------
    >>> from hypothesis import find, settings
    >>> small = instances("lsap", most_nodes=3, most_tasks=3)
    >>> find(small, lambda instance: len(instance.cluster) > 1, settings=settings(derandomize=True))
    <Instance drawn: 1 task, 2 nodes>
    """
    drawn = problems(problem, family=family, most_nodes=most_nodes, most_tasks=most_tasks, sizes=sizes)
    return drawn.map(lambda posed: posed.instance)


@st.composite
def _posed(
    draw: st.DrawFn,
    kind: type[AnyProblem],
    family: str,
    usual: Mapping[str, Any],
    most: Mapping[str, int],
    fixed: Mapping[str, Any],
    parameters: Mapping[str, Any],
) -> AnyProblem:
    """A problem on an instance from which records may be missing."""
    values = dict(usual) | _sizes(draw, family, usual, most, fixed) | dict(fixed)
    try:
        drawn = generate(family, draw(st.integers(0, _SEEDS)), **values)
    except UsageError:  # settings that cannot be combined
        reject()
    if isinstance(drawn, Instance):
        drawn = _fewer(draw, drawn)
    try:
        posed = kind(drawn, **parameters)
    except InputError:  # without the missing records it cannot be posed
        reject()
    if not isinstance(drawn, FlowNetwork) and not len(posed.tasks):  # type: ignore[attr-defined]
        reject()
    note(f"instance: {json.dumps(to_document(drawn))}")
    return posed


def _sizes(
    draw: st.DrawFn, family: str, usual: Mapping[str, Any], most: Mapping[str, int], fixed: Mapping[str, Any]
) -> dict[str, int]:
    """Whole numbers for the settings that are counts."""
    values: dict[str, int] = {}
    nodes = int(fixed.get("nodes", most["nodes"]))
    for name, setting in FAMILIES[family].parameters.items():
        drawn = name in usual or name in most or name in _WITHIN_NODES
        if name in fixed or not drawn or not isinstance(setting.default, int):
            continue
        high = most.get(name, max(2, int(usual.get(name, setting.default))))
        high = min(high, nodes) if name in _WITHIN_NODES else high
        low = max(int(setting.minimum), 1)
        values[name] = draw(st.integers(low, max(low, min(high, int(setting.maximum)))))
        nodes = values[name] if name == "nodes" else nodes
    return values


def _fewer(draw: st.DrawFn, drawn: Instance) -> Instance:
    """The instance without some of its tasks and nodes, and without some replicas.

    A record is dropped if 0 is drawn, towards which hypothesis shrinks, and else stays: most do.
    """
    document: Document = to_document(drawn)
    before = json.dumps(document)
    for table in ("tasks", "nodes"):
        count = len(document[table])
        stays = draw(st.lists(st.integers(0, _STAY), min_size=count, max_size=count))
        for at in reversed(range(count)):
            if not stays[at] and len(document[table]) > 1:
                document = without(document, table, at)
    for task in document["tasks"]:
        held = task.get("replicas", [])
        if held:
            task["replicas"] = held[: draw(st.integers(0, _STAY * len(held)))]
    if json.dumps(document) == before:
        return drawn
    # The family's statements about the whole, including its optimum, do not hold for the rest.
    labels = {"generated": f"{drawn.labels['generated']}, with records taken away"}
    document = numbered_anew(document) | {"name": "drawn", "source": "", "labels": labels}
    try:
        found = from_document(document)
    except InputError:
        reject()
    assert isinstance(found, Instance)
    return found
