"""Instances as tables in files: the same as from frames, whatever the kind of file; what is wrong is reported."""

import json
from pathlib import Path
from typing import Any

import command_line
import pandas as pd
import pytest

from optsched.core.errors import InputError
from optsched.instances.files import load
from optsched.instances.frames import header, load_tables, tasks_table
from optsched.instances.library import NETWORK, library

NODES = "id,slots,rack\nn1,2,01\nn2,1,1\n"
TASKS = "id,replicas,size,duration\n007,n1 n2,64,\nNA,n2;n1,32,2.5\nt3,,,\n"

#: Instances of the library with every kind of field.
LIBRARY = sorted(name for name in library() if NETWORK not in library()[name].tags and name.count("papers"))


def written(folder: Path, **files: str) -> Path:
    """A folder with these files, `__` for the dot of their names."""
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.thorough] * (at % 6 > 0)) for at, name in enumerate(LIBRARY)]
)
def test_frames_in_files_are_the_same_instance(name: str, tmp_path: Path) -> None:
    """Tests that what `to_frames` and `header` give, as CSV, is the same instance, by its folder and by each table."""
    instance: Any = load(name)
    for table, frame in instance.to_frames().items():
        frame.to_csv(tmp_path / f"{table}.csv", index=False)
    (tmp_path / "header.json").write_text(json.dumps(header(instance)))
    for path in (tmp_path, tmp_path / "tasks.csv", tmp_path / "nodes.csv"):
        again = load(path)
        assert (again.sha256, again.name) == (instance.sha256, instance.name)


def test_tables_by_hand(tmp_path: Path) -> None:
    """Tests lists of replicas, ids that look like numbers or like nothing, empty cells, and names of files."""
    written(tmp_path, nodes__csv=NODES, mine__csv=TASKS)
    instance: Any = load(tmp_path / "mine.csv")
    assert instance.name == "mine"
    assert instance.workload.task_ids.tolist() == ["007", "NA", "t3"]
    assert instance.cluster.rack_ids.tolist() == ["01", "1"]
    assert [instance.replicas[task].tolist() for task in range(3)] == [[0, 1], [1, 0], []]
    (tmp_path / "mine.csv").rename(tmp_path / "tasks.csv")
    assert load(tmp_path).name == tmp_path.name
    assert tasks_table(str(tmp_path / "nodes.csv")) == tmp_path / "tasks.csv"
    assert tasks_table(str(tmp_path / "nodes.txt")) is None


def test_bug_what_names_no_row_said_not_what_to_write(tmp_path: Path) -> None:
    """Tests one line for a missing table of jobs, the name that differs in case only, and how ids are separated."""
    tasks = "id,job,replicas\n" + "".join(f"t{task},j{task},n1|n2\n" for task in range(5)) + "t9,j9,N1\n"
    written(tmp_path, nodes__csv=NODES, tasks__csv=tasks)
    path = tmp_path / "tasks.csv"
    with pytest.raises(InputError) as caught:
        load(path)
    lines = str(caught.value.with_source(str(path))).splitlines()
    assert lines[0] == f"{path}: its tasks name jobs: add jobs.csv with a row for each job (column id)"
    assert not any("no job" in line or line.count("tasks.csv") > 1 for line in lines)
    assert lines[1].endswith('no node "n1|n2"; separate replicas by blanks or ;')
    assert lines[-1].endswith('no node "N1"; did you mean "n1"?')


