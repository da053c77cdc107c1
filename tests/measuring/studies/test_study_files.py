"""Tables of files: the values of keys, and the faults of those that are wrong."""

from optsched.core.errors import Fault
from optsched.measuring.studies.study_files import MEASURED, listed, note_faults


def test_tables() -> None:
    """Tests that each wrong value or key of a table is reported with its place."""
    faults: list[Fault] = []
    given = {"seeds": True, "heuristic": ["dl", ""], "instances": "a", "family": [{"nodes": 3}], "problme": "lsap"}
    note_faults(given, MEASURED, "part[0].", faults)
    shown = [str(fault) for fault in faults]
    places = [line.partition(":")[0].removeprefix("part[0].") for line in shown]
    assert places == ["seeds", "heuristic[1]", "family[0]", "problme"]
    assert shown[0].endswith('expected how many, a list of seeds, or a text such as "0-29", got true')
    assert shown[2].endswith("or a list of them, got a table")
    assert shown[3].endswith('did you mean "problem"?')
    assert (listed("a"), listed(["a"])) == (["a"], ["a"])
