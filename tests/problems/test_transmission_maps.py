"""`transmission-maps`: Shen et al.'s map costs, classes, routes and proofs, against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import nested_maps
from transmission_instances import DISTANCES

from optsched.certificates.checking import proved_bound
from optsched.core.errors import InputError
from optsched.core.instance import Cluster, Instance, Ragged, Topology, Workload
from optsched.core.placement import Placement
from optsched.core.results import Proof
from optsched.problems.distances import MOST_NODES
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.routes import solve
from optsched.solvers.searches.assignment import prices_of


class ByTable(TransmissionMaps):
    """The same problem, with costs by its table."""

    near = None


def posed(
    sizes: list[float], replicas: list[list[int]], slots: list[int], matrix: object = DISTANCES
) -> TransmissionMaps:
    """The problem on nodes n0, ... with these distances."""
    cluster = Cluster([f"n{node}" for node in range(len(slots))], slots=slots, topology=Topology("distance", matrix))
    workload = Workload([f"m{task}" for task in range(len(sizes))], size=sizes, replicas=Ragged.from_rows(replicas))
    return TransmissionMaps(Instance(cluster, workload, name="few"))


def test_rounded_products_are_remarked() -> None:
    """Tests that the problem says that its costs are rounded, and nothing of costs that are whole."""
    assert str(posed([1 / 3], [[0]], [1, 1, 1, 1]).remark).startswith("each cost, MB times distance, is rounded to a ")
    assert posed([3.0], [[0]], [1, 1, 1, 1]).remark is None


@pytest.mark.parametrize("size", [2.0**53, 2.0**34 + 1 / 3])
def test_costs_that_are_not_exact(size: float) -> None:
    """Tests that totals past 2^53 units are refused, with what to do."""
    with pytest.raises(InputError, match=r"few: transmission-maps: costs may total too much, past 2\^53"):
        posed([size, 1.0], [[0], [1]], [1, 1, 1, 1])


@given(nested_maps(), st.data())
def test_levels_are_the_table(instance: Instance, data: st.DataObject) -> None:
    """Tests that costs by level are those of the table, and that bounds by prices are the same by either."""
    by_level, by_table = TransmissionMaps(instance), ByTable(instance)
    assert by_level.near is not None
    positions, nodes = np.divmod(np.arange(by_level.pairs), max(1, len(by_level.idle_nodes)))
    positions, nodes = by_level.classes().first[positions], by_level.idle_nodes[nodes]
    assert by_level.pair_units(positions, nodes).tolist() == by_table.class_units.ravel().tolist()
    assert by_level.largest_pair_units() == by_table.largest_pair_units()
    assert by_level.cheap_bounds() == by_table.cheap_bounds()
    nodes_at_all = len(instance.cluster)
    prices = np.array(data.draw(st.lists(st.integers(-1, 200), min_size=nodes_at_all, max_size=nodes_at_all)))
    task, pool = data.draw(st.integers(0, 300)), np.zeros(1, dtype=np.int64)
    assert by_level.price_bound(task, prices, pool) == by_table.price_bound(task, prices, pool)


@given(nested_maps())
def test_network_of_areas(instance: Instance) -> None:
    """Tests that the network of areas, by HiGHS and by networkx, has the table's optimum, with prices that prove it."""
    problem = TransmissionMaps(instance)
    found = {route: solve(problem, route=route) for route in ("network", "arrays", "network-simplex", "brute-force")}
    assert len({solution.objective for solution in found.values()}) == 1
    for solution in (found["arrays"], found["network-simplex"]):
        assert isinstance(solution.decision, Placement)
        assert not problem.violations(solution.decision)
        (certificate,) = solution.certificates
        assert (certificate.kind, (certificate.claim,)) == (Proof.DUAL, solution.objective)
        prices = prices_of(problem, solution.decision)
        assert problem.price_bound(*prices) == problem.units(solution.decision)


def test_more_nodes_than_a_matrix_has() -> None:
    """Tests that maps on racks are posed, solved and proved where nodes are too many for a matrix of distances."""
    nodes = MOST_NODES + 8
    hops = Topology("hops", hops={"node": 0, "rack": 2, "off_rack": 4})
    rack = np.arange(nodes) // 4
    ids = np.array([f"r{number}" for number in range(rack[-1] + 1)])
    cluster = Cluster(np.arange(nodes).astype(str), rack=rack, rack_ids=ids, slots=np.ones(nodes), topology=hops)
    rows = Ragged.from_rows([[task // 6 * 4] for task in range(300)])
    problem = TransmissionMaps(
        Instance(cluster, Workload(np.arange(300).astype(str), size=[64.0] * 300, replicas=rows))
    )
    solution = solve(problem)
    assert solution.objective == (50 * 64 * (3 * 2 + 2 * 4),)
    assert proved_bound(problem, *solution.certificates) == solution.objective[0]
    with pytest.raises(InputError, match="8200 nodes have no dense matrix"):
        _ = problem.scale.lengths