def test_commands_take_tables(tmp_path: Path) -> None:
    """Tests `gap`, `solve` and `describe` on tables, and folders of them beside files."""
    written(tmp_path, nodes__csv=NODES, tasks__csv=TASKS)
    for source in (str(tmp_path), str(tmp_path / "tasks.csv")):
        (entry,) = command_line.answer("gap", source, "--problem", "lsap", "--heuristic", "lsap-sched")
        assert (entry["instance"], entry["objective"], entry["reference"]) == (tmp_path.name, 1, 1)
        assert command_line.answer("solve", source, "--problem", "latency")["termination"] == "OPTIMAL"
        assert command_line.answer("describe", source)["sizes"]["tasks"] == 3


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"tasks__csv": TASKS}, "tasks.csv: is a table of tasks; put nodes.csv"),
        ({"tasks__csv": TASKS, "nodes__csv": ""}, "nodes.csv: is no table: No columns"),
        ({"tasks__csv": TASKS, "nodes__csv": "id;slots\na;1\n"}, "nodes.csv: its columns are separated by semicolons"),
        ({"tasks__csv": 'id\n"t1\n', "nodes__csv": NODES}, "tasks.csv: is no table: Error tokenizing"),
        ({"tasks__csv": "id,siz\nt1,2\n", "nodes__csv": NODES}, "tasks.siz: there is no such field; did you mean"),
        (
            {"tasks__csv": "id,size\nt1,2\nt2,x\n", "nodes__csv": NODES},
            r"tasks.csv, line 3: tasks\[1\].size: expected a number, 0 or more, got \"x\"$",
        ),
        ({"tasks__csv": "id,replicas\nt1,n1 n9\n", "nodes__csv": NODES}, r'tasks\[0\].replicas\[1\]: no node "n9"'),
        ({"tasks__csv": TASKS, "nodes__csv": NODES, "replicas__csv": "task,node\nt3,n1\n"}, "replicas: is a frame, "),
        ({"tasks__csv": TASKS, "nodes__csv": NODES, "header__json": "{"}, "header.json: cannot be read"),
        ({"tasks__csv": TASKS, "nodes__csv": NODES, "header__json": '{"tasks": []}'}, "holds what is no table"),
        ({"tasks__csv": "id,replicas\nt1,n1,n2\n", "nodes__csv": NODES}, "rows with more entries than the header"),
        ({"tasks__parquet": "no", "nodes__csv": NODES}, "tasks.parquet: "),
    ],
)
def test_what_is_wrong_is_reported(files: dict[str, str], message: str, tmp_path: Path) -> None:
    """Tests one message with file and place for each fault."""
    with pytest.raises(InputError, match=message):
        load(written(tmp_path, **files))


def test_commas_at_the_ends_of_rows(tmp_path: Path) -> None:
    """Tests that an empty entry past the header shifts no column: the first was taken for a name of the row."""
    instance = load(written(tmp_path, tasks__csv="id,replicas\nt1,n1,\n", nodes__csv=NODES))
    assert instance.workload.task_ids.tolist() == ["t1"]
    assert instance.workload.replicas[0].tolist() == [0]


def test_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that tables of Parquet are read by pandas, lists too, and that a missing library is shown with the mend."""
    tasks = pd.DataFrame({"id": ["t1", "t2"], "replicas": [["n2"], ["n1", "n2"]]})
    path = written(tmp_path, nodes__csv=NODES, small__parquet="") / "small.parquet"
    monkeypatch.setattr(pd, "read_parquet", lambda path: tasks.copy())
    assert [load_tables(path).replicas[task].tolist() for task in range(2)] == [[1], [0, 1]]

    def missing(path: Path) -> None:
        raise ImportError("Unable to find a usable engine")

    monkeypatch.setattr(pd, "read_parquet", missing)
    with pytest.raises(InputError, match=r"small.parquet: Parquet needs pyarrow; install it \(pip install pyarrow\)"):
        load(path)


def test_bug_faults_of_another_table(tmp_path: Path) -> None:
    """Tests that a fault names its own file and line; each was told as one of tasks.csv, without a line."""
    tables = {"tasks__csv": "id,job,replicas\nt1,a,n1\n\nt2,c,n9\n", "nodes__csv": "id,slots\nn1,2\n\nn2,-5\n"}
    source = written(tmp_path, **tables, jobs__csv="id\na\n")
    with pytest.raises(InputError) as caught:
        load(source)
    lines = str(caught.value).splitlines()
    assert f"{tmp_path / 'nodes.csv'}, line 4: nodes[1].slots: expected an integer, 0 or more, got -5" in lines
    with pytest.raises(InputError) as caught:
        load(written(tmp_path, nodes__csv="id,slots\nn1,2\n"))
    places = [line.partition(": ")[0] for line in str(caught.value).splitlines()]
    assert places == [f"{tmp_path / 'tasks.csv'}, line 4"] * 2
