"""The program of `flow-congestion` in whole numbers: patterns cost what loads do, placements what columns do."""

from __future__ import annotations

import numpy as np
from congestion_instances import paper

from optsched.problems.congestion_loads import CongestionLoads
from optsched.routes import solve


def test_columns_and_rows() -> None:
    """Tests that a load costs what its pattern does, and is taken once a node."""
    problem = paper("hsu-two-clusters")
    loads = CongestionLoads(problem)
    program = loads.program
    for load in range(len(loads.host)):
        host = int(loads.host[load])
        where = int(np.flatnonzero((problem.patterns(host) == loads.added[load]).all(axis=1))[0])
        assert program.objective[load] == problem.pattern_units(host)[where]
    hosts = len(problem.hosts.first)
    assert program.row_upper[:hosts].tolist() == problem.hosts.size.tolist()
    assert program.row_upper[-2:].tolist() == program.row_lower[-2:].tolist() == problem.counts.tolist()


def test_a_placement_costs_what_its_columns_do() -> None:
    """Tests that the optimum's columns are in the rows and the box, and cost what it costs, in units."""
    from optsched.searches.flow_congestion import LoadProgram

    problem = paper("hsu-workload")
    solution = solve(problem)
    assert solution.decision is not None
    assert solution.objective is not None
    program = LoadProgram(problem)
    values = np.rint(program.start(solution.decision)).astype(np.int64)
    rows = program.program
    sums = np.zeros(len(rows.row_lower), dtype=np.int64)
    np.add.at(sums, rows.row, rows.value * values[rows.column])
    assert (rows.row_lower <= sums).all()
    assert (sums <= rows.row_upper).all()
    assert (values <= rows.upper).all()
    assert int(rows.objective @ values) == solution.objective[0] * problem.grid
