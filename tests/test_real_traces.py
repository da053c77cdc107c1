"""Real Hadoop traces: what Hadoop did against the proved optimum over the same slots, by routes that share no code."""

from pathlib import Path

import pytest

from optsched.certificates import certify
from optsched.core.instance import Instance
from optsched.instances.files import from_document
from optsched.instances.importers.rumen import import_rumen
from optsched.measuring.gaps import Reference, gap
from optsched.problems import Lsap, problem
from optsched.routes import solve

TRACES = (
    "yahoo4.trace.json.gz",
    "gridmix_wordcount2.json",
    "gridmix_2m_stream_trace.json.gz",
    "gridmix_trace_1m.json.gz",
    "gridmix_trace_3m.json.gz",
)


def jobs(folder: Path, trace: str) -> list[Instance]:
    """One instance a job of a trace, with the slots that Hadoop used."""
    topology = folder / "hadoop" / "yahoo4.topology.json.gz" if trace.startswith("yahoo4") else None
    imported = import_rumen(folder / "hadoop" / trace, topology=topology, slots="observed", split=True)
    return [from_document(document) for document in imported.documents]


@pytest.mark.parametrize(
    "trace", [*TRACES[:2], *(pytest.param(each, marks=pytest.mark.thorough) for each in TRACES[2:])]
)
def test_routes_that_share_no_code_agree_on_every_job(real_data: Path, trace: str) -> None:
    """Tests network, SciPy's dense assignment and both models on each job, each certified, and Hadoop's own cost."""
    for instance in jobs(real_data, trace):
        posed = Lsap(instance)
        assert posed.parameters["levels"] == (0, 1, 2)
        best = solve(posed)
        for route in ("dense", "pyomo", "network-simplex"):
            assert solve(posed, route=route).objective == best.objective
        if len(posed.tasks) <= 30:  # the literal model has a column for each task and slot
            assert solve(posed, route="pulp").objective == best.objective
        assert certify(posed, best).proved
        report = gap(posed, "observed", reference=Reference(posed, solution=best))
        assert report.feasible
        # The slots are those that Hadoop used, so that its placement fills all of them.
        assert posed.count == len(posed.tasks) == int(posed.capacity.sum())


def test_hadoop_on_yahoo4_is_measured(real_data: Path) -> None:
    """Tests Hadoop's cost and the optimum of the three jobs of the 2009 cluster that have maps."""
    found = {}
    for instance in jobs(real_data, TRACES[0]):
        report = gap(Lsap(instance), "observed")
        found[instance.name] = (report.objective, report.reference.value)
    assert report.locality == {"map": {"node": 14, "rack": 92, "off_rack": 25}}
    assert report.reference.locality == {"map": {"node": 26, "rack": 96, "off_rack": 9}}
    assert found == {
        "yahoo4-job_200904211745_0002": ((36,), (33,)),
        "yahoo4-job_200904211745_0003": ((6,), (6,)),
        "yahoo4-job_200904211745_0004": ((142,), (114,)),
    }


@pytest.mark.parametrize(
    ("maps", "slots", "name", "hadoop", "optimum"),
    [
        ("waiting", "observed", "transmission-maps", 8717.31, 6826.75),
        ("finished", "observed", "transmission-reduces", 486.753, 486.668),
        ("finished", 1, "transmission-reduces", None, 423.377),
    ],
)
def test_yahoo4_with_a_proportional_shuffle(
    real_data: Path, maps: str, slots: str | int, name: str, hadoop: float | None, optimum: float
) -> None:
    """Tests maps and reduces of the large job against the proved optimum, and that what is assumed is labelled."""
    folder = real_data / "hadoop"
    imported = import_rumen(
        folder / TRACES[0],
        topology=folder / "yahoo4.topology.json.gz",
        jobs=["job_200904211745_0004"],
        slots=slots,
        shuffle="proportional",
        maps=maps,
    )
    instance = from_document(imported.documents[0])
    assert instance.labels["shuffle"].startswith("assumed")
    posed = problem(name, instance)
    best = solve(posed)
    assert certify(posed, best).proved
    assert float(best.objective[0]) == pytest.approx(optimum, rel=1e-5)
    report = gap(posed, "observed", reference=Reference(posed, solution=best))
    found = report.objective and float(report.objective[0])
    assert found == (hadoop and pytest.approx(hadoop, rel=1e-5))
