"""Seeded changes: one line of a heuristic's source is another, and the verdicts that rest on it no longer hold."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from optsched.measuring.judging import claim

#: Module, the line, what it becomes, and a claim whose verdict must no longer hold.
CHANGES = [
    # dl-sched takes any task first.
    (
        "lsap_sched",
        "task = self._draw(NODE, offer, view)",
        "task = self._draw(ANYWHERE, offer, view)",
        "guo-2012/4.1-one-replica",
    ),
    # LABL begins one above l**.
    ("labl", "int(_value(_limit(start), bound))", "int(_value(_limit(start), bound)) + 1", "agosta/3.5-example"),
    # lsap-sched loses the local tasks of the first node.
    ("lsap_sched", "    local = matched != NONE\n", "    local = matched > 0\n", "guo-2012/3.3-dummy-tasks"),
    # lsap-fair-sched forgets locality.
    ("lsap_sched", '"selection": "fixed"}', '"selection": "fixed", "alpha": 0}', "guo-2012/3.4-algorithm"),
    # The Flow Scheduler takes the tasks in the wrong places.
    (
        "flow_sched",
        "        return optimal_placement(problem)\n",
        "        return problem.placement(optimal_placement(problem).nodes[::-1].copy())\n",
        "hsu-freeh/3.3-optimal",
    ),
    # Algorithm 2 starts what is below P_min.
    ("probabilistic", "if chance < self.p_min and", "if chance > 1 and", "shen-2016/3-p-min-value"),
    # Round robin turns the other way.
    ("labl", "server = turn % len(local)", "server = -turn % len(local)", "agosta/3.5-example"),
    # Flow-based keeps the worst threshold.
    (
        "labl",
        "value[:compared] < best[0][:compared]",
        "value[:compared] > best[0][:compared]",
        "agosta/3.5-example",
    ),
    # JoSS swaps policies A and B.
    ("joss", 'return "A" if', 'return "B" if not', "sharmilarani/2-less-traffic"),
    # JoSS-J no longer looks for local tasks.
    (
        "joss",
        'queues[at].take(offer.node if self.variant == "j" else None)',
        "queues[at].take(None)",
        "sharmilarani/2-joss-t-and-j",
    ),
    # RAS rolls no swap back.
    ("ras", "        elif strict:\n", "        elif not strict:\n", "sharmilarani/3-rounds-increase"),
    # A task without cost is not certain to start.
    (
        "probabilistic",
        "np.where(cost == 0, np.inf, average / cost)",
        "np.where(cost == 0, 0.5, average / cost)",
        "shen-2016/2.3-local-at-once",
    ),
    # JoSS takes no notice of the threshold.
    ("joss", 'return "A" if', 'return "A" if True or', "sharmilarani/2-reduce-heavy"),
    # The least available tracker is advertised first.
    ("ras", "np.argsort(-availability(rooms.", "np.argsort(availability(rooms.", "sharmilarani/3-availability"),
    # Quincy pays for every MB alike.
    ("sequential", "(0.0, rack, off_rack)", "(rack, rack, rack)", "shen-2016/1-levels-too-coarse"),
]


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


@pytest.mark.parametrize(("name", "line", "becomes", "rests_on_it"), CHANGES, ids=lambda value: str(value)[:24])
def test_a_seeded_change_flips_the_verdict(
    name: str, line: str, becomes: str, rests_on_it: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that the verdict of a claim no longer holds if one line of the heuristic is another."""
    module = changed(name, line, becomes)
    monkeypatch.setattr(f"optsched.heuristics.{name}.HEURISTICS", module.HEURISTICS)
    judgement = claim(rests_on_it).judge()
    assert not judgement.holds
    del sys.modules[module.__name__]
