"""`optsched simulate`: tables, records, files of jobs and schedules, and runs that do not end."""

import csv
import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pandas
import pytest
from command_line import answer, run, stderr, stdout
from over_time import arriving
from pages import shell

import optsched
from optsched.cli.simulating import PLOTS
from optsched.heuristics.simulating import simulate
from optsched.instances.files import load, save
from optsched.measuring import decomposing
from optsched.measuring.printing import interval
from optsched.measuring.timelines import timelines_of
from optsched.problems.locality_counts import NAMES

pytestmark = pytest.mark.usefixtures("wide_page")


@pytest.fixture
def day(tmp_path: Path) -> Path:
    """A small workload over time, as a file."""
    path = tmp_path / "day.json"
    save(arriving(1), path)
    return path


def test_a_row_for_each_run(day: Path) -> None:
    """Tests the table of several policies, and of several seeds."""
    labels = ["fair,delay=0", "lsap-sched,period=2"]
    head, _, *rows = stdout("simulate", str(day), "--policy", labels[0], "--policy", labels[1]).splitlines()
    assert head.split()[:2] == ["policy", "seeds"]
    assert [row.split()[:3] for row in rows] == [[label, "10", "17/17"] for label in labels]
    rand = ("simulate", str(day), "--policy", "rand", "--seed", "5")
    (row,) = stdout(*rand, "--repeats", "3").splitlines()[2:]
    records = answer(*rand, "--repeats", "3")
    assert [record["seed"] for record in records] == [5, 6, 7]
    means = [record["mean_job_time"] for record in records]
    low, high = interval(means)
    assert row.split()[:3] == ["rand", "3", "17/17"]
    assert f"{sum(means) / 3:,.1f} ±{(high - low) / 2:,.1f} s" in row
    assert f"  {max(means):,.1f} s" in row
    (one,) = stdout(*rand).splitlines()[2:]
    assert one.split()[:2] == ["rand", "1"]
    save(arriving(2), day.with_name("night.json"))
    assert stdout("simulate", str(day.parent), "--policy", "dl", "--format", "markdown").startswith("| instance")


