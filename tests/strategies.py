"""Tiny problems for hypothesis: those on which every problem is held against its oracle (`oracles.documents`).

Numbers are as people write them, some tasks run or have ended, and parameters are drawn too. A failure shows the number
of the document: `oracles.documents.drawn(name, number)` has its text.
"""

from typing import Any

from hypothesis import strategies as st
from oracles.documents import drawn
from oracles.latency import Latency

from optsched.core.instance import Instance
from optsched.instances.files import parse
from optsched.problems import PROBLEMS

#: Documents have numbers below this.
_DOCUMENTS = 10**6


def instances(name: str = "fair-lsap") -> st.SearchStrategy[Instance]:
    """Instances with the fields of a problem."""
    return problems(name).map(lambda problem: problem.instance)


def problems(name: str, tasks: int = 6, nodes: int = 4, **fixed: Any) -> st.SearchStrategy[Any]:
    """The problem called `name` on an instance with at most so many tasks and nodes; parameters may be `fixed`."""
    found = st.integers(0, _DOCUMENTS - 1).map(lambda number: posed(name, number, fixed))
    return found.filter(lambda problem: len(problem.tasks) <= tasks and len(problem.instance.cluster) <= nodes)


def posed(name: str, number: int, fixed: dict[str, Any]) -> Any:
    """The problem on a document; loads of `latency` are made whole as it says."""
    document = drawn(name, number)
    text, parameters = document.text, document.call
    if name == "latency":
        text, parameters = Latency(document.text, document.parameters).scaled()
    return PROBLEMS[name](parse(text), **{**parameters, **fixed})
