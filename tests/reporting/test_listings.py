"""Tables of instances and runs."""

from __future__ import annotations

from report_records import MIXED, entries, record, shown

from optsched.reporting.listings import all_runs, failures, instances


def test_instances() -> None:
    """Tests the cell of an instance: a mean over seeds, a difference beside 0, a reason, and how many runs count."""
    rows = [record(4, seed=seed) for seed in (0, 1)] + [record(None, seed=2)]
    rows += [record(1, 0, "z"), record(0, 0, "z", seed=1), record(None, instance="n"), record(3, None, "u")]
    rows += [record(2, instance="a", heuristic="fair")]
    table = instances(entries(rows))
    assert shown(table) == [
        ["a", "2", "dual", "100 % (2/3)", "0 %"],
        ["z", "0", "dual", "+0.5", ""],
        ["n", "2", "dual", "infeasible", ""],
        ["u", "-", "unknown", "unknown", ""],
    ]


def test_failures_and_runs() -> None:
    """Tests that each run is a row with its command, and that what failed says why."""
    runs = entries(MIXED)
    failed = shown(failures(runs))
    assert [row[4] for row in failed] == ["infeasible", "starved", "out of time", "out of memory", "crashed", "failed"]
    assert failed[0][5] == "slots(n0) by 1"
    assert failed[2][5] == "killed after 5 s"
    everything = all_runs(runs)
    assert len(everything.rows) == len(MIXED)
    assert [row[0] for row in shown(everything)] == list("defghicabj"), "failures, over 0, the largest gaps"
    assert shown(everything)[7][5:11] == ["4", "2", "dual", "2", "100 %", "0.125"]
    assert shown(everything)[7][-1] == "optsched gap a.json --problem lsap --heuristic dl --seed 0"
    plain = record(None, violations=[{"constraint": "cardinality", "ids": [], "amount": 3}])
    assert shown(failures(entries([plain])))[0][5] == "cardinality by 3"
