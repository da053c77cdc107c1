"""Seeded changes: one line of a heuristic's source is another, and the verdicts that rest on it no longer hold."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from optsched.measuring.judging import claim

REVERSED = "problem.placement(optimal_placement(problem).nodes[::-1].copy())"

#: By module: the line, what it becomes, and a claim whose verdict must no longer hold.
CHANGES: dict[str, list[tuple[str, str, str]]] = {
    "lsap_sched": [
        # dl-sched takes any task first.
        ("[NODE] if waits_once else [NODE, RACK, ANYWHERE]", "[ANYWHERE]", "guo-2012/4.1-one-replica"),
        # lsap-sched loses the local tasks of the first node.
        ("    local = matched != NONE\n", "    local = matched > 0\n", "guo-2012/3.3-dummy-tasks"),
        # lsap-fair-sched forgets locality.
        ('"selection": "fixed"}', '"selection": "fixed", "alpha": 0}', "guo-2012/3.4-algorithm"),
    ],
    "labl": [
        # LABL begins one above l**.
        ("int(_value(_limit(start), bound))", "int(_value(_limit(start), bound)) + 1", "agosta/3.5-example"),
        # Round robin turns the other way.
        ("server = turn % len(local)", "server = -turn % len(local)", "agosta/3.5-example"),
        # Flow-based keeps the worst threshold.
        ("[:compared] < best[0][:compared]", "[:compared] > best[0][:compared]", "agosta/3.5-example"),
    ],
    "flow_sched": [
        # The Flow Scheduler takes the tasks in the wrong places.
        ("return optimal_placement(problem)\n", f"return {REVERSED}\n", "hsu-freeh/3.3-optimal"),
    ],
    "probabilistic": [
        # Algorithm 2 starts what is below P_min.
        ("if chance < self.p_min and", "if chance > 1 and", "shen-2016/3-p-min-value"),
        # A task without cost is not certain to start.
        ("(cost == 0, np.inf, average / cost)", "(cost == 0, 0.5, average / cost)", "shen-2016/2.3-local-at-once"),
    ],
    "joss": [
        # JoSS swaps policies A and B.
        ('return "A" if', 'return "B" if not', "sharmilarani/2-less-traffic"),
        # JoSS-J no longer looks for local tasks.
        ('.take(offer.node if self.variant == "j" else None)', ".take(None)", "sharmilarani/2-joss-t-and-j"),
        # JoSS takes no notice of the threshold.
        ('return "A" if', 'return "A" if True or', "sharmilarani/2-reduce-heavy"),
    ],
    "ras": [
        # RAS rolls no swap back.
        ("        elif strict:\n", "        elif not strict:\n", "sharmilarani/3-rounds-increase"),
        # The least available tracker is advertised first.
        ("np.argsort(-availability(rooms.", "np.argsort(availability(rooms.", "sharmilarani/3-availability"),
    ],
    "sequential": [
        # Quincy pays for every MB alike.
        ("(0.0, rack, off_rack)", "(rack, rack, rack)", "shen-2016/1-levels-too-coarse"),
    ],
}


def changed(name: str, line: str, becomes: str) -> ModuleType:
    """A module of heuristics with one line that is another."""
    real = importlib.import_module(f"optsched.heuristics.{name}")
    assert real.__file__ is not None
    source = Path(real.__file__).read_text(encoding="utf-8")
    assert source.count(line) == 1, f"{line!r} stands {source.count(line)} times in {name}"
    module = ModuleType(f"seeded_{name}")
    module.__file__ = real.__file__
    sys.modules[module.__name__] = module  # where dataclasses look for it
    exec(compile(source.replace(line, becomes), real.__file__, "exec"), module.__dict__)
    return module


@pytest.mark.parametrize("name", CHANGES)
def test_a_seeded_change_flips_the_verdict(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the verdict of a claim no longer holds if one line of the heuristic is another."""
    for line, becomes, rests_on_it in CHANGES[name]:
        module = changed(name, line, becomes)
        monkeypatch.setattr(f"optsched.heuristics.{name}.HEURISTICS", module.HEURISTICS)
        assert not claim(rests_on_it).judge().holds, (line, rests_on_it)
        del sys.modules[module.__name__]
