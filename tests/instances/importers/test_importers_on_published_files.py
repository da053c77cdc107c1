"""Importers on files that others published, solved by two routes or more, certified, exported and read back.

The optima of the generalized-assignment files are those that the OR-Library literature gives: `gap1-*` are the five
instances of its `gap1` (maximisation; Osman 1995, Cattrysse, Salomon and Van Wassenhove 1994), `a05100` and `c05100`
the instances with 5 agents and 100 jobs of types A and C (minimisation; Chu and Beasley 1997). No optimum of the flow
files is published: two routes that share no code, and a certificate that needs neither, agree on each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import run

from optsched.certificates import certify
from optsched.instances.files import from_document
from optsched.instances.importers.dimacs import import_dimacs
from optsched.instances.importers.foreign import Imported
from optsched.instances.importers.orlib import import_orlib_gap
from optsched.instances.importers.sls import import_sls
from optsched.instances.importers.swim import import_swim
from optsched.problems import problem
from optsched.routes import solve

#: File: sense, and optimum as published.
PUBLISHED = {
    "a05100": ("min", 1698),
    "c05100": ("min", 1931),
    "gap1-0": ("max", 336),
    "gap1-1": ("max", 327),
    "gap1-2": ("max", 339),
    "gap1-3": ("max", 341),
    "gap1-4": ("max", 326),
}

FLOWS = [
    "dimacs/gte_bad.60",
    "dimacs/negative_weight_cycle.min",
    "dimacs/simple_min_cost.min",
    "flowlessly/graph_100m_4j_100t_10p.in.gz",
    "flowlessly/graph_2m_1j_10t_10p.in",
    "flowlessly/graph_2m_2j_10t_10p.in",
    "flowlessly/graph_2m_4j_10t_10p.in",
    "flowlessly/graph_4m_2crs_6j.in",
    "flowlessly/small_graph.in",
    "flowlessly/small_graph_neg_costs.in",
]


def noun(imported: Imported) -> Any:
    """The instance or network that the one document is."""
    (document,) = imported.documents
    return from_document(document)


def test_every_file_is_checked(real_data: Path) -> None:
    """Tests that no file of the folders is left out."""
    there = {
        f"{path.parent.name}/{path.name}"
        for name in ("dimacs", "flowlessly", "gap")
        for path in (real_data / name).iterdir()
    }
    assert there == {*FLOWS, *(f"gap/{name}" for name in PUBLISHED)}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.thorough] * (name == "c05100")) for name in PUBLISHED]
)
def test_published_optimum(name: str, real_data: Path) -> None:
    """Tests that three routes prove the optimum that the literature gives, and that each solution certifies."""
    sense, optimum = PUBLISHED[name]
    posed = problem("generalized-assignment", noun(import_orlib_gap(real_data / "gap" / name, sense)))
    for route in ("arrays", "pyomo", "pulp"):
        solution = solve(posed, route=route)
        assert (solution.objective, solution.bound) == ((optimum,), (optimum,)), route
        verdict = certify(posed, solution)
        assert verdict.valid
        assert verdict.proved  # by the default route's tree, whichever route found it


@pytest.mark.parametrize("name", FLOWS)
def test_flow_file(name: str, real_data: Path, tmp_path: Path) -> None:
    """Tests that every route finds the same least cost, potentials prove it, and DIMACS reads back as the same."""
    network = noun(import_dimacs(real_data / name))
    posed = problem("min-cost-flow", network)
    solutions = [solve(posed, route=route) for route in ("cost-scaling", "network-simplex", "arrays", "pyomo", "pulp")]
    assert len({solution.objective for solution in solutions}) == 1
    assert all(solution.optimal and certify(posed, solution).proved for solution in solutions)
    again = tmp_path / "again.dimacs"
    again.write_text(network.to_dimacs())
    assert noun(import_dimacs(again)).sha256 == network.sha256


def test_parallel_arcs_are_kept(real_data: Path) -> None:
    """Tests that the parallel half of the arcs of `gte_bad.60` is still there, and a cycle of negative cost is used."""
    network = noun(import_dimacs(real_data / "dimacs" / "gte_bad.60"))
    pairs = set(zip(network.tail.tolist(), network.head.tolist(), strict=True))
    assert (network.arcs, len(pairs)) == (520, 260)
    cycle = noun(import_dimacs(real_data / "dimacs" / "negative_weight_cycle.min"))
    assert solve(problem("min-cost-flow", cycle)).objective == (46,)


def test_sls_files(real_data: Path) -> None:
    """Tests SLS's own files: two jobs, four nodes of one rack, queue weights from the allocation file."""
    folder = real_data / "sls"
    names = ("inputsls.json", "nodes-with-resources.json", "fair-scheduler.xml")
    imported = import_sls(*(folder / name for name in names))
    instance = noun(imported)
    assert (len(instance.cluster), len(instance.workload), len(instance.workload.job_ids)) == (4, 5, 2)
    assert instance.workload.group_weight.tolist() == [0.25, 0.25]
    assert instance.workload.arrival.tolist() == [0, 105.204]
    assert [note for note in imported.notes if "another rack" in note]
    assert solve(problem("lsap", instance)).optimal


def test_swim_files(real_data: Path) -> None:
    """Tests the Facebook workload: all arrivals and sizes in the first 50 jobs, and the first 300 of the whole hour."""
    folder = real_data / "swim"
    first = noun(import_swim(folder / "FB-2009_samples_24_times_1hr_0_first50jobs.tsv"))
    assert len(first.workload.job_ids) == 50
    assert first.workload.arrival.tolist()[:3] == [49, 101, 122]
    whole = noun(import_swim(folder / "FB-2009_samples_24_times_1hr_0.tsv.gz", first=300))
    assert len(whole.workload.job_ids) == 300
    assert whole.workload.arrival.tolist()[:50] == first.workload.arrival.tolist()


@pytest.mark.parametrize(
    "args",
    [
        ["dimacs", "dimacs/simple_min_cost.min"],
        ["orlib-gap", "gap/gap1-0", "--sense", "max"],
        ["sls", "sls/inputsls.json"],
        ["swim", "swim/FB-2009_samples_24_times_1hr_0_first50jobs.tsv", "--first", "3"],
    ],
)
def test_import_commands(args: list[str], real_data: Path, tmp_path: Path) -> None:
    """Tests that the command line imports each format to a file that it describes."""
    target = str(tmp_path / "imported.json")
    words = [args[0], str(real_data / args[1]), *args[2:], "--output", target]
    result = run("import", *words)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "applies" in run("describe", target).stdout


def test_import_assign_command(tmp_path: Path) -> None:
    """Tests that the command line imports an assignment file to standard output, and tells of a missing one."""
    file = tmp_path / "assign2.txt"
    file.write_text("2\n 4 1\n 2 3\n")
    assert '"assign2"' in run("import", "orlib-assign", str(file)).stdout
    assert run("import", "orlib-assign", str(tmp_path / "no.txt")).exit_code == 3
