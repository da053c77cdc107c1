"""The program of `flow-congestion` in whole numbers: loads on hosts, and tasks of classes on them."""

from __future__ import annotations

import numpy as np

from optsched.instance import Ints
from optsched.problems.flow_congestion import FlowCongestion
from optsched.problems.relaxations import IntegerProgram

__all__ = ["CongestionLoads"]


class CongestionLoads:
    """Loads on hosts and tasks of classes on them, at least cost; loads are patterns, of which a node takes one.

    Columns are the loads, then the pairs of class and host. Rows: a host has no more patterns than nodes; the loads of
    a host hold as many tasks of each type as go there; the supply of each class; how many tasks of each kind run.

    Parameters
    ----------
    problem
        What to solve.

    Attributes
    ----------
    host, added, units, most
        Of each load: its host; tasks of each type, shape (loads, types); cost; how often it may be taken.
    pair_class, pair_host
        Class and host of each pair.
    """

    def __init__(self, problem: FlowCongestion) -> None:
        self.problem = problem
        hosts, types = len(problem.hosts.first), len(problem.type_kind)
        tables = [(problem.patterns(host), problem.pattern_units(host)) for host in range(hosts)]
        added, units = [rows[1:] for rows, _ in tables], [costs[1:] for _, costs in tables]
        self.host: Ints = np.repeat(np.arange(hosts), np.array([len(rows) for rows in added], dtype=np.int64))
        self.added: Ints = np.concatenate((np.zeros((0, types), dtype=np.int64), *added))
        self.units: Ints = np.concatenate((np.zeros(0, dtype=np.int64), *units))
        self.most: Ints = problem.hosts.size[self.host]
        nodes = problem.idle_nodes[problem.hosts.first]
        offered = problem.slots[problem.type_kind[problem.class_type]][:, nodes] > 0
        self.pair_class, self.pair_host = (side.astype(np.int64) for side in np.nonzero(offered))

    @property
    def program(self) -> IntegerProgram:
        """The program, in the problem's units."""
        problem = self.problem
        hosts, types = len(problem.hosts.first), len(problem.type_kind)
        classes, loads, pairs = len(problem.classes.first), len(self.host), len(self.pair_class)
        linked = hosts + np.arange(hosts * types).reshape(hosts, types)
        supply = hosts + hosts * types
        load, type_of_load = np.nonzero(self.added)
        pair = loads + np.arange(pairs)
        pair_type = problem.class_type[self.pair_class]
        rows = (
            self.host,
            linked[self.host[load], type_of_load],
            linked[self.pair_host, pair_type],
            supply + self.pair_class,
            supply + classes + problem.type_kind[pair_type],
        )
        columns = (np.arange(loads), load, pair, pair, pair)
        ones = np.ones(pairs, dtype=np.int64)
        values = (np.ones(loads, dtype=np.int64), -self.added[load, type_of_load], ones, ones, ones)
        none = np.zeros(supply - hosts, dtype=np.int64)
        read = problem.read_units[self.pair_class, problem.hosts.first[self.pair_host]]
        return IntegerProgram(
            objective=np.concatenate((self.units, read)),
            row=np.concatenate(rows),
            column=np.concatenate(columns),
            value=np.concatenate(values),
            row_lower=np.concatenate((np.zeros(supply + classes, dtype=np.int64), problem.counts)),
            row_upper=np.concatenate((problem.hosts.size, none, problem.classes.size, problem.counts)),
            lower=np.zeros(loads + pairs, dtype=np.int64),
            upper=np.concatenate((self.most, problem.classes.size[self.pair_class])),
        )
