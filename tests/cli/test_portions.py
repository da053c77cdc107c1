"""`optsched simulate --stream`: runs of portions, rows of jobs as they come, and what does not go with it."""

from __future__ import annotations

import csv
import io
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import run

from optsched.cli.portions import FIELDS
from optsched.instance import Cluster, Instance, Workload
from optsched.instances.files import load, save
from optsched.instances.importers.swim import swim_portions
from optsched.simulating import simulate
from optsched.simulating.streaming import joined, simulate_stream


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A small SWIM trace, with pauses."""
    path = tmp_path / "small.tsv"
    path.write_text("".join(f"job{job}\t{40 * job}\t40\t{300_000_000 * job}\t1000\t0\n" for job in range(8)))
    return path


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """A folder of three portions."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(3):
        workload = Workload(
            [f"t{number}"], job=[0], job_ids=[f"j{number}"], arrival=[50 * number], duration=[4], job_group=[-1]
        )
        save(Instance(Cluster(["a", "b"]), workload, name=f"part-{number}"), folder / f"{number}.json")
    return folder


def test_a_trace_in_portions(trace: Path, tmp_path: Path) -> None:
    """Tests records, rows of the table and rows of jobs of several policies and seeds against runs of the whole."""
    jobs = tmp_path / "jobs.csv"
    words = ["simulate", str(trace), "--stream", "swim,nodes=5,jobs=2,rate=30", "--policy", "fair,delay=0"]
    words += ["--policy", "rand", "--repeats", "2", "--seed", "3", "--heartbeat", "2"]
    done = run(*words, "--format", "json", "--jobs", str(jobs))
    assert done.exit_code == 0, done.stderr
    records = json.loads(done.stdout)
    assert [list(record) for record in records] == [["version", *FIELDS]] * 4
    assert [(record["instance"], record["policy"], record["seed"]) for record in records] == [
        ("small", policy, seed) for policy in ("fair", "rand") for seed in (3, 4)
    ]
    whole = joined(map(load, swim_portions(trace, jobs=2, nodes=5, rate=30)))
    told = pd.read_csv(jobs)
    assert told.columns[:4].tolist() == ["instance", "policy", "seed", "job_id"]
    for record in records:
        due = simulate(
            whole,
            record["policy"],
            seed=record["seed"],
            heartbeat=2,
            **{"delay": 0} if record["policy"] == "fair" else {},
        )
        figures = due.record_of()
        names = set(FIELDS) - {"instance", "most_held", "parameters", "notes"}
        assert {name: record[name] for name in names} == pytest.approx({name: figures[name] for name in names})
        assert record["most_held"] < record["tasks"]
        assert record["notes"] == ["assumed or inferred: state; the labels say how (optsched describe)"]
        rows = told[(told["policy"] == record["policy"]) & (told["seed"] == record["seed"])].set_index("job_id")
        expected = due.jobs.set_index("job_id")["turnaround_time"]
        assert rows["turnaround_time"].to_dict() == pytest.approx(expected.to_dict())
    assert done.stderr == f"optsched: note: small: {records[0]['notes'][0]}\n"
    table = run(*words).stdout.splitlines()
    assert table[0].split()[:3] == ["policy", "seed", "tasks"]
    assert table[0].split()[-2:] == ["most", "held"]
    assert [line.split()[-1] for line in table[2:]] == [str(record["most_held"]) for record in records]
    rows = list(csv.DictReader(run(*words, "--format", "csv").stdout.splitlines()))
    assert [float(row["makespan"]) for row in rows] == [record["makespan"] for record in records]


def test_instances_as_portions(parts: Path) -> None:
    """Tests that files, in their order, and a folder are portions of one workload, that are dropped once they ran."""
    (record,) = json.loads(
        run("simulate", str(parts), "--stream", "instances", "--policy", "dl", "--format", "json").stdout
    )
    assert (record["instance"], record["ended"], record["most_held"]) == (f"{parts}/0.json and 2 more", 3, 1)
    files = [str(parts / f"{number}.json") for number in (2, 1)]
    done = run("simulate", *files, "--stream", "instances", "--policy", "dl")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert 'portion 2 of the workload, "part-1", has jobs that arrive before those of the portion before' in done.stderr


def test_instances_whose_jobs_are_not_in_order(tmp_path: Path) -> None:
    """Tests that jobs of an instance are put in order of arrival, and that one without an arrival is told."""
    fields: dict[str, Any] = {"job": [0, 1, 0], "job_ids": ["late", "early"], "duration": [1, 2, 3]}
    path = tmp_path / "two.json"
    instance = Instance(Cluster(["a"]), Workload(["t", "u", "v"], **fields, arrival=[50, 3]), name="two")
    save(instance, path)
    words = ["simulate", str(path), "--policy", "fifo", "--format", "json"]
    (record,), (whole,) = (json.loads(run(*words, *more).stdout) for more in (["--stream", "instances"], []))
    assert {name: record[name] for name in ("ended", "makespan", "mean_job_time", "offers")} == {
        name: whole[name] for name in ("ended", "makespan", "mean_job_time", "offers")
    }
    save(Instance(Cluster(["a"]), Workload(["t", "u", "v"], **fields), name="two"), path)
    done = run(*words, "--stream", "instances")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert 'portion 1 of the workload, "two", has jobs without an arrival' in done.stderr


