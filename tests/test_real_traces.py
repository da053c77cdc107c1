"""Real Hadoop traces: what Hadoop did against the proved optimum over the same slots, by routes that share no code."""

from __future__ import annotations

from pathlib import Path

import pytest

from optsched.certificates import certify
from optsched.gaps import Reference, gap
from optsched.instance import Instance
from optsched.instances.files import from_document
from optsched.instances.rumen import import_rumen
from optsched.problems import Lsap
from optsched.routes import solve

TRACES = (
    "yahoo4.trace.json.gz",
    "gridmix_2m_stream_trace.json.gz",
    "gridmix_trace_1m.json.gz",
    "gridmix_trace_3m.json.gz",
    "gridmix_wordcount2.json",
)


def jobs(folder: Path, trace: str) -> list[Instance]:
    """One instance a job of a trace, with the slots that Hadoop used."""
    topology = folder / "hadoop" / "yahoo4.topology.json.gz" if trace.startswith("yahoo4") else None
    imported = import_rumen(folder / "hadoop" / trace, topology=topology, slots="observed", split=True)
    instances = [from_document(document) for document in imported.documents]
    assert all(isinstance(instance, Instance) for instance in instances)
    return [instance for instance in instances if isinstance(instance, Instance)]


@pytest.mark.parametrize("trace", TRACES)
def test_routes_that_share_no_code_agree_on_every_job(real_data: Path, trace: str) -> None:
    """Tests network, SciPy's dense assignment and both models on each job, each certified, and Hadoop's own cost."""
    for instance in jobs(real_data, trace):
        problem = Lsap(instance)
        assert problem.parameters["levels"] == (0, 1, 2)
        best = solve(problem)
        for route in ("dense", "pyomo", "network-simplex"):
            assert solve(problem, route=route).objective == best.objective
        if len(problem.tasks) <= 30:  # the literal model has a column for each task and slot
            assert solve(problem, route="pulp").objective == best.objective
        assert certify(problem, best).proved
        report = gap(problem, "observed", reference=Reference(problem, solution=best))
        assert report.feasible
        assert report.absolute_gap is not None
        assert report.absolute_gap[0] is not None
        # The slots are those that Hadoop used, so that its placement fills all of them.
        assert problem.count == len(problem.tasks) == int(problem.capacity.sum())


def test_hadoop_on_yahoo4_is_measured(real_data: Path) -> None:
    """Tests Hadoop's cost and the optimum of the three jobs of the 2009 cluster that have maps."""
    found = {}
    for instance in jobs(real_data, TRACES[0]):
        report = gap(Lsap(instance), "observed")
        found[instance.name] = (report.objective, report.reference.value)
    assert found == {
        "yahoo4-job_200904211745_0002": ((36,), (33,)),
        "yahoo4-job_200904211745_0003": ((6,), (6,)),
        "yahoo4-job_200904211745_0004": ((142,), (114,)),
    }
