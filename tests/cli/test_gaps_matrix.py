"""`optsched matrix`: the table, the records, and what ends it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_line import run


def cells(text: str) -> dict[str, list[str]]:
    """The rows of a table, split where two blanks are."""
    rows = [[cell for cell in line.split("  ") if cell] for line in text.splitlines()]
    return {row[0]: [cell.strip() for cell in row[1:]] for row in rows}


def test_table_of_the_worked_example() -> None:
    """Tests gaps, differences beside 0, marks of what is carried over, and one-word reasons."""
    result = run("matrix", "papers/guo-fig2", "--problem", "lsap", "--problem", "latency")
    assert result.exit_code == 0
    table = cells(result.stdout)
    assert table["heuristic"] == ["lsap", "latency"]
    assert table["lsap-sched"] == ["0 %", "0 % *"]
    assert table["dl"] == ["+1", "200 % *"]
    assert table["labl"] == ["slots *", "100 %"]


def test_json_and_csv_have_every_cell(tmp_path: Path) -> None:
    """Tests that there is a record a cell, with where it ran and why there is no gap."""
    names = ["--problem", "lsap", "--problem", "latency", "--heuristic", "dl", "--heuristic", "labl,lbar=inf"]
    result = run("matrix", "papers/guo-fig2", *names, "--format", "json")
    records = json.loads(result.stdout)
    assert [(record["heuristic"], record["problem"], record["ran_in"]) for record in records] == [
        ("dl", "lsap", "lsap"),
        ("dl", "latency", "lsap"),
        ("labl,lbar=inf", "lsap", "latency"),
        ("labl,lbar=inf", "latency", "latency"),
    ]
    assert [record["reason"] is None for record in records] == [
        record["absolute_gap"] is not None for record in records
    ]
    target = tmp_path / "matrix.csv"
    assert run("matrix", "papers/guo-fig2", *names, "--output", str(target)).exit_code == 0
    assert len(target.read_text().splitlines()) == 1 + len(records)


def test_failing_heuristic_is_a_word_and_an_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a heuristic that raises leaves the table whole, and the exit code 4."""
    (tmp_path / "broken_rule.py").write_text('def rule(problem, rng):\n    raise LookupError("lost")\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    names = ["--heuristic", "broken_rule:rule", "--heuristic", "lsap-sched", "--problem", "lsap"]
    result = run("matrix", "papers/guo-fig2", *names)
    assert result.exit_code == 4
    assert cells(result.stdout) == {
        "heuristic": ["lsap"],
        "-" * 16: ["-" * 6],
        "broken_rule:rule": ["failed"],
        "lsap-sched": ["0 %"],
    }
    assert "LookupError: lost" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["papers/guo-fig2", "--problem", "min-cost-flow"], 2, "decides no placement"),
        (["papers/guo-fig2", "--problem", "flow"], 3, "rate_in"),
        (["papers/guo-fig2", "--problem", "lsap", "--heuristic", "labl"], 2, "serves none of lsap"),
        (["papers/guo-fig2", "--problem", "lsapp"], 2, "did you mean"),
        (["no-such-file.json"], 3, "no-such-file.json"),
    ],
)
def test_wrong_usage_is_one_message(arguments: list[str], code: int, told: str) -> None:
    """Tests exit codes and messages of what cannot be done."""
    result = run("matrix", *arguments)
    assert result.exit_code == code
    assert told in result.stderr
    assert not result.stdout


def test_interrupted_solver_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C inside a solver ends the command after what is known was printed."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("optsched.routes.assignment.solve_assignment", interrupted)
    result = run("matrix", "papers/guo-fig2", "--problem", "lsap", "--heuristic", "lsap-sched")
    assert result.exit_code == 130
    assert "lsap-sched" in result.stdout


def test_bug_a_matrix_without_heuristics_was_an_empty_table() -> None:
    """Tests that where no heuristic of the list serves a problem the command says so, and what to do."""
    refused = run("matrix", "examples/knapsacks", "--problem", "generalized-assignment")
    assert refused.exit_code == 2
    told = "no heuristic of the list serves generalized-assignment on this instance; give your own"
    assert told in refused.stderr
    assert refused.stdout == ""


def test_bug_lines_were_drawn_where_stderr_is_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that whether a table is drawn is asked of stdout, which stands for stderr while heuristics run."""
    asked = []
    monkeypatch.setattr("optsched.cli.output.drawn", lambda output: bool(asked.append(sys.stdout is sys.stderr)))
    for command in (["gap"], ["matrix"], ["gap", "papers/guo-table2"]):
        run(*command, "papers/guo-fig2", "--problem", "lsap", "--heuristic", "dl")
    run("simulate", "examples/order-of-jobs", "--policy", "dl", "--seed", "0")
    assert asked == [False] * 4


def test_tables_for_documents() -> None:
    """Tests the matrix as LaTeX and Markdown: columns of numbers, a percent sign escaped."""
    asked = ("matrix", "papers/guo-fig2", "--problem", "lsap", "--problem", "latency", "--heuristic", "dl")
    latex = run(*asked, "--format", "latex").stdout
    assert latex.startswith("\\begin{tabular}{lrr}\n\\toprule\nheuristic & lsap & latency \\\\\n\\midrule\ndl & ")
    assert "\\bottomrule\n\\end{tabular}\n% +: over 0: " in latex
    marked = run(*asked, "--format", "markdown").stdout
    assert marked.startswith("| heuristic | lsap | latency |\n|---|--:|--:|\n| dl | ")
    assert marked.endswith("\n\n\\*: placed in another problem, which the heuristic serves\n")


def test_bug_gaps_of_several_components_had_no_legend() -> None:
    """Tests that a gap in work is marked among those in makespan, and that the legend says so."""
    result = run("matrix", "papers/labl-figure2", "--problem", "latency")
    table = cells(result.stdout)
    assert (table["round-robin"], table["flow-based"]) == (["33.3 %"], ["8.33 % (2)"])
    assert result.stdout.endswith("\n(2) in latency: gap in work, where makespan is at the optimum\n")


def test_plot(tmp_path: Path) -> None:
    """Tests that the matrix is drawn as well as told, with its words, and that what cannot be drawn is told before."""
    target = tmp_path / "m.svg"
    asked = ("matrix", "papers/guo-fig2", "--problem", "lsap", "--problem", "latency", "--plot")
    done = run(*asked, str(target))
    assert (done.exit_code, done.stderr) == (0, "")
    drawn = target.read_text()
    assert all(f">{text}<" in drawn for text in ("labl", "latency", "slots *", "+1"))
    assert "labl" in done.stdout
    refused = run(*asked, str(tmp_path / "m.xyz"))
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "--plot" in refused.stderr