def test_exact_or_not(trace: Path) -> None:
    """Tests that ended jobs are dropped also while tasks wait where runs need not be exact."""
    for exact in (True, False):
        text = f"swim,nodes=1,slots=1,replicas=0,jobs=1,exact={str(exact).lower()}"
        words = ["simulate", str(trace), "--stream", text, "--policy", "fair", "--format", "json"]
        (record,) = json.loads(run(*words).stdout)
        own = simulate_stream(
            map(load, swim_portions(trace, jobs=1, nodes=1, slots=1, replicas=0)), "fair", exact=exact
        )
        assert record["most_held"] == own.most_held
        assert record["mean_job_time"] == own.mean_job_time


def test_parquet(trace: Path, tmp_path: Path) -> None:
    """Tests the rows of jobs as Parquet, where it can be written, against those as CSV."""
    words = ["simulate", str(trace), "--stream", "swim,nodes=5,jobs=2", "--policy", "fair", "--jobs"]
    path = tmp_path / "jobs.parquet"
    done = run(*words, str(path))
    if not find_spec("pyarrow"):
        assert (done.exit_code, path.exists()) == (2, False)
        assert "parquet needs pyarrow; install it, or write .csv" in done.stderr
        return
    assert run(*words, str(tmp_path / "jobs.csv")).exit_code == done.exit_code == 0
    pd.testing.assert_frame_equal(pd.read_parquet(path), pd.read_csv(tmp_path / "jobs.csv"), check_dtype=False)


def test_what_was_finished_is_kept(trace: Path, tmp_path: Path) -> None:
    """Tests that where a line is wrong the rows of jobs that were told by then are beside the file, and it is told."""
    trace.write_text(trace.read_text() + "job8\tnever\t0\t0\t0\t0\n")
    jobs = tmp_path / "jobs.csv"
    done = run("simulate", str(trace), "--stream", "swim,nodes=5,jobs=2", "--policy", "fair", "--jobs", str(jobs))
    assert done.exit_code == 3
    assert "line 9" in done.stderr
    assert f"{jobs} is not written; what was finished is in {jobs}.partial" in done.stderr
    assert not jobs.exists()
    rows = list(csv.DictReader(io.StringIO(Path(f"{jobs}.partial").read_text())))
    assert [row["job_id"] for row in rows] == [f"job{number}" for number in range(len(rows))]
    assert rows


class Idle:
    """Starts nothing."""

    def offer(self, offer: object, view: object) -> list[int]:
        return []


def test_runs_that_do_not_end(trace: Path) -> None:
    """Tests a note where a run was stopped as asked, and exit code 4 where nothing starts any more."""
    words = ["simulate", str(trace), "--stream", "swim,nodes=5"]
    stopped = run(*words, "--policy", "dl", "--until", "50")
    assert stopped.exit_code == 0
    assert "small, dl: stopped at 50 s, as asked" in stopped.stderr
    begun = run(*words, "--policy", "tests.cli.test_portions:Idle", "--policy", "dl")
    assert begun.exit_code == 4
    assert len(begun.stdout.splitlines()) == 4
    assert 'small: under policy "tests.cli.test_portions:Idle": ' in begun.stderr


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--stream", "swims"], 'there is no stream of "swims"; did you mean "swim"?'),
        (["--stream", "swim,nod=3"], 'there is no parameter "nod"; did you mean "nodes"?'),
        (["--stream", "swim,nodes=few"], "nodes=few: give a whole number"),
        (["--stream", "swim,nodes=0"], "nodes is 0; it must be 1 or more"),
        (["--stream", "swim,jobs=0"], "jobs is 0; it must be 1 or more"),
        (["--stream", "swim,exact=maybe"], "exact=maybe: give true or false"),
        (["--stream", "swim,nodes"], "write parameters as name=value"),
        (["--stream", "instances,jobs=3"], 'there is no parameter "jobs"; known: exact'),
        (["other.tsv", "--stream", "swim"], "--stream swim: is of one trace, and these are 2"),
        (["--stream", "swim", "--service", "rates"], "service: Rates keeps tasks that run"),
        (["--stream", "swim", "--schedule", "s.json"], "--schedule needs all tasks of a run"),
        (["--stream", "swim", "--plot", "times=t.svg"], "--plot needs all tasks of a run"),
        (["--stream", "swim", "--lose", "n1:5"], "--lose needs all tasks of a run"),
        (["--stream", "swim", "--jobs", "jobs.xls"], "give a file that ends in .csv or .parquet"),
    ],
)
def test_wrong_usage(trace: Path, given: list[str], told: str) -> None:
    """Tests exit code 2 and one line for each thing that is wrong."""
    done = run("simulate", str(trace), "--policy", "fair", *given)
    assert (done.exit_code, done.stdout, done.stderr.count("optsched: error")) == (2, "", 1)
    assert told in done.stderr


def test_a_trace_that_is_none(trace: Path, tmp_path: Path) -> None:
    """Tests exit code 3 for a trace that is not there, and for an instance that is none."""
    for given in ([str(tmp_path / "none.tsv"), "--stream", "swim"], [str(trace), "--stream", "instances"]):
        done = run("simulate", "--policy", "fair", *given)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (3, "", 1)