def test_records_are_what_simulate_gives(day: Path, tmp_path: Path) -> None:
    """Tests the record of a run with every rule, as JSON and as CSV."""
    rules = ["--heartbeat", "2", "--assign", "one", "--slowstart", "0.5", "--service", "levels,factors=1:2:3"]
    command = ["simulate", str(day), "--policy", "solve,problem=lsap,period=4", "--seed", "3", *rules]
    (record,) = answer(*command)
    own = simulate(load(day), "solve", heartbeat=2, assign="one", slowstart=0.5, seed=3, problem="lsap", period=4)
    expected = own.record_of() | {"service": "levels,factors=1:2:3"}
    assert list(record) == ["version", *expected, "notes"]
    assert {name: record[name] for name in expected} == expected
    stdout(*command, "--output", str(tmp_path / "runs.csv"))
    (row,) = csv.DictReader((tmp_path / "runs.csv").read_text().splitlines())
    assert float(row["makespan"]) == record["makespan"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_files_of_jobs(day: Path, tmp_path: Path, suffix: str) -> None:
    """Tests that the jobs of all runs are written, each with what it is of."""
    path = tmp_path / f"jobs{suffix}"
    asked = ("simulate", str(day), "--policy", "fair", "--policy", "dl", "--seed", "0", "--jobs", str(path))
    if suffix == ".parquet" and not (find_spec("pyarrow") or find_spec("fastparquet")):
        assert "parquet needs pyarrow; install it, or write .csv" in stderr(*asked, code=2)
        assert not path.exists()
        return
    stdout(*asked)
    table = pandas.read_csv(path) if suffix == ".csv" else pandas.read_parquet(path)
    assert table.columns[:4].tolist() == ["instance", "policy", "seed", "job_id"]
    assert table["policy"].tolist() == ["fair"] * 3 + ["dl"] * 3
    own = simulate(load(day), "dl").jobs
    assert table["turnaround_time"].tolist()[3:] == own["turnaround_time"].tolist()


def test_bug_parameters_of_policies_were_dropped(day: Path, tmp_path: Path) -> None:
    """Tests that a policy of two settings has two names in the table, the jobs, the notes and the pictures."""
    labels = ["fair", "fair,delay=0", "fair,delay=9"]
    asked = ("simulate", str(day), "--seed", "0", *(part for label in labels for part in ("--policy", label)))
    drawn, jobs = tmp_path / "times.svg", str(tmp_path / "jobs.csv")
    shown = stdout(*asked, "--jobs", jobs, "--plot", f"times={drawn}")
    assert [row.split()[0] for row in shown.splitlines()[2:]] == labels
    assert pandas.read_csv(jobs)["policy"].unique().tolist() == labels
    assert all(f">{label}<" in drawn.read_text() for label in labels)
    said = stderr(*asked, "--until", "0.5")
    assert all(f", {label}: " in said for label in labels)
    runs = [simulate(load(day), "fair"), simulate(load(day), "fair", delay=0), simulate(load(day), "dl")]
    assert [one.name for one in timelines_of(runs)] == ["fair,delay=hadoop", "fair,delay=0", "dl"]


def test_bug_a_policy_with_a_parameter_called_policy_crashed(day: Path) -> None:
    """Tests `--policy joss-t,policy=A`, whose `policy` was taken for that of the command."""
    (record,) = answer("simulate", str(day), "--policy", "joss-t,policy=A", "--repeats", "1")
    assert (record["policy"], record["parameters"]["policy"]) == ("joss-t", "A")


def test_tables_and_records_name_the_levels_of_locality(day: Path) -> None:
    """Tests the three levels: node, rack, off-rack in tables, `off_rack` in records, of which none is `remote`."""
    head = stdout("simulate", str(day), "--policy", "fair", "--seed", "0").splitlines()[0]
    assert head.split()[-3:] == list(NAMES) == ["node", "rack", "off-rack"]
    fields = simulate(load(day), "fair").record_of().keys()
    assert {"maps_node", "maps_rack", "maps_off_rack"} == {name for name in fields if name.startswith("maps_")}


def assuming(day: Path, **labels: str) -> str:
    """The workload with labels that say what was assumed, and more."""
    labels |= {"times": "assumed: as on one's data", "slots": "inferred from the tasks", "arrival": "recorded"}
    save(replace(load(day), labels=labels), day)
    return str(day)


def test_pictures_of_runs(day: Path, tmp_path: Path) -> None:
    """Tests that each picture has the policies as they were named, and what was assumed, and that stdout is kept."""
    command = ["simulate", assuming(day), "--policy", "fair,delay=0", "--policy", "dl"]
    plots = {what: tmp_path / f"{what}.svg" for what in PLOTS}
    shown = stdout(*command, *(f"--plot={what}={path}" for what, path in plots.items()))
    assert shown == stdout(*command, "--seed", "0")
    for what, path in plots.items():
        drawn = path.read_text()
        assert ("than with" if what == "reductions" else "fair,delay=0") in drawn
        assert ">assumed or inferred: times, slots<" in drawn
    four = tmp_path / "four.svg"
    stdout(*command, "--repeats", "2", "--seed", "4", "--plot", f"gantt={four}")
    assert ">dl, seed 5<" in four.read_text()


def test_nodes_that_are_lost(day: Path) -> None:
    """Tests that losses are those of `simulate`, and are in the record."""
    lost = ["--lose", "n1:5:20", "--lose", "n2:30"]
    (record,) = answer("simulate", str(day), "--policy", "fair", "--seed", "0", *lost)
    own = simulate(load(day), "fair", losses=[("n1", 5, 20), ("n2", 30, None)])
    assert (record["losses"], record["makespan"]) == ("n1:5:20 n2:30", own.makespan)


def test_runs_that_do_not_end(day: Path, own: str) -> None:
    """Tests a note where a run was stopped as asked, and exit code 4 where nothing starts any more."""
    stopped = stderr("simulate", str(day), "--policy", "dl", "--until", "5")
    assert "arriving-1, dl: stopped at 5 s, as asked" in stopped
    some = ("simulate", str(day), "--policy", "rand", "--repeats", "5", "--until", "20")
    ended = {record["ended"] for record in answer(*some)}
    (row,) = stdout(*some).splitlines()[2:]
    assert (len(ended) > 1, row.split()[2]) == (True, f"{min(ended)}/17"), "the fewest of all seeds"
    assert f'"{own}:Idle": 12 maps wait ("' in stderr("simulate", str(day), "--policy", f"{own}:Idle", code=4)


OWN = """
import time
import numpy as np
from optsched.heuristics.simulating import Service

class Plain(Service):
    def __init__(self, seconds=2):
        self.seconds = seconds
    def started(self, task, node, now):
        return [(task, now + self.seconds * 1_000_000)]

class Alone:
    def started(self, task, node, now):
        return [(task, now + 1)]

class Unsaid(Service):
    pass

class Needs(Plain):
    def __init__(self, seconds):
        self.seconds = seconds

class Breaks(Plain):
    def started(self, task, node, now):
        return [(task, now + 1 / 0)]

class Other(Plain):
    def started(self, task, node, now):
        yield task + 1, now + 1

class Unready(Plain):
    def prepare(self, instance):
        raise KeyError("speed")

class Idle:
    def offer(self, offer, view):
        return []

class Sleeps:
    def offer(self, offer, view):
        time.sleep(60)
        return []

class Elsewhere:
    drawn = np.random.default_rng(1)
    def offer(self, offer, view):
        return [int(self.drawn.choice(waiting))] if len(waiting := np.flatnonzero(view.status == 0)) else []
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module with services of a user's own, and a policy that never answers."""
    (tmp_path / "own_services.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "own_services"


@pytest.mark.parametrize("more", [[], ["--heartbeat", "0"]])
def test_bug_what_is_not_repeatable_was_not_told(own: str, tmp_path: Path, more: list[str]) -> None:
    """Tests that random numbers of a policy's own are reported, also where slots are offered in random order."""
    path = tmp_path / "maps.json"
    save(load("generated/lsap-n20-t15-seed0"), path)
    asked = ("simulate", str(path), "--policy", f"{own}:Elsewhere", "--service", "levels,duration=5")
    assert f"optsched: warning: {own}:Elsewhere is not repeatable: two runs" in stderr(*asked, *more)


def test_bug_a_service_of_the_folder_was_not_found(day: Path, tmp_path: Path) -> None:
    """Tests that a service is found in the present folder, as a policy is."""
    (tmp_path / "services_here.py").write_text(OWN, encoding="utf-8")
    asked = f"optsched simulate {day} --policy fifo --seed 0 --service services_here:Plain --format json"
    assert json.loads(shell(asked, tmp_path))[0]["service"] == "Plain"


@pytest.mark.parametrize(
    ("service", "code", "message"),
    [
        ("Alone", 2, "Alone has no waits_for_maps, stateless, prepare, ended, stopped"),
        ("Unsaid", 2, "Unsaid does not say when a task ends; define `started`"),
        ("Needs", 2, "give its parameters as own_services:Needs,NAME=VALUE"),
        ("Plain,speed=3", 2, "own_services:Plain has no parameter speed"),
        ("Breaks", 4, "the service Breaks raised ZeroDivisionError"),
        ("Other", 4, 'under policy "fifo": the service Other names 11, no task that runs'),
        ("Unready", 4, "the service Unready raised KeyError"),
    ],
)
def test_services_that_break_their_contract(day: Path, own: str, service: str, code: int, message: str) -> None:
    """Tests one clear message for each thing that a service must have, and must answer."""
    asked = ("simulate", str(day), "--policy", "fifo", "--heartbeat", "0", "--service", f"{own}:{service}")
    said = stderr(*asked, code=code)
    assert message in " ".join(said.split())
    assert "Traceback" not in said


def test_bug_no_header_where_no_run_ends(day: Path, own: str) -> None:
    """Tests that CSV without a run has the header that it has with one."""
    asked = ("simulate", str(day), "--policy", "fifo", "--heartbeat", "0", "--format", "csv")
    head = stdout(*asked).splitlines()[:1]
    assert run(*asked, "--service", f"{own}:Breaks").stdout.splitlines() == head
    assert head == [f"version,{','.join(simulate(load(day), 'fifo').record_of())},notes"]


def test_limits_of_a_run(day: Path, own: str, tmp_path: Path) -> None:
    """Tests that a run that takes too long or too much has no row, and that the others are as without limits."""
    words = ("simulate", str(day), "--policy", "fifo", "--format", "json")
    done = run(*words, "--policy", f"{own}:Sleeps", "--run-limit", "4", "--jobs", str(tmp_path / "jobs.csv"))
    assert (done.exit_code, json.loads(done.stdout)) == (4, json.loads(stdout(*words)))
    assert f'policy "{own}:Sleeps" was out of time: killed after 4 s' in " ".join(done.stderr.split())
    assert not (tmp_path / "jobs.csv").exists()
    done = run("simulate", str(day), "--policy", "fifo", "--memory-limit", "20")
    assert (done.exit_code, done.stdout) == (4, "")
    assert 'policy "fifo" was out of memory' in done.stderr


@pytest.fixture
def morning(tmp_path: Path) -> str:
    """A small instance of jobs that arrive one after another."""
    path = tmp_path / "morning.json"
    optsched.save(optsched.generate("job-times", seed=3, nodes=3, tasks=4, jobs=2, reduces=1, slots=1), path)
    return str(path)


def test_forms_agree(morning: str) -> None:
    """Tests that the parts add up in JSON, and that the table has a row for each, between the policy and the bound."""
    words = ("decompose", morning, "--problem", "job-times", "--heuristic", "dl", "--repeats", "2")
    done = answer(*words)
    (one,) = done["policies"]
    assert [entry["seed"] for entry in one["runs"]] == [0, 1]
    assert sum(one["parts"].values()) == pytest.approx(one["means"]["as_is"] - done["bound"])
    assert done["known"] <= done["arrived"] <= min(entry["any_order"] for entry in one["runs"])
    shown = stdout(*words)
    rows = [line.split("  ")[0] for line in shown.splitlines()]
    assert rows[2:] == ["as it is (A)", *one["parts"], "bound (G)"]
    assert "sum of 2 job times, mean of 2 seeds" in " ".join(shown.split())
    assert f"proof: {done['certificate']}" in shown


def test_several_policies(morning: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that several policies, by either name of the option, are one table below one bound, in every form."""
    held, decompose = {}, decomposing.decompose_all  # decomposed once, and shown in six forms
    monkeypatch.setattr(
        decomposing, "decompose_all", lambda *of, **how: held.get(0) or held.setdefault(0, decompose(*of, **how))
    )
    words = ("decompose", morning, "--problem", "job-times", "--repeats", "2", "--heuristic", "rand", "--policy")
    words += ("fair,delay=0", "--policy", "rand")
    done = answer(*words)
    policies = done["policies"]
    assert [entry["heuristic"] for entry in policies] == ["rand", "fair"]
    assert [entry["heuristic_parameters"] for entry in policies] == [{}, {"delay": "0"}]
    for entry in policies:
        assert sum(entry["parts"].values()) == pytest.approx(entry["gap"])
        assert entry["gap"] == pytest.approx(entry["means"]["as_is"] - done["bound"])
    rows = list(csv.DictReader(stdout(*words, "--format", "csv").splitlines()))
    assert [float(row["order_of_jobs"]) for row in rows] == [entry["parts"]["order of jobs"] for entry in policies]
    assert [float(row["gap"]) for row in rows] == [entry["gap"] for entry in policies]
    target, output = tmp_path / "parts.svg", tmp_path / "parts.csv"
    assert stdout(*words, "--to", str(target), "--output", str(output)) == ""
    assert list(csv.DictReader(output.read_text(encoding="utf-8").splitlines())) == rows
    assert "fair,delay=0" in target.read_text(encoding="utf-8")
    for form in ("table", "latex"):
        text = stdout(*words, "--format", form)
        heading = " ".join(text.partition("policy")[0].split())
        assert f"sum of 2 job times, mean of 2 seeds, in seconds; {done['assumed']}; best found with" in heading
        assert f"proof: {done['certificate']}" in heading
        (shown,) = (line for line in text.splitlines() if "fair,delay=0" in line)
        assert f"{policies[1]['gap']:.6g}" in shown


def test_a_policy_that_fails(morning: str, own: str, tmp_path: Path) -> None:
    """Tests that a policy that fails is reported on stderr, with exit code 4, and that the others have their rows."""
    asked = ("decompose", morning, "--problem", "makespan", "--repeats", "1", "--heuristic", f"{own}:Idle")
    result = run(*asked, "--heuristic", "fair", "--policy", "dl")
    assert result.exit_code == 4
    assert [line.split()[0] for line in result.stdout.splitlines()[-2:]] == ["fair", "dl"]
    assert f"{own}:Idle" in result.stderr
    target = tmp_path / "nothing.svg"
    assert (stdout(*asked, "--to", str(target), code=4), target.exists()) == ("", False)


def test_bug_the_limit_could_not_be_lifted(morning: str) -> None:
    """Tests that `--time-limit none` leaves the end to counts, and says what a long limit says."""
    words = ["decompose", morning, "--problem", "job-times", "--heuristic", "fifo", "--repeats", "1", "--time-limit"]
    assert run(*words, "none").stdout == run(*words, "100").stdout != ""
