"""Findings and judgements: what they say and hold."""

from optsched.measuring.judging.findings import Check, Finding, Judgement

CHECK = Check(says="a > b")


def test_in_words() -> None:
    """Tests the line of a finding: the statement, its truth, the means, the draws, and where it is false."""
    assert str(Finding(CHECK, True, {}, 1)) == "a > b: true"
    found = Finding(CHECK, False, {"a": [1, 2.5], "b": [3]}, 20, "lsap seed 3")
    assert str(found) == "a > b: false; a 1, 2.5; b 3; 20 draws; not on lsap seed 3"
    assert not found.kept
    compared = Finding(CHECK, True, {}, 9, differences=[[2, 1.5, 2.5], [0, -1, 1]])
    assert str(compared) == "a > b: true; difference 2 [1.5, 2.5], 0 [-1, 1]; 9 draws"


def test_judgement() -> None:
    """Tests that it holds where every check came out as before, and its JSON."""
    right, wrong = Finding(CHECK, True, {}, 1), Finding(CHECK, False, {"a": [1]}, 2, "x seed 0")
    assert Judgement((right,), "holds").holds
    record = Judgement((right, wrong), "depends").record()
    assert (record["holds"], record["verdict"]) == (False, "depends")
    shown = {"says": "a > b", "true": False, "kept": False, "numbers": {"a": [1]}, "draws": 2, "witness": "x seed 0"}
    assert record["findings"][1] == {**shown, "differences": ()}
