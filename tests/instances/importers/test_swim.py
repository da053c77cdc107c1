"""The importer of SWIM files: what it reads, and every fault with its line."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from input_files import SWIM, cut, faults, noun

from optsched.core.errors import UsageError
from optsched.heuristics.simulating import simulate
from optsched.instances.importers import IMPORTERS
from optsched.instances.importers.swim import import_swim


def test_swim(file: Callable[..., Path]) -> None:
    """Tests that arrivals and sizes are the trace's, the rest generated from the seed, and that the labels say so."""
    imported = import_swim(file(SWIM, "fb.tsv"), nodes=5, seed=3)
    instance = noun(imported)
    assert instance.workload.task_ids.tolist() == ["job0_m1", "job0_m2", "job0_r1", "job1_m1", "job1_r1", "job2_m1"]
    assert instance.workload.size.tolist() == [128, 72, 1, 0, 0, 0]
    assert instance.workload.arrival.tolist() == [5, 9, 9]
    assert instance.workload.filter_ratio.tolist()[0] == 0.005
    assert instance.replicas.lengths.tolist() == [3, 3, 0, 3, 0, 3]
    assert instance.cluster.slots.tolist() == [2] * 5
    assert all(instance.labels[name].startswith("generated") for name in ("tasks", "nodes", "replicas"))
    assert all(instance.labels[name].startswith("recorded") for name in ("arrival", "size", "filter_ratio"))
    path = file(SWIM, "fb.tsv")
    assert noun(import_swim(path, nodes=5, seed=3)).sha256 == instance.sha256
    assert noun(import_swim(path, nodes=5, seed=4)).sha256 != instance.sha256
    first = noun(import_swim(path, first=1, replicas=0, name="one"))
    assert (first.name, len(first.workload), first.replicas.lengths.sum()) == ("one", 3, 0)
    assert first.source == "SWIM trace fb.tsv, the first 1 jobs"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes": 2}, "3 replicas need as many nodes, and there are 2"),
        ({"block": 0}, "block is 0; it must be 1 or more"),
        ({"first": 0}, "first is 0; it must be 1 or more"),
        ({"remote": -1}, "remote is -1; it must be 0 or more"),
    ],
)
def test_swim_options(file: Callable[..., Path], options: dict[str, int], message: str) -> None:
    """Tests that numbers out of range are wrong usage."""
    with pytest.raises(UsageError, match=message):
        IMPORTERS["swim"].read(file(SWIM), **options)


def test_swim_with_times(file: Callable[..., Path]) -> None:
    """Tests times by what tasks go through, nothing else changed, and a run in which jobs begin as they arrive."""
    path = file("job0\t5\t5\t200000000\t1000000\t4000000\njob1\t90\t85\t0\t0\t0\n", "day.tsv")
    plain, timed = noun(import_swim(path, nodes=5)), noun(import_swim(path, nodes=5, rate=2, remote=50))
    workload = timed.workload
    assert workload.times[[0, 1, 3]].tolist() == [[65, 97.5, 97.5], [37, 55.5, 55.5], [1, 1.5, 1.5]]
    assert workload.duration[2] == 3.5
    bare = replace(workload, times=plain.workload.times, duration=plain.workload.duration)
    assert replace(timed, workload=bare).sha256 == plain.sha256
    assert timed.labels["times"].startswith("generated: 1 s and 2 MB/s")
    run = simulate(timed, "fair")
    assert not run.unfinished
    assert (run.schedule.starts >= 10**6 * workload.arrival[workload.job]).all()


def test_swim_does_not_fill_the_memory(file: Callable[..., Path]) -> None:
    """Tests that a size that makes too many maps is refused before any is made."""
    with pytest.raises(UsageError, match="blocks of 1 MB make 9007199255 maps, over 2000000"):
        import_swim(file(f"j\t0\t0\t{2**53}\t0\t0\n"), block=1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["holds no job; a line has job id, submit time, gap to the job before, map input bytes"]),
        (
            "a\t0\t0\t1\t1\nb\t-1\tx\t1.5\t1\t1\nb\t1\t1\t1\t1\t99999999999999999\n" + "c" * 101 + "\t1\t1\t1\t1\t1\n",
            [
                "line 1: has 5 columns, not 6: job id, submit time, gap to the job before, map input bytes, "
                "shuffle bytes, reduce output bytes",
                "line 2: submit time is -1; it must be 0 or more",
                'line 2: gap to the job before must be a whole number, not "x"',
                'line 2: map input bytes must be a whole number, not "1.5"',
                'line 3: reduce output bytes "99999999999999999" is past 2^53',
                'line 3: job "b" is on line 2 already',
                'line 4: the job id "' + "c" * 40 + '..." must be up to 100 printable characters',
            ],
        ),
    ],
)
def test_swim_faults(file: Callable[..., Path], text: str, expected: list[str]) -> None:
    """Tests that each fault is reported with its line, all of them at once."""
    assert cut(faults(import_swim, file(text)), expected) == expected
