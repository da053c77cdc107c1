"""`optsched simulate`: tables, records, files of jobs and schedules, and runs that do not end."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas
import pytest
from command_line import answer, run
from over_time import arriving
from pages import shell

import optsched
from optsched.cli.simulating import PLOTS
from optsched.instances.claim_files import read_schedule
from optsched.instances.files import load, save
from optsched.measuring.printing import interval
from optsched.measuring.timelines import timelines_of
from optsched.problems.locality_counts import NAMES
from optsched.simulating import simulate

pytestmark = pytest.mark.usefixtures("wide_page")


@pytest.fixture
def day(tmp_path: Path) -> Path:
    """A small workload over time, as a file."""
    path = tmp_path / "day.json"
    save(arriving(1), path)
    return path


def test_a_row_for_each_run(day: Path) -> None:
    """Tests the table of several policies, and of several seeds."""
    done = run("simulate", str(day), "--policy", "fair,delay=0", "--policy", "lsap-sched,period=2")
    assert done.exit_code == 0, done.stderr
    head, _, *rows = done.stdout.splitlines()
    assert head.split()[:2] == ["policy", "seeds"]
    labels = ["fair,delay=0", "lsap-sched,period=2"]
    assert [row.split()[:3] for row in rows] == [[label, "10", "17/17"] for label in labels]
    three = ("simulate", str(day), "--policy", "rand", "--repeats", "3", "--seed", "5")
    (row,) = run(*three).stdout.splitlines()[2:]
    records = json.loads(run(*three, "--format", "json").stdout)
    assert [record["seed"] for record in records] == [5, 6, 7]
    means = [record["mean_job_time"] for record in records]
    low, high = interval(means) or (0, 0)
    assert row.split()[:3] == ["rand", "3", "17/17"]
    assert f"{sum(means) / 3:,.1f} ±{(high - low) / 2:,.1f} s" in row
    assert f"  {max(means):,.1f} s" in row
    (one,) = run(*three[:4], "--seed", "5").stdout.splitlines()[2:]
    assert one.split()[:2] == ["rand", "1"]
    save(arriving(2), day.with_name("night.json"))
    two = run("simulate", str(day.parent), "--policy", "dl", "--format", "markdown").stdout
    assert two.splitlines()[0].startswith("| instance")


def test_records_are_what_simulate_gives(day: Path, tmp_path: Path) -> None:
    """Tests the record of a run with every rule, as JSON and as CSV."""
    rules = ["--heartbeat", "2", "--assign", "one", "--slowstart", "0.5", "--service", "levels,factors=1:2:3"]
    command = ["simulate", str(day), "--policy", "solve,problem=lsap,period=4", "--seed", "3", *rules]
    (record,) = json.loads(run(*command, "--format", "json").stdout)
    own = simulate(load(day), "solve", heartbeat=2, assign="one", slowstart=0.5, seed=3, problem="lsap", period=4)
    shown = own.record_of()
    assert list(record) == ["version", *shown, "notes"]
    assert {name: record[name] for name in shown if name != "service"} == {
        name: value for name, value in shown.items() if name != "service"
    }
    assert record["service"] == "levels,factors=1:2:3"
    assert run(*command, "--output", str(tmp_path / "runs.csv")).exit_code == 0
    (row,) = csv.DictReader((tmp_path / "runs.csv").read_text().splitlines())
    assert float(row["makespan"]) == record["makespan"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_files_of_jobs(day: Path, tmp_path: Path, suffix: str) -> None:
    """Tests that the jobs of all runs are written, each with what it is of."""
    path = tmp_path / f"jobs{suffix}"
    done = run("simulate", str(day), "--policy", "fair", "--policy", "dl", "--seed", "0", "--jobs", str(path))
    if suffix == ".parquet" and not (find_spec("pyarrow") or find_spec("fastparquet")):
        assert done.exit_code == 2
        assert "parquet needs pyarrow; install it, or write .csv" in done.stderr
        assert not path.exists()
        return
    assert done.exit_code == 0, done.stderr
    table = pandas.read_csv(path) if suffix == ".csv" else pandas.read_parquet(path)
    assert table.columns[:4].tolist() == ["instance", "policy", "seed", "job_id"]
    assert table["policy"].tolist() == ["fair"] * 3 + ["dl"] * 3
    own = simulate(load(day), "dl").jobs
    assert table["turnaround_time"].tolist()[3:] == own["turnaround_time"].tolist()


def test_bug_parameters_of_policies_were_dropped(day: Path, tmp_path: Path) -> None:
    """Tests that a policy of two settings has two names in the table, the jobs, the notes and the pictures."""
    labels = ["fair", "fair,delay=0", "fair,delay=9"]
    policies = [part for label in labels for part in ("--policy", label)]
    drawn = ("--plot", f"times={tmp_path / 'times.svg'}")
    done = run("simulate", str(day), *policies, "--seed", "0", "--jobs", str(tmp_path / "jobs.csv"), *drawn)
    assert [row.split()[0] for row in done.stdout.splitlines()[2:]] == labels
    assert pandas.read_csv(tmp_path / "jobs.csv")["policy"].unique().tolist() == labels
    assert all(f">{label}<" in (tmp_path / "times.svg").read_text() for label in labels)
    stopped = run("simulate", str(day), *policies, "--seed", "0", "--until", "0.5")
    assert all(f", {label}: " in stopped.stderr for label in labels)
    runs = [simulate(load(day), "fair"), simulate(load(day), "fair", delay=0), simulate(load(day), "dl")]
    assert [one.name for one in timelines_of(runs)] == ["fair,delay=hadoop", "fair,delay=0", "dl"]


def test_bug_a_policy_with_a_parameter_called_policy_crashed(day: Path) -> None:
    """Tests `--policy joss-t,policy=A`, whose `policy` was taken for that of the command."""
    form = ("--repeats", "1", "--seed", "0", "--format", "json")
    (record,) = json.loads(run("simulate", str(day), "--policy", "joss-t,policy=A", *form).stdout)
    assert (record["policy"], record["parameters"]["policy"]) == ("joss-t", "A")


def test_tables_and_records_name_the_levels_of_locality(day: Path) -> None:
    """Tests the three levels: node, rack, off-rack in tables, `off_rack` in records, of which none is `remote`."""
    done = run("simulate", str(day), "--policy", "fair", "--seed", "0")
    assert done.stdout.splitlines()[0].split()[-3:] == list(NAMES) == ["node", "rack", "off-rack"]
    fields = simulate(load(day), "fair").record_of().keys()
    assert {"maps_node", "maps_rack", "maps_off_rack"} == {name for name in fields if name.startswith("maps_")}


def test_what_was_assumed_is_reported(day: Path, tmp_path: Path) -> None:
    """Tests that labels of what was assumed are reported once, before the figures, in records and in each picture."""
    labels = {"times": "assumed: as on one's data", "slots": "inferred from the tasks", "arrival": "recorded"}
    save(replace(load(day), labels=labels), day)
    words = ["simulate", str(day), "--policy", "fair", "--policy", "dl"]
    text = "assumed or inferred: times, slots"
    plots = [word for what in PLOTS for word in ("--plot", f"{what}={tmp_path / what}.svg")]
    done = run(*words, *plots)
    assert done.stderr == f"optsched: note: arriving-1: {text}; the labels say how (optsched describe)\n"
    for what in PLOTS:
        assert f">{text}<" in (tmp_path / f"{what}.svg").read_text()
    for record in json.loads(run(*words, "--format", "json").stdout):
        assert record["notes"] == [f"{text}; the labels say how (optsched describe)"]
    save(replace(load(day), labels={**labels, "generated": "all of it"}), day)
    assert run(*words).stderr == ""


def test_pictures_of_runs(day: Path, tmp_path: Path) -> None:
    """Tests that each picture is written as its file says, with the policies as they were named, and stdout is kept."""
    command = ["simulate", str(day), "--policy", "fair,delay=0", "--policy", "dl"]
    plots = [f"--plot={what}={tmp_path / what}.svg" for what in PLOTS]
    done = run(*command, *plots)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == run(*command, "--seed", "0").stdout
    for what in PLOTS:
        assert ("than with" if what == "reductions" else "fair,delay=0") in (tmp_path / f"{what}.svg").read_text()
    done = run(*command, "--repeats", "2", "--seed", "4", "--plot", f"gantt={tmp_path / 'four.svg'}")
    assert ">dl, seed 5<" in (tmp_path / "four.svg").read_text()


def test_the_schedule_of_a_run(day: Path, tmp_path: Path) -> None:
    """Tests that a schedule file is written, text or archive by its name, which solve takes, and of one run alone."""
    instance = load(day)
    due = simulate(instance, "dl").schedule
    for name in ("schedule.json", "schedule.npz"):
        path = tmp_path / name
        assert run("simulate", str(day), "--policy", "dl", "--schedule", str(path)).exit_code == 0
        assert read_schedule(path, instance) == due
    assert json.loads((tmp_path / "schedule.json").read_text())["format"] == "optsched-schedule/1"


def test_nodes_that_are_lost(day: Path, tmp_path: Path) -> None:
    """Tests that losses are those of `simulate`, are in the record, and what is refused with them, each in a line."""
    lost = ["--lose", "n1:5:20", "--lose", "n2:30"]
    (record,) = json.loads(
        run("simulate", str(day), "--policy", "fair", "--seed", "0", *lost, "--format", "json").stdout
    )
    own = simulate(load(day), "fair", losses=[("n1", 5, 20), ("n2", 30, None)])
    assert record["losses"] == "n1:5:20 n2:30"
    assert record["makespan"] == own.makespan


def test_runs_that_do_not_end(day: Path) -> None:
    """Tests a note where a run was stopped as asked, and exit code 4 where nothing starts any more."""
    stopped = run("simulate", str(day), "--policy", "dl", "--until", "5")
    assert stopped.exit_code == 0
    assert "arriving-1, dl: stopped at 5 s, as asked" in stopped.stderr
    begun = run("simulate", str(day), "--policy", "tests.cli.test_simulating:Idle")
    assert begun.exit_code == 4
    assert '"tests.cli.test_simulating:Idle": 12 maps wait ("' in begun.stderr


class Idle:
    """Starts nothing."""

    def offer(self, offer: object, view: object) -> list[int]:
        return []


OWN = """
import time
import numpy as np
from optsched.simulating import Service

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

