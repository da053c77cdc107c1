"""What is written for others: programs as LP and MPS files, and networks as DIMACS."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from optsched.core.network import FlowNetwork
from optsched.core.registry import Record, imported, records
from optsched.core.results import Sense
from optsched.instances.files import from_document
from optsched.instances.importers.dimacs import import_dimacs
from optsched.problems import network_problem
from optsched.routes import solve
from optsched.testing.cases import cases
from optsched.testing.contract import check, expect, listed
from optsched.testing.programs import agrees, is_modelled, programs

__all__: list[str] = []


@check(is_modelled)
def check_export(record: Record, seeds: Sequence[int]) -> None:
    """LP and MPS files of every program mean the same to who reads them."""
    from optsched.models.export import about, write_lp, write_mps

    for case in cases(record, seeds[:1]):
        problem = case.problem
        with tempfile.TemporaryDirectory() as folder:
            for program in programs(record, case):
                meaning = about(problem, program.limit is not None)
                for suffix, write in ((".lp", write_lp), (".mps", write_mps)):
                    path = Path(folder, f"program{suffix}")
                    write(program.model, path, meaning.notes())
                    found = _read_by_highs(path)
                    expect((found is None) == (program.truth is None), program.where, f"{suffix} says {found}")
                    if found is not None:
                        told = meaning.of(found, negated=suffix == ".mps" and meaning.component.sense is Sense.MAX)
                        where = f"{program.where}, {suffix}"
                        expect(agrees(told, program.truth), where, f"says {float(told)}, the truth is {program.truth}")


def _by_networks(record: Record) -> bool:
    """Whether the problem is posed on a network, or is one by its record, or by that of another with its routes."""
    same = (entry for entry in records().values() if record.routes is not None and entry.routes == record.routes)
    return record.problem_class.posed_on is FlowNetwork or any(entry.network for entry in (record, *same))


@check(_by_networks)
def check_network(record: Record, seeds: Sequence[int]) -> None:
    """The network of a problem, written as DIMACS and read again, costs what the optimum does."""
    for case in cases(record, seeds):
        problem = case.problem
        network = problem.instance
        if record.problem_class.posed_on is not FlowNetwork:
            told = "names no network, and other problems with its routes do"
            expect(record.network is not None, record.problem, told)
            network = imported(str(record.network))(problem)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "network.dimacs")
            path.write_text(network.to_dimacs())
            (document,) = import_dimacs(path).documents
        read = from_document(document)
        assert isinstance(read, FlowNetwork)
        least, units = solve(network_problem(read)).objective, getattr(problem, "grid", 1)
        best = None if case.best is None else (case.best[0] * units,)
        expect(least == best, case.name, f"the network costs {listed(least)}, in units {listed(best)}")


def _read_by_highs(path: Path) -> float | None:
    """The optimum of a file as HiGHS reads it; None where it is infeasible."""
    import highspy

    from optsched.solvers.highs import QuietHighs

    highs = QuietHighs()
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_abs_gap", 0.0)
    expect(highs.readModel(str(path)) != highspy.HighsStatus.kError, path.name, "HiGHS cannot read it")
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return None
    if status == highspy.HighsModelStatus.kModelEmpty:
        return float(highs.getObjectiveOffset()[1])
    expect(status == highspy.HighsModelStatus.kOptimal, path.name, f"HiGHS says {status}")
    return float(highs.getInfo().objective_function_value)
