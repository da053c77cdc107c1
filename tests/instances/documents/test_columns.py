"""From records to columns and back: numbering, defaults, names, and the limits of what is held densely."""

import copy
from typing import Any

import numpy as np
import pytest
from strategies import FULL

from optsched.core.errors import InputError
from optsched.core.instance import Cluster, Instance, Workload
from optsched.instances.documents import columns
from optsched.instances.documents.columns import MOST_RESOURCES
from optsched.instances.files import from_document, to_document, to_json


def plain(instance: Instance) -> Any:
    """The same content from a document, to see that nothing but the content counts."""
    return from_document(to_document(instance))


def document(nodes: Any = ({"id": "a"},), tasks: Any = ()) -> dict[str, Any]:
    """A document of these nodes and tasks."""
    return {"format": "optsched/1", "nodes": list(nodes), "tasks": list(tasks)}


def test_documents_are_not_kept() -> None:
    """Tests that changing a document afterwards, or what `to_document` gave, changes no instance."""
    given = copy.deepcopy(FULL)
    instance = from_document(given)
    digest = to_json(instance)
    given["parameters"]["lsap"]["levels"].append(9)
    to_document(instance)["parameters"]["lsap"]["levels"].append(9)
    assert to_json(instance) == digest


def test_numbering_of_racks_does_not_count() -> None:
    """Tests that an instance whose racks are numbered otherwise has the digest of its file."""
    cluster = Cluster(["a", "b"], rack=[2, 0], rack_ids=["x", "unused", "y"], type=[1, 0], type_ids=["p", "q"])
    instance = Instance(cluster, Workload(["t"], rate_in_by_type=np.array([[1.0, 2.0]])))
    assert plain(instance).sha256 == instance.sha256
    assert to_document(plain(instance)) == to_document(instance)


def test_dense_columns_are_limited() -> None:
    """Tests that a small file cannot ask for a huge table by naming many resources."""
    nodes = [{"id": str(row), "capacity": {f"r{row}": 1}} for row in range(MOST_RESOURCES + 1)]
    with pytest.raises(InputError, match=r"nodes\.capacity: has more than 100 different names"):
        from_document(document(nodes=nodes))


def test_rates_by_type_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a table of tasks by node types past the limit is refused before it is made."""
    monkeypatch.setattr(columns, "MOST_CELLS", 8)
    tasks = [{"id": name, "rate_in": {"a": 1}} for name in "abc"]
    with pytest.raises(InputError, match=r"tasks\.rate_in: 3 tasks by 3 types is past 8 rates"):
        from_document(document(nodes=[{"id": name, "type": name} for name in "abc"], tasks=tasks))


def test_times_that_are_not_given_do_not_count() -> None:
    """Tests that an instance has the digest that it had before the format knew of times, and another one with times."""
    one = from_document(document(tasks=[{"id": "t"}]))
    other = from_document(document(tasks=[{"id": "t", "times": {"node": 1, "off_rack": 2}}]))
    assert one.sha256 == "071f498e5786d31df30a73ff5346ba18545a0e8d6a0c79d104c34c7c26c161bf"
    assert other.sha256 != one.sha256
