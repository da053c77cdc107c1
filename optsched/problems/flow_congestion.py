"""`flow-congestion`: tasks to slots at least flow-rate penalty, with the load that the batch adds (Hsu and Freeh).

`flow` freezes the effective load as it is before the decision. Here the load of a node includes what runs there and
what is placed there. `flow` defines Hsu and Freeh's quantities (rates, sources, distances). Both problems freeze r_out,
the load of the nodes that are read from, as it was before the decision: Hsu and Freeh's first condition of overload is
frozen.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from optsched.core.arrays import places_in
from optsched.core.decimals import decimal
from optsched.core.errors import Fault, InputError, TooLarge
from optsched.core.instance import KINDS, LARGEST, MAP, REDUCE, Bools, Floats, Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Bound, Component, Number, Proof, Sense, Value, Violation
from optsched.problems.base import GRID, Problem, exact, on_grid, overfull, pending_of
from optsched.problems.counted_places import TaskClasses
from optsched.problems.demands import task_rates
from optsched.problems.flow import F_C, SCALE, rate_faults, running_rates, source_faults, source_terms
from optsched.problems.parameters import Parameter, choice, switch
from optsched.problems.programs import Builder, Members, Program, Programmed

#: The most patterns that are listed for all distinct nodes, and the most numbers in all lists.
MOST_PATTERNS, MOST_ENTRIES = 2_000_000, 2**25


class FlowCongestion(Problem, Programmed):
    """Place as many tasks as there are slots for, at least flow-rate penalty under the load that they cause together.

    A task with input rate R on node m costs R (1 + read) + R (1 + e_m/scale): Hsu and Freeh, section 3.2, with e_m the
    effective load of what runs on m *and of all tasks that are placed there*: the sum of their rates less their
    population standard deviation. e_m is never negative, since a deviation is at most the root of the mean square,
    which is at most the sum.

    A map reads from its best replica s: read = r_out(s)/R_out(s) + f_c(s, m). A map without replicas reads from outside
    all racks, from a source without load. A reduce reads from each node k on which maps ran or run whose output it
    needs (`shuffle`, more than 0 MB): R (1 + read) is replaced by the sum of R (1 + r_out(k)/R_out(k) + f_c(k, m)) over
    k. It is an assumption that e_m costs a reduce the same as a map (Hsu and Freeh, note 8).

    r_out is frozen for both kinds: tasks that are placed together and read from one source ignore each other, though
    Hsu and Freeh's first condition of overload counts them. A placement does not say who reads where, and finding the
    best sources for a given placement is as hard as PARTITION. Readers only add to r_out, so the optimum here is a
    lower bound of the penalty that counts them.

    Maps take idle slots, reduces idle reduce slots. Exactly min(tasks, slots) of either kind are placed. Running and
    placed tasks of both kinds load a node. The load cost of a node's set of tasks is rounded once to a multiple of
    2^-20, and so is each task's cost of reading.

    Attributes
    ----------
    slots
        int64, shape (2, nodes): idle slots for maps and for reduces, at most the number of tasks of the kind.
    counts
        int64, shape (2,): how many maps and how many reduces are placed.
    idle_nodes
        int64, shape (idle nodes,): indices of the nodes with a slot for a task to place.
    types
        Tasks of the same kind and rates, which load nodes alike.
    type_kind, type_rates
        Kind of each type, int64, shape (types,); its input rate on each idle node, MB/s, shape (types, idle nodes), 0
        if there is no slot for its kind.
    classes
        Tasks of the same type that also read alike.
    class_type
        int64, shape (classes,).
    read_units
        int64, shape (classes, idle nodes): what a task pays for reading, in units of 1/`grid`.
    hosts
        Idle nodes that nothing distinguishes (positions in `idle_nodes`): same slots, loads, rates and read costs.
    running_rates
        For each of `idle_nodes` the input rates of what runs there, MB/s, increasing.

    Examples
    --------
    Two Terasorts of 9.14 MB/s on two idle nodes cost less apart than together, though `flow` sees no difference:

    >>> from optsched.core.instance import Cluster, Workload
    >>> cluster = Cluster(["n1", "n2"], slots=[2, 2], rate_in=[85, 85])
    >>> problem = FlowCongestion(Instance(cluster, Workload(["t1", "t2"], rate_in=[9.14, 9.14])), f_c=(0, 0, 0))
    >>> [f"{float(problem.evaluate(problem.placement(nodes))[0]):.3f}" for nodes in ([0, 1], [0, 0])]
    ['38.526', '40.491']
    """

    name = "flow-congestion"
    title = "tasks to slots, least flow-rate penalty, with the load that they add to nodes (that of storage frozen)"
    paper = "002"
    kinds = (MAP, REDUCE)
    components = (Component("penalty", Sense.MIN, "MB/s"),)
    parameter_table = (
        F_C,
        SCALE,
        Parameter(
            "deviation", True, switch, "whether e_m is less the standard deviation of rates, as the paper has it"
        ),
        Parameter(
            "weights",
            "literal",
            choice("literal", "shuffle"),
            "of a reduce's sources: 1 each as in Hsu and Freeh, or each one's share of the MB that it reads",
        ),
    )
    requires = (
        "tasks[].rate_in",
        "nodes[].rate_out of nodes with replicas, or with output of maps that pending reduces need",
        "nodes[].rate_in of nodes with idle slots, unless scale is a number",
    )
    proof = Proof.DUAL
    grid = GRID

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        state, pending = instance.state, [pending_of(instance, which) for which in cls.kinds]
        idle = (state.idle_slots > 0, state.idle_reduce_slots > 0)
        offers = {which: (pending[which], idle[which] & bool(len(pending[which]))) for which in cls.kinds}
        yield from rate_faults(cls.name, instance, offers, parameters["scale"])
        held = instance.replicas.take(pending[MAP]).values
        emitted = [node for sources in _emitted(instance, pending[REDUCE]).values() for node in sources]
        yield from source_faults(cls.name, instance, np.unique(np.append(held, emitted).astype(np.int64)))

    def prepare(self) -> None:
        instance = self.instance
        cluster, scale = instance.cluster, self.parameters["scale"]
        self.kind: Ints = instance.workload.kind[self.tasks]
        tasks = np.bincount(self.kind, minlength=len(KINDS)).astype(np.int64)
        idle = np.stack((instance.state.idle_slots, instance.state.idle_reduce_slots))
        self.slots: Ints = np.minimum(idle, tasks[:, None]).astype(np.int64)
        self.counts: Ints = np.minimum(tasks, self.slots.sum(axis=1)).astype(np.int64)
        self.idle_nodes: Ints = np.flatnonzero(self.slots.any(axis=0)).astype(np.int64)
        self._column = np.full(len(cluster), -1, dtype=np.int64)
        self._column[self.idle_nodes] = np.arange(len(self.idle_nodes))
        self._divisor = np.empty(len(self.idle_nodes))
        self._divisor[:] = getattr(cluster, scale)[self.idle_nodes] if isinstance(scale, str) else scale
        self.running_rates: list[Floats] = [
            np.sort(rates) for rates in running_rates(instance, self.idle_nodes, self.kinds)
        ]
        self._prepare_types()
        self._prepare_reading()
        self._prepare_hosts()
        for array in (self.slots, self.counts, self.type_kind, self.type_rates, self.class_type, self.read_units):
            array.setflags(write=False)
        self._refuse_large_costs()

    def _prepare_types(self) -> None:
        node_types = self.instance.cluster.type[self.idle_nodes]
        used, column = np.unique(node_types, return_inverse=True)
        rates = task_rates(self.instance, self.tasks)[:, used]
        for which in self.kinds:  # if a kind has no slot, its rates may be unknown
            offered = np.unique(column[self.slots[which, self.idle_nodes] > 0])
            rates[np.ix_(self.kind == which, ~np.isin(np.arange(len(used)), offered))] = 0.0
        keys, of_task = np.unique(np.column_stack((self.kind, rates)), axis=0, return_inverse=True)
        first, size = np.unique(of_task, return_index=True)[1], np.bincount(of_task.ravel(), minlength=len(keys))
        self.types = TaskClasses(of_task.ravel(), first.astype(np.int64), size.astype(np.int64))
        self.type_kind: Ints = keys[:, 0].astype(np.int64)
        self.type_rates: Floats = keys[:, 1:][:, column].astype(np.float64)

    def _prepare_reading(self) -> None:
        """Prepare each task's cost of reading, and the classes of tasks that are then exactly alike."""
        sources, types = self._sources(), self.types.of_task
        alike = TaskClasses.from_keys(list(zip(types.tolist(), sources, strict=True)))
        kinds = types[alike.first]
        with np.errstate(over="ignore", invalid="ignore"):  # `on_grid` turns such a cost into one that is refused
            terms = self._read_terms(kinds, [sources[position] for position in alike.first.tolist()])
            units = on_grid(self.type_rates[kinds] * terms)
        keys = [(kind, row.tobytes()) for kind, row in zip(kinds.tolist(), units, strict=True)]
        self.classes = TaskClasses.from_keys([keys[row] for row in alike.of_task.tolist()])
        self.class_type: Ints = types[self.classes.first]
        self.read_units: Ints = units[alike.of_task[self.classes.first]]

    def _sources(self) -> list[tuple[tuple[int, float], ...]]:
        """The nodes that each task reads from (or, for a map, may read from), with their weights."""
        emitted = _emitted(self.instance, self.tasks[self.kind == REDUCE])
        shared = self.parameters["weights"] == "shuffle"
        sources: list[tuple[tuple[int, float], ...]] = []
        for task, kind, replicas in zip(self.tasks.tolist(), self.kind.tolist(), self.replicas, strict=True):
            if kind == MAP:
                sources.append(tuple((node, 1.0) for node in sorted(replicas.tolist())))
            else:
                sizes = sorted(emitted.get(task, {}).items())
                total = sum(size for _, size in sizes)
                sources.append(tuple((node, float(size / total) if shared else 1.0) for node, size in sizes))
        return sources

    def _read_terms(self, kinds: Ints, sources: list[tuple[tuple[int, float], ...]]) -> Floats:
        """The factors of the rate on each idle node (column), for a task of each type and sources (row)."""
        f_c = self.parameters["f_c"]
        terms = np.zeros((len(sources), len(self.idle_nodes)))
        read = sorted({node for listed in sources for node, _ in listed})
        place = {node: row for row, node in enumerate(read)}
        reading = 1 + source_terms(self.instance, np.array(read, dtype=np.int64), self.idle_nodes, f_c)
        for row, (kind, listed) in enumerate(zip(kinds.tolist(), sources, strict=True)):
            found = [weight * reading[place[node]] for node, weight in listed]
            if self.type_kind[kind] == REDUCE:
                terms[row] = sum(found)
            else:
                terms[row] = np.min(found, axis=0) if found else 1 + float(f_c[2])
        return terms

    def _prepare_hosts(self) -> None:
        own = zip(self.running_rates, self._divisor.tolist(), self.type_rates.T.tolist(), strict=True)
        #: For each idle node, the values that its load costs depend on.
        self._profiles = [(running.tobytes(), divisor, tuple(rates)) for running, divisor, rates in own]
        self.hosts = TaskClasses.from_keys(
            [
                (profile, *self.slots[:, node].tolist(), self.read_units[:, column].tobytes())
                for column, (profile, node) in enumerate(zip(self._profiles, self.idle_nodes.tolist(), strict=True))
            ]
        )

    def _refuse_large_costs(self) -> None:
        dearest = float(self.read_units.max(initial=0)) * int(self.counts.sum())
        with np.errstate(over="ignore", invalid="ignore"):
            for column in self.hosts.first.tolist():
                full = self.slots[self.type_kind, self.idle_nodes[column]] @ self.type_rates[:, column]
                loaded = 1 + (self.running_rates[column].sum() + full) / self._divisor[column]
                dearest += float(self.hosts.size[self.hosts.of_task[column]]) * full * loaded * GRID
        if not dearest <= LARGEST:
            message = f"costs may total too much, past 2^53/{self.grid}; scale the rates down"
            raise InputError([Fault("", message)], self.place)

    @property
    def idle_rates(self) -> Floats:
        """Input rate of each task on each of `idle_nodes`, MB/s, shape (tasks, idle nodes); see `type_rates`."""
        return self.type_rates[self.types.of_task]

    # The objective ------------------------------------------------------------------------------------------------

    def _demand(self, column: int, added: Ints, total: Floats) -> Floats:
        """`total` and the rates of `added` tasks on the idle node at `column`, summed in the order of the rates."""
        rates = self.type_rates[:, column]
        for kind in np.argsort(rates, kind="stable").tolist():
            total += added[:, kind] * rates[kind]
        return total

    def effective_loads(self, column: int, added: Ints) -> Floats:
        """e_m of the idle node at `column`, in MB/s, for each row of `added`: how many tasks of each type it gets."""
        running, rates = self.running_rates[column], self.type_rates[:, column]
        total = self._demand(column, added, np.full(len(added), running.sum()))
        if not self.parameters["deviation"]:
            return total
        number = np.maximum(len(running) + added.sum(axis=1), 1)
        mean = total / number
        spread = np.zeros(len(added))
        for rate in running.tolist():
            spread += (rate - mean) ** 2
        for kind in np.argsort(rates, kind="stable").tolist():
            spread += added[:, kind] * (rates[kind] - mean) ** 2
        loads: Floats = total - np.sqrt(spread / number)
        return loads

    def load_units(self, column: int, added: Ints) -> Ints:
        """The load cost of tasks on the idle node at `column`, in units: sum of R (1 + e_m/scale).

        Parameters
        ----------
        column
            Position in `idle_nodes`.
        added
            int64, shape (sets, types): how many tasks of each type are placed there.

        Returns
        -------
        int64 array of shape (sets,)
        """
        demand = self._demand(column, added, np.zeros(len(added)))
        return on_grid(demand * (1 + self.effective_loads(column, added) / self._divisor[column]))

    @cached_property
    def frozen_units(self) -> Ints:
        """The cost of a task of each class on each idle node for Hsu and Freeh's scheduler, in units, with frozen
        loads.

        int64, shape (classes, idle nodes). With only maps and no running reduce, these are the costs of `flow`.
        """
        nothing = np.zeros((1, len(self.type_kind)), dtype=np.int64)
        loads = [self.effective_loads(column, nothing)[0] for column in range(len(self.idle_nodes))]
        rates = self.type_rates[self.class_type]
        return self.read_units + on_grid(rates * (1 + np.array(loads, dtype=np.float64) / self._divisor))

    def units(self, placement: Placement) -> int:
        """Total cost of a placement in units of 1/`grid`."""
        placed, columns, added = self._added(placement)
        total = int(self.read_units[self.classes.of_task[placed], columns].sum())
        for column in np.unique(columns).tolist():
            total += int(self.load_units(column, added[[column]])[0])
        return total

    def _added(self, placement: Placement) -> tuple[Ints, Ints, Ints]:
        """The placed tasks, the column of each, and how many tasks of each type (column) each idle node (row) gets."""
        nodes = self.nodes_of(placement)
        placed = np.flatnonzero(nodes != NONE)
        columns = self._column[nodes[placed]]
        added = np.zeros((len(self.idle_nodes), len(self.type_kind)), dtype=np.int64)
        np.add.at(added, (columns, self.types.of_task[placed]), 1)
        return placed, columns, added

    def objective(self, placement: Placement, /) -> Value:
        return (exact(self.units(placement), self.grid),)

    def constraint_violations(self, placement: Placement) -> Iterator[Violation]:
        nodes = self.nodes_of(placement)
        for which, name in zip(self.kinds, ("slots", "reduce-slots"), strict=True):
            own = nodes[self.kind == which]
            yield from overfull(self.instance.cluster, own, self.slots[which], name)
            placed = int(np.count_nonzero(own != NONE))
            if placed < self.counts[which]:
                yield Violation("cardinality", (KINDS[which],), int(self.counts[which]) - placed)

    @property
    def offered(self) -> Mapping[str, Ints]:
        return MappingProxyType({KINDS[which]: self.slots[which] for which in self.kinds})

    @property
    def due(self) -> int:
        return int(self.counts.sum())

    # Patterns -----------------------------------------------------------------------------------------------------

    def patterns(self, host: int) -> Ints:
        """Every set of tasks that a node of `host` can take, the empty one first: how many of each type.

        int64, shape (patterns, types). For tau types of one kind, c slots can take C(c + tau, c) sets (Hsu and Freeh,
        note 5).

        Raises
        ------
        TooLarge
            If there are too many to list for all hosts.
        """
        return self._tables[host][0]

    def pattern_units(self, host: int) -> Ints:
        """`load_units` of each of `patterns(host)`, int64, shape (patterns,)."""
        return self._tables[host][1]

    @cached_property
    def _tables(self) -> list[tuple[Ints, Ints]]:
        """Patterns and their units for each host; hosts with the same slots share the patterns."""
        keys = [tuple(self.slots[:, self.idle_nodes[column]].tolist()) for column in self.hosts.first.tolist()]
        numbers = {key: self._count_patterns(key) for key in set(keys)}
        total, entries = sum(numbers[key] for key in keys), sum(numbers.values()) * len(self.type_kind)
        if total > MOST_PATTERNS or entries > MOST_ENTRIES:
            raise TooLarge(
                f"{self.place}: {len(self.type_kind)} types of tasks make {total:,} patterns on "
                f"{len(keys)} different nodes, too many to list; round the rates so that fewer tasks differ"
            )
        lists = {key: self._list_patterns(key) for key in numbers}
        units: dict[Any, Ints] = {}
        for column, key in zip(self.hosts.first.tolist(), keys, strict=True):
            if (self._profiles[column], key) not in units:
                units[self._profiles[column], key] = self.load_units(column, lists[key])
        for array in (*lists.values(), *units.values()):
            array.setflags(write=False)
        return [
            (lists[key], units[self._profiles[column], key])
            for column, key in zip(self.hosts.first.tolist(), keys, strict=True)
        ]

    def _count_patterns(self, slots: tuple[int, ...]) -> int:
        product = 1
        for which, most in enumerate(slots):
            ways = [1] + [0] * most  # sets of each number of tasks
            for size in self.types.size[self.type_kind == which].tolist():
                ways = [sum(ways[max(0, number - size) : number + 1]) for number in range(most + 1)]
            product *= sum(ways)
        return product

    def _list_patterns(self, slots: tuple[int, ...]) -> Ints:
        rows = np.zeros((1, len(self.type_kind)), dtype=np.int64)
        for position, (which, size) in enumerate(zip(self.type_kind.tolist(), self.types.size.tolist(), strict=True)):
            left = slots[which] - rows[:, self.type_kind == which].sum(axis=1)
            choices = np.minimum(left, size) + 1
            rows = np.repeat(rows, choices, axis=0)
            rows[:, position] = places_in(choices)
        return rows

    # The program --------------------------------------------------------------------------------------------------

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        """Nodes of each host take patterns, which contain the tasks that go there."""
        workload, cluster = self.instance.workload, self.instance.cluster
        host_ids = cluster.node_ids[self.idle_nodes[self.hosts.first]]
        class_ids = workload.task_ids[self.tasks[self.classes.first]]
        hosts, classes = host_ids.tolist(), class_ids.tolist()
        types = workload.task_ids[self.tasks[self.types.first]].tolist()
        host, number, added, units = self._loads
        pair_class, pair_host = np.nonzero(self._offered)
        kind = self.type_kind[self.class_type[pair_class]]

        builder = Builder()
        choose = builder.variables(
            "choose",
            [(hosts[row], pattern) for row, pattern in zip(host.tolist(), number.tolist(), strict=True)],
            upper=self.hosts.size[host],
            cost=units,
            cost_name="load_cost",
            over="PATTERNS",
            doc="nodes of the host with the pattern",
        )
        place = builder.variables(
            "place",
            [
                (classes[row], hosts[column])
                for row, column in zip(pair_class.tolist(), pair_host.tolist(), strict=True)
            ],
            upper=self.classes.size[pair_class],
            cost=self.read_units[pair_class, self.hosts.first[pair_host]],
            cost_name="read_cost",
            over="PAIRS",
            doc="tasks of the class on nodes of the host",
        )
        tasks, nodes = workload.task_ids[self.tasks], cluster.node_ids[self.idle_nodes]
        builder.group("members", "CLASSES", Members(class_ids, self.classes.members, tasks), place=0)
        builder.group("nodes", "HOSTS", Members(host_ids, self.hosts.members, nodes), place=1, choose=0)
        one_pattern = builder.rows(
            "one_pattern",
            [(name,) for name in hosts],
            upper=self.hosts.size,
            over="HOSTS",
            doc="no more patterns than nodes",
        )
        filled = builder.rows(
            "filled",
            [(name, kind_of) for name in hosts for kind_of in types],
            lower=0,
            upper=0,
            doc="tasks of the type on the host are those of its patterns",
        ).reshape(len(hosts), len(types))
        supply = builder.rows(
            "class_supply",
            [(name,) for name in classes],
            upper=self.classes.size,
            over="CLASSES",
            doc="no more tasks than the class has",
        )
        cardinality = builder.rows(
            "cardinality",
            [(name,) for name in KINDS],
            lower=self.counts,
            upper=self.counts,
            over="KINDS",
            doc="the required number of tasks of the kind is placed",
        )
        builder.enter(one_pattern[host], choose)
        load, of_type = np.nonzero(added)
        builder.enter(filled[host[load], of_type], choose[load], -added[load, of_type])
        builder.enter(filled[pair_host, self.class_type[pair_class]], place)
        builder.enter(supply[pair_class], place)
        builder.enter(cardinality[kind], place)
        return builder.program(unit=self.grid)

    def apart(self) -> FlowCongestion:
        view = copy.copy(self)
        for name in ("_tables", "_loads", "frozen_units"):  # by host or class
            vars(view).pop(name, None)
        view.classes = TaskClasses.from_keys(range(len(self.tasks)))
        view.hosts = TaskClasses.from_keys(range(len(self.idle_nodes)))
        view.class_type, view.read_units = self.types.of_task, self.read_units[self.classes.of_task]
        return view

    @property
    def _offered(self) -> Bools:
        """Whether a host has a slot for tasks of a class, shape (classes, hosts)."""
        offered: Bools = self.slots[self.type_kind[self.class_type]][:, self.idle_nodes[self.hosts.first]] > 0
        return offered

    @cached_property
    def _loads(self) -> tuple[Ints, Ints, Ints, Ints]:
        """For each pattern of each host except the empty one: the host, its number, its tasks by type, its cost."""
        none: Ints = np.zeros((0, len(self.type_kind)), dtype=np.int64)
        hosts = range(len(self.hosts.first))
        added = [self.patterns(host)[1:] for host in hosts]
        numbers = [np.arange(1, len(rows) + 1) for rows in added]
        units = [self.pattern_units(host)[1:] for host in hosts]
        of_host = np.repeat(np.arange(len(added)), np.array(list(map(len, added)), dtype=np.int64))
        flat = none.ravel()
        return of_host, np.concatenate([flat, *numbers]), np.concatenate([none, *added]), np.concatenate([flat, *units])

    def values_of(self, decision: Placement, program: Program) -> Ints:
        placed, columns, held = self._added(decision)
        host, _, added, _ = self._loads
        load_of = {(at, row.tobytes()): load for load, (at, row) in enumerate(zip(host.tolist(), added, strict=True))}
        values = np.zeros(len(program.names), dtype=np.int64)
        for column in np.unique(columns).tolist():
            load = load_of.get((int(self.hosts.of_task[column]), held[column].tobytes()))
            if load is not None:  # otherwise it takes more than the node's slots
                values[load] += 1
        amounts = np.zeros((len(self.classes.first), len(self.hosts.first)), dtype=np.int64)
        np.add.at(amounts, (self.classes.of_task[placed], self.hosts.of_task[columns]), 1)
        values[program.family("place")] = amounts[self._offered]
        return values

    def decision_of(self, values: Ints, program: Program) -> Placement:
        taken, pairs = values[program.family("choose")], values[program.family("place")]
        amounts = np.zeros(self._offered.shape, dtype=np.int64)
        amounts[self._offered] = pairs
        host, _, added, _ = self._loads
        return self.distributed(
            [np.repeat(added[host == at], taken[host == at], axis=0) for at in range(len(amounts.T))], amounts
        )

    def distributed(self, sets: list[Ints], amounts: Ints) -> Placement:
        """The placement in which the nodes of each host get given sets of tasks.

        Parameters
        ----------
        sets
            For each host the tasks of each type that its first nodes get, shape (at most nodes of the host, types).
        amounts
            int64, shape (classes, hosts): how many tasks of each class the host's nodes get together. Over the classes
            of a type they sum to the tasks of that type in the host's sets.
        """
        nodes = np.full(len(self.tasks), NONE, dtype=np.int64)
        waiting = [members.tolist() for members in self.classes.members]
        for host, (columns, added) in enumerate(zip(self.hosts.members, sets, strict=True)):
            for kind in range(len(self.type_kind)):
                hosts = np.repeat(self.idle_nodes[columns[: len(added)]], added[:, kind])
                tasks: list[int] = []
                for row in np.flatnonzero((self.class_type == kind) & (amounts[:, host] > 0)).tolist():
                    sent = int(amounts[row, host])
                    tasks += waiting[row][:sent]
                    del waiting[row][:sent]
                nodes[tasks] = hosts
        return self.placement(nodes)

    # Bounds -------------------------------------------------------------------------------------------------------

    def least_units(self) -> Ints:
        """The least cost of a task of each class, in units: on its best node without load, since no load is negative.

        int64, shape (classes,); 0 if no node has a slot for its kind.
        """
        alone = self.read_units + np.floor(self.type_rates[self.class_type] * self.grid).astype(np.int64)
        offered = self.slots[self.type_kind[self.class_type]][:, self.idle_nodes] > 0
        least: Ints = np.where(offered, alone, LARGEST).min(axis=1, initial=LARGEST)
        return np.where(offered.any(axis=1), least, 0)

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """The sum over tasks of the cost on their own best nodes, as if nothing ran."""
        least = np.repeat(self.least_units(), self.classes.size)
        kind = np.repeat(self.type_kind[self.class_type], self.classes.size)
        best = sum(int(np.sort(least[kind == which])[: self.counts[which]].sum()) for which in self.kinds)
        return (Bound("best-node", "penalty", exact(best, self.grid), "penalty, with no load on any node"),)


def _emitted(instance: Instance, reduces: Ints) -> dict[int, dict[int, Fraction]]:
    """The MB that each of `reduces` (task indices) reads from each node, of maps that run or ran."""
    found: dict[int, dict[int, Fraction]] = {}
    shuffle = instance.workload.shuffle
    if shuffle is None:
        return found
    node = instance.state.node[shuffle.map]
    known = np.isin(shuffle.reduce, reduces) & (node != NONE) & (shuffle.size > 0)
    for task, source, size in zip(
        shuffle.reduce[known].tolist(), node[known].tolist(), shuffle.size[known].tolist(), strict=True
    ):
        sources = found.setdefault(task, {})
        sources[source] = sources.get(source, Fraction(0)) + decimal(size)
    return found
