"""The tables: each can be made, and the view of gaps shows the runs that have one."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pandas as pd
from sweeps import InProcess, small_plan

from optsched.sweeping.executing import carry_out
from optsched.sweeping.schema import SCHEMA


def test_tables() -> None:
    """Tests that the commands make the tables that the design names."""
    connection = sqlite3.connect(":memory:")
    for command in SCHEMA:
        connection.execute(command)
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
    assert names == {"instances", "sweeps", "optima", "runs", "planned", "gaps"}
    connection.close()


def test_pandas_reads_it(tmp_path: Path) -> None:
    """Tests that pandas reads runs and gaps with columns of one type, and nothing of this package."""
    carry_out(small_plan(), tmp_path / "a.sqlite", InProcess())
    connection = sqlite3.connect(tmp_path / "a.sqlite")
    runs = pd.read_sql("SELECT * FROM runs", connection)
    gaps = pd.read_sql("SELECT * FROM gaps", connection)
    connection.close()
    assert len(runs) == len(gaps) == 8
    assert runs["gap"].dtype == runs["objective"].dtype == float
    assert runs["seed"].dtype == int
    assert set(gaps["status"]) == {"done"}
    assert gaps.loc[gaps["heuristic"] == "lsap-sched", "gap"].eq(0).all()
