"""What is said of the columns of an instance: once, in step with the records of files, and nothing of the future."""

import inspect
import re
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from optsched.core.instance import HOPS, Cluster, Instance, Ragged, State, Workload
from optsched.core.parts import Column, Shuffle, columns_of
from optsched.instances.documents import format as documents
from optsched.instances.documents.format import RECORDS
from optsched.testing.policies import drawn_snapshot

COLUMNS = [column for part in (Cluster, Workload, Shuffle, State) for column in columns_of(part)]
TASK = documents.schema(documents.InstanceDocument)["$defs"]["Task"]

#: What is no column of the format: ids, names of labels, and what has an index of its own.
OTHERS = {"time", "rate_in_by_type", "topology", "shuffle", "pairs"}


@pytest.mark.parametrize("part", [Cluster, Workload, Shuffle, State])
def test_every_attribute_is_a_column(part: type[Cluster | Workload | Shuffle | State]) -> None:
    """Tests that nothing in a part is held without being said how, but for ids and what has its own form."""
    names = {held.name for held in fields(part)}
    others = {name for name in names if name.endswith("_ids") or name in OTHERS}
    assert {column.attribute for column in columns_of(part)} == names - others


@pytest.mark.parametrize("table", RECORDS)
def test_records_and_columns_are_the_same_fields(table: str) -> None:
    """Tests that each field of a record has its column and each column its field, in the order of the records."""
    names = [name for name in RECORDS[table].__struct_fields__ if name != "id"]
    assert [column.field for column in documents.TABLES[table]] == names
    assert sorted(column.field for column in COLUMNS if column.table == table) == sorted(names)


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: f"{column.table}.{column.field}")
def test_told_defaults_are_the_defaults(column: Column) -> None:
    """Tests that what the documents.schema says of a field that is not given is what the column then holds."""
    shown = re.search(
        rf"^{column.field}: .*; (\w+),? if not given",
        inspect.cleandoc(RECORDS[column.table].__doc__ or ""),
        re.M,
    )
    if column.default_of:
        expected: Any = "all"
    elif column.choices:
        expected = column.choices[int(column.default)]
    else:
        expected = None if np.isnan(column.default) or column.default == -1 else f"{column.default:g}"
    assert (shown[1] if shown else None) == expected


def test_choices_are_those_of_the_records() -> None:
    """Tests that the words for kinds, states and levels are the same in files and in columns."""
    for column in COLUMNS:
        if column.choices:
            assert sorted(TASK["properties"][column.field]["enum"]) == sorted(column.choices)
    assert documents.Hops.__struct_fields__ == documents.Times.__struct_fields__ == HOPS


def test_what_is_foreseen_of_a_workload() -> None:
    """Tests that a policy sees every column of what has arrived but those that only the future tells."""
    rows = {"tasks": np.arange(3) % 2, "jobs": np.arange(2), "groups": [1, 2]}
    given: dict[str, Any] = {column.attribute: rows[column.table] for column in columns_of(Workload)}
    given |= {name: {"cpu": np.array([1.0, 2.0, 3.0])} for name in ("demand", "demand_shuffle")}
    given |= {"times": np.ones((3, 3)), "replicas": Ragged.from_rows([[0], [1], [0, 1]])}
    ids = {"job_ids": ["i", "j"], "group_ids": ["g", "h"]}
    workload = Workload(["a", "b", "c"], **given, **ids, shuffle=Shuffle([0], [1], [5.0]))
    seen = workload.foreseen(np.array([2, 1]), np.array([1]))
    assert (seen.task_ids.tolist(), seen.job_ids.tolist(), seen.group_ids.tolist()) == (["c", "b"], ["j"], ["g", "h"])
    assert seen.job.tolist() == [-1, 0]
    assert [row.tolist() for row in seen.replicas] == [[0, 1], [1]]
    assert (seen.demand["cpu"].tolist(), seen.group_weight.tolist()) == ([3.0, 2.0], [1.0, 2.0])
    assert (seen.observed.tolist(), np.isnan(seen.duration).all(), seen.shuffle) == ([-1, -1], True, None)
    assert (seen.times.shape, np.isnan(seen.times).all()) == ((2, 3), True)
    for column in columns_of(Workload):
        if column.form in ("number", "rates", "choice") and column.table == "tasks" and not column.hindsight:
            assert getattr(seen, column.attribute).tolist() == [0, 1], column.field
    assert {column.field for column in columns_of(Workload) if column.hindsight} == {"observed", "duration", "times"}


@pytest.mark.parametrize("seed", range(4))
def test_the_first_tasks_are_what_is_foreseen_of_them(seed: int) -> None:
    """Tests windows on the first tasks and jobs against the same columns taken out one by one."""
    snapshot = drawn_snapshot(seed)
    cluster, workload = snapshot.cluster, snapshot.workload
    order = np.argsort(np.append(workload.arrival, -np.inf)[workload.job], kind="stable")
    jobs = np.argsort(workload.arrival, kind="stable")
    whole = workload.foreseen(order, jobs)
    for time in np.unique(workload.arrival).tolist():
        tasks = int(np.count_nonzero(~(np.append(workload.arrival, -np.inf)[workload.job] > time)))
        there = int(np.count_nonzero(workload.arrival <= time))
        taken, window = workload.foreseen(order[:tasks], jobs[:there]), whole.first(tasks, there)
        one, other = (Instance(cluster, workload) for workload in (taken, window))
        assert one.sha256 == other.sha256