class Single(Plain):
    def started(self, task, node, now):
        return now + 1

class Other(Plain):
    def started(self, task, node, now):
        yield task + 1, now + 1

class Unready(Plain):
    def prepare(self, instance):
        raise KeyError("speed")

class Sleeps:
    def offer(self, offer, view):
        time.sleep(60)
        return []

class Elsewhere:
    drawn = np.random.default_rng(1)
    def offer(self, offer, view):
        return [int(self.drawn.choice(waiting))] if len(waiting := np.flatnonzero(view.status == 0)) else []
"""


@pytest.mark.parametrize("more", [[], ["--heartbeat", "0"]])
def test_bug_what_is_not_repeatable_was_not_told(own: str, tmp_path: Path, more: list[str]) -> None:
    """Tests that random numbers of a policy's own are reported, also where slots are offered in random order."""
    path = tmp_path / "maps.json"
    save(load("generated/lsap-n20-t15-seed0"), path)
    done = run("simulate", str(path), "--policy", f"{own}:Elsewhere", "--service", "levels,duration=5", *more)
    assert done.exit_code == 0, done.stderr
    assert f"optsched: warning: {own}:Elsewhere is not repeatable: two runs" in done.stderr


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module with services of a user's own, and a policy that never answers."""
    (tmp_path / "own_services.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "own_services"


def test_a_service_of_your_own(day: Path, own: str) -> None:
    """Tests that a service of a user's own is taken as a policy is, with its parameters."""
    words = ("simulate", str(day), "--policy", "fifo", "--seed", "0", "--format", "json")
    for text, seconds in ((f"{own}:Plain", 2), (f"{own}:Plain,seconds=5", 5)):
        done = run(*words, "--service", text)
        assert done.exit_code == 0, done.stderr
        (record,) = json.loads(done.stdout)
        assert record["service"] == "Plain"
        instance = load(day)
        times = np.full((len(instance.workload), 3), float(seconds))
        alike = replace(instance, workload=replace(instance.workload, times=times))
        assert record["mean_job_time"] == simulate(alike, "fifo").record_of()["mean_job_time"]


def test_bug_a_service_of_the_folder_was_not_found(day: Path, tmp_path: Path) -> None:
    """Tests that a service is found in the present folder, as a policy is."""
    (tmp_path / "services_here.py").write_text(OWN, encoding="utf-8")
    shown = shell(
        f"optsched simulate {day} --policy fifo --seed 0 --service services_here:Plain --format json", tmp_path
    )
    assert json.loads(shown)[0]["service"] == "Plain"


@pytest.mark.parametrize(
    ("service", "code", "message"),
    [
        ("Alone", 2, "Alone has no waits_for_maps, stateless, prepare, ended, stopped"),
        ("Unsaid", 2, "Unsaid does not say when a task ends; define `started`"),
        ("Needs", 2, "give its parameters as own_services:Needs,NAME=VALUE"),
        ("Plain,speed=3", 2, "own_services:Plain has no parameter speed"),
        ("Plian", 2, 'there is no "Plian" in it'),
        ("time", 2, "not a module"),
        ("Breaks", 4, "the service Breaks raised ZeroDivisionError"),
        ("Single", 4, "the service Single raised TypeError"),
        ("Other", 4, 'under policy "fifo": the service Other names 11, no task that runs'),
        ("Unready", 4, "the service Unready raised KeyError"),
    ],
)
def test_services_that_break_their_contract(day: Path, own: str, service: str, code: int, message: str) -> None:
    """Tests one clear message for each thing that a service must have, and must answer."""
    done = run("simulate", str(day), "--policy", "fifo", "--heartbeat", "0", "--service", f"{own}:{service}")
    assert done.exit_code == code, done.stderr
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_limits_of_a_run(day: Path, own: str, tmp_path: Path) -> None:
    """Tests that a run that takes too long or too much has no row, and that the others are as without limits."""
    words = ("simulate", str(day), "--policy", "fifo", "--format", "json")
    free = run(*words)
    done = run(*words, "--policy", f"{own}:Sleeps", "--run-limit", "4", "--jobs", str(tmp_path / "jobs.csv"))
    assert done.exit_code == 4
    assert json.loads(done.stdout) == json.loads(free.stdout)
    assert f'policy "{own}:Sleeps" was out of time: killed after 4 s' in " ".join(done.stderr.split())
    assert not (tmp_path / "jobs.csv").exists()
    done = run("simulate", str(day), "--policy", "fifo", "--memory-limit", "20")
    assert (done.exit_code, done.stdout) == (4, "")
    assert 'policy "fifo" was out of memory' in done.stderr


@pytest.fixture(name="morning")
def _morning(tmp_path: Path) -> str:
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
    result = run(*words)
    assert result.exit_code == 0
    rows = [line.split("  ")[0] for line in result.stdout.splitlines()]
    assert rows[2:] == ["as it is (A)", *one["parts"], "bound (G)"]
    assert "sum of 2 job times, mean of 2 seeds" in rows_of(result.stdout)
    assert f"proof: {done['certificate']}" in result.stdout


def rows_of(text: str) -> str:
    """A text in one line."""
    return " ".join(text.split())


def test_several_policies(morning: str, tmp_path: Path) -> None:
    """Tests that several policies, by either name of the option, are one table below one bound, in every form."""
    words = ("decompose", morning, "--problem", "job-times", "--repeats", "2", "--heuristic", "rand", "--policy")
    words += ("fair,delay=0", "--policy", "rand")
    done = answer(*words)
    assert [entry["heuristic"] for entry in done["policies"]] == ["rand", "fair"]
    assert [entry["heuristic_parameters"] for entry in done["policies"]] == [{}, {"delay": "0"}]
    for entry in done["policies"]:
        assert sum(entry["parts"].values()) == pytest.approx(entry["gap"])
        assert entry["gap"] == pytest.approx(entry["means"]["as_is"] - done["bound"])
    rows = list(csv.DictReader(run(*words, "--format", "csv").stdout.splitlines()))
    assert [float(row["order_of_jobs"]) for row in rows] == [
        entry["parts"]["order of jobs"] for entry in done["policies"]
    ]
    assert [float(row["gap"]) for row in rows] == [entry["gap"] for entry in done["policies"]]
    target, output = tmp_path / "parts.svg", tmp_path / "parts.csv"
    result = run(*words, "--to", str(target), "--output", str(output))
    assert (result.exit_code, result.stdout) == (0, "")
    assert list(csv.DictReader(output.read_text(encoding="utf-8").splitlines())) == rows
    assert "fair,delay=0" in target.read_text(encoding="utf-8")
    for form in ("table", "markdown", "latex"):
        text = run(*words, "--format", form).stdout
        heading = rows_of(text.partition("policy")[0])
        assert f"sum of 2 job times, mean of 2 seeds, in seconds; {done['assumed']}; best found with" in heading
        assert f"proof: {done['certificate']}" in heading
        shown = [line for line in text.splitlines() if "fair,delay=0" in line]
        assert len(shown) == 1
        assert f"{done['policies'][1]['gap']:.6g}" in shown[0]


def test_a_policy_that_fails(morning: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a policy that fails is reported on stderr, with exit code 4, and that the others have their rows."""
    (tmp_path / "lazy_policies.py").write_text(
        "class Lazy:\n    def offer(self, offer, view):\n        return []\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    lazy = ("--heuristic", "lazy_policies:Lazy", "--repeats", "1")
    result = run("decompose", morning, "--problem", "makespan", "--heuristic", "fair", "--policy", "dl", *lazy)
    assert result.exit_code == 4
    assert [line.split()[0] for line in result.stdout.splitlines()[-2:]] == ["fair", "dl"]
    assert "lazy_policies:Lazy" in result.stderr
    target = tmp_path / "nothing.svg"
    result = run("decompose", morning, "--problem", "makespan", *lazy, "--to", str(target))
    assert (result.exit_code, result.stdout, target.exists()) == (4, "", False)


def test_rounds(morning: str) -> None:
    """Tests that a batch heuristic takes what rounds take, that `solve` is one, and that one seed is no plural."""
    for policy in ("lsap-sched,period=5", "solve,problem=lsap"):
        result = run("decompose", morning, "--problem", "makespan", "--heuristic", policy, "--repeats", "1")
        assert (result.exit_code, result.stderr) == (0, "")
        assert "makespan, mean of 1 seed\n" in result.stdout


def test_bug_the_limit_could_not_be_lifted(morning: str) -> None:
    """Tests that `--time-limit none` leaves the end to counts, and says what a long limit says."""
    words = ["decompose", morning, "--problem", "job-times", "--heuristic", "fifo", "--repeats", "1", "--time-limit"]
    assert run(*words, "none").stdout == run(*words, "100").stdout != ""
