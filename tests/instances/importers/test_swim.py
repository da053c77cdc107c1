"""The importer of SWIM files: what it reads, and every fault with its line."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from foreign_files import SWIM, faults, noun

from optsched.errors import InputError, UsageError
from optsched.instance import Instance
from optsched.instances.files import load
from optsched.instances.importers.swim import import_swim, swim_portions
from optsched.simulating import simulate
from optsched.simulating.streaming import simulate_stream


def test_swim(file: Callable[..., Path]) -> None:
    """Tests that arrivals and sizes are the trace's, the rest generated from the seed, and that the labels say so."""
    imported = import_swim(file(SWIM, "fb.tsv"), nodes=5, seed=3)
    instance = noun(imported)
    assert isinstance(instance, Instance)
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
    ("options", "told"),
    [
        ({"nodes": 2}, "3 replicas need as many nodes, and there are 2"),
        ({"block": 0}, "block is 0; it must be 1 or more"),
        ({"first": 0}, "first is 0; it must be 1 or more"),
        ({"seed": -1}, "seed is -1; it must be 0 or more"),
        ({"rate": 0}, "rate is 0; it must be 1 or more"),
        ({"remote": -1}, "remote is -1; it must be 0 or more"),
    ],
)
def test_swim_options(file: Callable[..., Path], options: dict[str, int], told: str) -> None:
    """Tests that numbers out of range are wrong usage."""
    with pytest.raises(UsageError, match=told):
        import_swim(file(SWIM), **options)


def test_swim_with_times(file: Callable[..., Path]) -> None:
    """Tests times by what tasks go through, nothing else changed, and a run in which jobs begin as they arrive."""
    path = file("job0\t5\t5\t200000000\t1000000\t4000000\njob1\t90\t85\t0\t0\t0\n", "day.tsv")
    plain, timed = noun(import_swim(path, nodes=5)), noun(import_swim(path, nodes=5, rate=2, remote=50))
    assert isinstance(plain, Instance)
    assert isinstance(timed, Instance)
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
    ("text", "told"),
    [
        (
            "",
            [
                "holds no job; a line has job id, submit time, gap to the job before, map input bytes, shuffle bytes, "
                "reduce output bytes"
            ],
        ),
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
                'line 4: the job id "' + "c" * 36 + "... must be up to 100 printable characters",
            ],
        ),
    ],
)
def test_swim_faults(file: Callable[..., Path], text: str, told: list[str]) -> None:
    """Tests that each fault is told with its line, all of them at once."""
    assert faults(import_swim, file(text)) == told


def test_swim_in_portions(file: Callable[..., Path]) -> None:
    """Tests that portions have the jobs and sizes of the whole, the same for a seed, and are run one after another."""
    path = file(SWIM, "fb.tsv")
    whole = noun(import_swim(path, nodes=5, rate=60))
    parts = [load(document) for document in swim_portions(path, jobs=2, nodes=5)]
    assert [part.workload.job_ids.tolist() for part in parts] == [["job0", "job1"], ["job2"]]
    assert [part.name for part in parts] == ["fb-1", "fb-2"]
    for column in ("size", "times", "duration"):
        found = np.concatenate([getattr(part.workload, column) for part in parts])
        assert np.array_equal(found, getattr(whole.workload, column), equal_nan=True)
    assert [load(document).sha256 for document in swim_portions(path, jobs=2, nodes=5)] == [
        part.sha256 for part in parts
    ]
    assert len(list(swim_portions(path, jobs=2, first=1))) == 1
    assert simulate_stream(parts, "fair").ended == len(whole.workload)


def test_a_line_is_wrong_when_it_is_reached(tmp_path: Path) -> None:
    """Tests that what comes before a wrong line is given, and files that are cut, damaged, no text, or missing."""
    good = "job{0}\t{0}\t1\t1\t0\t0\n"
    path = tmp_path / "fb.tsv"
    for wrong, told in (
        ("job9\t9\n", "line 3: has 2 columns, not 6"),
        (good.format(0), 'line 3: job "job0" is submitted before the one before'),
    ):
        path.write_text(good.format(1) + good.format(2) + wrong)
        parts = swim_portions(path, jobs=1)
        assert [len(next(parts)["jobs"]), len(next(parts)["jobs"])] == [1, 1]
        with pytest.raises(InputError, match=told):
            next(parts)
    packed = gzip.compress((good.format(1) * 9).encode())
    for data, told in (
        (packed[:-9], "the compressed data were cut before their end"),
        (packed[:12] + b"x" * 40, "the compressed data are damaged"),
        (b"\xff\xfe\x00", "is no UTF-8 text"),
    ):
        path.write_bytes(data)
        with pytest.raises(InputError, match=told):
            list(swim_portions(path))
    with pytest.raises(InputError, match="cannot be read"):
        list(swim_portions(tmp_path / "none.tsv"))
    with pytest.raises(UsageError, match="jobs is 0; it must be 1 or more"):
        list(swim_portions(path, jobs=0))


@pytest.mark.thorough
def test_hours_of_a_real_day_are_held_no_more_than_one(real_data: Path) -> None:
    """Tests that three hours of a day run without holding more tasks than came in the busiest part of them."""
    path = real_data / "swim" / "FB-2009_samples_24_times_1hr_0.tsv.gz"
    documents = swim_portions(path, jobs=20, nodes=600, slots=4, first=500)
    run = simulate_stream(map(load, documents), "fair")
    assert (run.jobs_ended, run.unfinished) == (500, "")
    assert run.most_held < run.tasks / 2
